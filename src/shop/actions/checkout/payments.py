"""Payment method and source selection; no provider is called before the order is completed."""

from typing import Any
from uuid import UUID

import msgspec

from shop.actions.cart.access import account_of, require_owner
from shop.actions.cart.orders import Checkout, NeedsLock, is_credit
from shop.actions.context import Context
from shop.base.errors import Invalid
from shop.base.ids import new_id, new_payment_number
from shop.models.cart.orders import Order
from shop.models.checkout.inputs import CheckoutPaymentInput, PaymentSourceInput
from shop.models.checkout.payments import STORE_CREDIT_METHOD, CreditCard, Payment, PaymentMethod, payment_sources
from shop.queries import writes
from shop.queries.payments import payments as queries
from shop.queries.payments import saved_cards

MAX_PAYMENTS = 50
"""The maximum number of payments per order, because reading an order reads all of them. Only failed payments
accumulate; a replaced choice is removed.
"""


async def choose_payment(ctx: Context, checkout: Checkout, choice: CheckoutPaymentInput) -> Checkout:
    """Selects a payment for the order total less store credit, replacing earlier choices that were never attempted.
    Saves the state of the order with it.
    """
    order = checkout.order
    method, source_id = await choose_source(ctx, checkout, choice)
    payments = checkout.payments
    if any(
        payment.state == "invalid" or (payment.state == "checkout" and not is_credit(payment)) for payment in payments
    ):
        await queries.remove_untried(ctx.db, order.id)
        payments = await queries.list_payments(ctx.db, order.id)
    columns = _new_payment(order, method, source_id, order.total_minus_store_credits)
    payment = await queries.choose_payment(ctx.db, order_state=order.state, row_version=checkout.row_version, **columns)
    return msgspec.structs.replace(checkout, payments=[*payments, payment])


async def insert_payment(
    ctx: Context, order: Order, method: PaymentMethod, source_id: UUID | None, amount: int
) -> Payment:
    return await queries.insert_payment(ctx.db, **_new_payment(order, method, source_id, amount))


def _new_payment(order: Order, method: PaymentMethod, source_id: UUID | None, amount: int) -> dict[str, Any]:
    return {
        "id": new_id(),
        "order_id": order.id,
        "payment_method_id": method.id,
        "source_id": source_id,
        "number": new_payment_number(),
        "amount": amount,
    }


async def choose_source(
    ctx: Context, checkout: Checkout, choice: CheckoutPaymentInput
) -> tuple[PaymentMethod, UUID | None]:
    """Returns the payment method and its source: a saved card of the owner, or a new one; a check has none."""
    order = checkout.order
    if choice.source_id:
        require_owner(ctx, order)
    if sum(payment.state != "invalid" for payment in checkout.payments) >= MAX_PAYMENTS:
        raise Invalid({"base": [f"an order has at most {MAX_PAYMENTS} payments; start a new cart"]})
    # A card entered by a caller other than the owner is not saved for the owner.
    payer = account_of(ctx, order)
    card = await _own_card(ctx, payer, choice) if choice.source_id else None
    method_id = choice.payment_method_id or (card.payment_method_id if card else None)
    method = await ctx.read_setup(queries.find_method, method_id) if method_id else None
    if method is None or method.id == STORE_CREDIT_METHOD or not ctx.can_pay_with(method.type):
        raise Invalid({"payment_method_id": ["is not an available payment method"]}, code="payment_method_not_found")
    if card and card.payment_method_id != method.id:
        raise _unknown_source_error()
    return method, card.id if card else await _new_source(ctx, order, method, payer, choice)


def _unknown_source_error() -> Invalid:
    return Invalid({"source_id": ["is not one of your sources for this payment method"]}, code="source_not_found")


async def _own_card(ctx: Context, payer: UUID | None, choice: CheckoutPaymentInput) -> CreditCard:
    card = await saved_cards.find_card(ctx.db, payer, choice.source_id) if payer and choice.source_id else None
    if card is None:
        raise _unknown_source_error()
    return card


async def _new_source(
    ctx: Context, order: Order, method: PaymentMethod, payer: UUID | None, choice: CheckoutPaymentInput
) -> UUID | None:
    provider = ctx.providers[method.type]
    if not provider.needs_source:
        return None
    if not ctx.db.is_in_transaction:
        raise NeedsLock()
    source = choice.source_attributes or PaymentSourceInput()
    if error := provider.source_error(source.gateway_payment_profile_id):
        raise Invalid({"source_attributes.gateway_payment_profile_id": [error]})
    fields = {
        "order_id": order.id,
        "user_id": payer,
        "payment_method_id": method.id,
        "reference": source.gateway_payment_profile_id,
        "cc_type": source.cc_type,
        "last_digits": source.last_digits,
        "month": source.month,
        "year": source.year,
        "name": source.name,
    }
    source_id = new_id()
    await writes.insert_record(ctx.db, payment_sources, source_id, fields)
    return source_id
