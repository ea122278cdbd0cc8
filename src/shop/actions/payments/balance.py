"""Pays what is still due for a completed order, in the same way as completion pays for a cart:

    first transaction    under the order's lock: the amount due; adds the payment and its attempt
    provider call        under the attempt's own key; holds no locks
    second transaction   settlement: updates the states of the order; an approved payment replaces an awaited check

Neither stock nor totals change. The caller has checked who may pay.
"""

from collections.abc import Iterable
from uuid import UUID

import msgspec

from shop.actions.cart.access import acts_for_owner
from shop.actions.cart.orders import Checkout, is_credit, load_checkout
from shop.actions.checkout.payments import choose_source, insert_payment
from shop.actions.context import Context
from shop.actions.payments import attempts, charges
from shop.actions.payments.attempts import PendingCharge
from shop.actions.payments.settlement import settle, update_order_states
from shop.base.errors import Invalid, NotFound, PaymentInProgress
from shop.models.cart.orders import Order
from shop.models.checkout.inputs import CheckoutPaymentInput
from shop.models.checkout.payments import Payment, PaymentMethod
from shop.queries.cart import orders
from shop.queries.payments import payments as queries
from shop.queries.payments import saved_cards
from shop.rules.checkout.payments import Balance

_CANCELED = "The order is canceled; there is nothing to pay."
_CHANGED = "The order or its payments have changed. Check the amount and try again."
_NOT_PAID = "The payment did not succeed, and nothing was charged. Please choose how to pay."


class DisplayedBalance(msgspec.Struct, frozen=True):
    """What the customer saw before paying. A form that is sent twice, or late, does not match any more."""

    amount: int
    payment_count: int
    """The number of payments of the order, failed ones included."""


def find_amount_to_pay(ctx: Context, balance: Balance, payments: Iterable[tuple[Payment, PaymentMethod]]) -> int:
    """Returns the amount due less authorized cards, which the shop will capture. A check that has not arrived does not
    count: the customer can pay in another way instead.
    """
    authorized = sum(
        payment.amount
        for payment, method in payments
        if payment.state == "pending" and (is_credit(payment) or ctx.providers[method.type].needs_source)
    )
    return max(0, balance.amount_due - authorized)


async def pay_balance(
    ctx: Context, order_id: UUID, choice: CheckoutPaymentInput | None, displayed: DisplayedBalance, *, base_url: str
) -> Order:
    """Pays the amount to pay. While a payment is in progress, requests its outcome instead; with `choice` None, does
    nothing else. An order without an amount to pay is returned unchanged.
    """
    with charges.reserve_charge_slot(ctx):
        async with ctx.db.transaction():
            start = await _start(ctx, order_id, choice, displayed)
    if isinstance(start, Order):
        return start
    order, result = await attempts.charge(ctx, start, base_url)
    if result.outcome == "declined":
        raise attempts.build_refusal(result)
    return order


async def _start(
    ctx: Context, order_id: UUID, choice: CheckoutPaymentInput | None, displayed: DisplayedBalance
) -> Order | PendingCharge:
    """Returns the order, or the charge that pays it."""
    order = await orders.lock_order(ctx.db, order_id)
    if order is None or order.completed_at is None:
        raise NotFound()
    checkout = await load_checkout(ctx, order)
    if any(payment.state == "processing" for payment in checkout.payments):
        await _refuse_card_of_owner(ctx, checkout)
        return await attempts.resume_attempt(ctx, checkout)
    if order.canceled_at is not None:
        raise Invalid({"base": [_CANCELED]}, _CANCELED, code="illegal_transition")
    amount = await _load_amount_to_pay(ctx, checkout)
    if not amount:
        return order
    if choice is None:
        raise Invalid({"payments": [_NOT_PAID]}, _NOT_PAID, code="payment_refused")
    if displayed != DisplayedBalance(amount, len(checkout.payments)):
        raise Invalid({"base": [_CHANGED]}, _CHANGED, code="balance_changed")
    await _refuse_while_capturing(ctx, order)
    return await _add_payment(ctx, checkout, choice, amount)


async def _refuse_card_of_owner(ctx: Context, checkout: Checkout) -> None:
    """Lets others wait while the owner pays with a card of the account: only the owner may confirm that payment."""
    if acts_for_owner(ctx, checkout.order):
        return
    source_ids = [each.source_id for each in checkout.payments if each.state == "processing" and each.source_id]
    sources = await saved_cards.list_sources_of(ctx.db, source_ids)
    if any(source.user_id for source in sources.values()):
        raise PaymentInProgress()


async def _refuse_while_capturing(ctx: Context, order: Order) -> None:
    """Raises while an operator captures a payment, which would pay the same amount."""
    open_acts = {each.act for each in await queries.list_attempts(ctx.db, order.id) if each.outcome == "unknown"}
    if "capture" in open_acts:
        raise PaymentInProgress()


async def _load_amount_to_pay(ctx: Context, checkout: Checkout) -> int:
    methods = await queries.list_methods_of(ctx.db, [each.payment_method_id for each in checkout.payments])
    pairs = [(payment, methods[payment.payment_method_id]) for payment in checkout.payments]
    return find_amount_to_pay(ctx, checkout.balance, pairs)


async def _add_payment(
    ctx: Context, checkout: Checkout, choice: CheckoutPaymentInput, amount: int
) -> Order | PendingCharge:
    order = checkout.order
    method, source_id = await choose_source(ctx, checkout, choice)
    provider = ctx.providers[method.type]
    if not provider.needs_source and _is_awaited(checkout, method, amount):
        return order
    payment = await insert_payment(ctx, order, method, source_id, amount)
    # The money of a check arrives later, even if the shop trusts checks during checkout.
    is_captured = method.auto_capture and provider.needs_source
    call = await attempts.begin_attempt(ctx, order, payment, method, "purchase" if is_captured else "authorise", amount)
    if provider.needs_source:
        # The new payment counts from now on, if all others have failed.
        updated_order = await update_order_states(ctx, await load_checkout(ctx, order))
        return PendingCharge(updated_order, call, method.type)
    return await settle(ctx, order.id, call.key, await provider.execute(call))


def _is_awaited(checkout: Checkout, method: PaymentMethod, amount: int) -> bool:
    """Returns whether the order waits for a check of this method and amount already."""
    return any(
        payment.state == "pending" and payment.payment_method_id == method.id and payment.amount == amount
        for payment in checkout.payments
    )
