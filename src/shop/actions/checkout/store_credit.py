"""Store credit: granted, withdrawn, reserved for an order, spent at completion, and restored if completion fails.

Every change is a ledger entry.
"""

from collections.abc import Sequence
from uuid import UUID

import msgspec

from shop.actions.audit import audit_change
from shop.actions.cart.access import account_of, acts_for_owner
from shop.actions.cart.orders import Checkout, change_order, is_credit
from shop.actions.context import Context
from shop.actions.event_subjects import CUSTOMER, ORDER, PAYMENT, REFUND, STORE_CREDIT
from shop.actions.events import note_change, note_event
from shop.base.errors import Invalid
from shop.base.ids import new_id, new_payment_number
from shop.base.values import MAX_LINE_LENGTH
from shop.models.cart.orders import Order
from shop.models.checkout.payments import STORE_CREDIT_METHOD, Payment, payments, refunds
from shop.models.checkout.record_inputs import StoreCreditInput
from shop.models.checkout.store_credit import store_credit_events, store_credits
from shop.queries import writes
from shop.queries.checkout import store_credit as queries
from shop.queries.checkout.store_credit import CreditEntry
from shop.queries.payments import payments as payment_queries
from shop.queries.payments.payments import PaymentChange
from shop.rules.checkout.payments import PAYMENT_MOVES

MAX_ENTRIES = 100
NO_CREDIT_ERROR = "No store credit is available."
CANCELED_REASON = "The order was canceled."
_REQUESTED_AMOUNT = "wanted"
"""The metadata key for the amount that the shopper requested."""


async def list_entries(ctx: Context) -> list[CreditEntry]:
    """Returns the newest ledger entries of the signed-in user."""
    return await queries.list_entries(ctx.db, (await ctx.signed_in()).user.id, most=MAX_ENTRIES)


async def grant_credit(ctx: Context, values: StoreCreditInput, amount: int, *, order_id: UUID | None = None) -> UUID:
    """Grants credit, such as for a refund of an order; the amount is in minor units. Requires a transaction."""
    credit_id = new_id()
    fields = {**values, "amount": amount, "actor_kind": ctx.actor.kind, "actor_id": ctx.actor.id}
    await writes.insert_record(ctx.db, store_credits, credit_id, fields)
    more = {"reason": values["memo"], "order_id": order_id}
    await _record_event(ctx, credit_id, values["user_id"], values["currency"], "granted", amount, **more)
    return credit_id


async def withdraw_credit(ctx: Context, credit_id: UUID, reason: str) -> None:
    """Withdraws the remainder of a grant; the spent part is unaffected."""
    credit = await queries.lock_credit(ctx.db, credit_id)
    if credit is None or not credit.amount_left:
        raise Invalid({"base": ["has no remaining amount to withdraw"]})
    note_change(ctx, STORE_CREDIT, credit_id, credit)
    await queries.use_credit(ctx.db, credit_id, credit.amount_left)
    await _record_event(
        ctx, credit_id, credit.user_id, credit.currency, "withdrawn", -credit.amount_left, reason=reason
    )


async def _record_event(
    ctx: Context, credit_id: UUID, user_id: UUID, currency: str, action: str, amount: int, **more: object
) -> None:
    left = await queries.find_credit_balance(ctx.db, user_id, currency)
    fields = {
        "user_total_amount": left,
        "store_credit_id": credit_id,
        "user_id": user_id,
        "currency": currency,
        "action": action,
        "amount": amount,
        "actor_kind": ctx.actor.kind,
        "actor_id": ctx.actor.id,
        **more,
    }
    await writes.insert_record(ctx.db, store_credit_events, new_id(), fields)
    detail = {"amount": amount, "currency": currency}
    audit_change(ctx, f"store_credit_{action}", CUSTOMER.type, user_id, detail=detail, record_id=credit_id)


async def reserve_credit(ctx: Context, checkout: Checkout, requested_amount: int | None) -> Checkout:
    """Reserves the smallest of balance, requested amount and order total, until completion spends it."""
    order = checkout.order
    payer = account_of(ctx, order)
    left = await queries.find_credit_balance(ctx.db, payer, order.currency) if payer else 0
    amount = min(left, order.total, order.total if requested_amount is None else requested_amount)
    if amount <= 0:
        raise Invalid({"amount": [NO_CREDIT_ERROR]}, NO_CREDIT_ERROR, code="no_store_credit")
    await queries.drop_payments(ctx.db, order.id, amount)
    fields = {
        "order_id": order.id,
        "payment_method_id": STORE_CREDIT_METHOD,
        "number": new_payment_number(),
        "amount": amount,
        "private_metadata": {} if requested_amount is None else {_REQUESTED_AMOUNT: requested_amount},
    }
    await writes.insert_record(ctx.db, payments, new_id(), fields)
    return await _with_credit(ctx, checkout, amount)


async def adjust_reservation(ctx: Context, checkout: Checkout) -> Checkout:
    """Adjusts the reserved amount to the current total, which now includes shipping. For callers other than the owner
    it changes nothing, so that it does not reveal the balance.
    """
    order, credit_payments = checkout.order, _open_credit_payments(checkout.payments)
    if not credit_payments or order.user_id is None or not acts_for_owner(ctx, order):
        return checkout
    left = await queries.find_credit_balance(ctx.db, order.user_id, order.currency)
    amount = min(left, order.total, credit_payments[0].private_metadata.get(_REQUESTED_AMOUNT, order.total))
    if amount == credit_payments[0].amount:
        return checkout
    await writes.update_record(ctx.db, payments, credit_payments[0].id, {"amount": amount})
    await change_order(ctx, order, store_credit_total=amount)
    return await _with_credit(ctx, checkout, amount)


async def release_credit(ctx: Context, checkout: Checkout) -> Checkout:
    """Releases all credit reserved for the order."""
    await queries.drop_payments(ctx.db, checkout.order.id)
    return await _with_credit(ctx, checkout, 0)


async def _with_credit(ctx: Context, checkout: Checkout, credit: int) -> Checkout:
    order = msgspec.structs.replace(checkout.order, store_credit_total=credit)
    return msgspec.structs.replace(
        checkout, order=order, payments=await payment_queries.list_payments(ctx.db, order.id)
    )


def _open_credit_payments(order_payments: Sequence[Payment]) -> list[Payment]:
    return [payment for payment in order_payments if is_credit(payment) and payment.state == "checkout"]


async def cap_to_balance(ctx: Context, checkout: Checkout) -> tuple[Checkout, int, int]:
    """Caps the reserved credit to the balance and the order total. Returns the checkout, the amount the shopper
    expected, and the amount available. Locks the credits until the transaction ends.
    """
    order, credit_payments = checkout.order, _open_credit_payments(checkout.payments)
    if not credit_payments or order.user_id is None:
        return checkout, 0, 0
    left = sum(credit.amount_left for credit in await queries.lock_credits(ctx.db, order.user_id, order.currency))
    payment = credit_payments[-1]
    counted_on = min(payment.amount, order.total)
    available = min(counted_on, left)
    if not available:
        await queries.drop_payments(ctx.db, order.id)
        return await _with_credit(ctx, checkout, 0), counted_on, 0
    new_payments = [
        msgspec.structs.replace(each, amount=available) if each is payment else each for each in checkout.payments
    ]
    if available != order.store_credit_total:
        order = await change_order(ctx, order, store_credit_total=available)
    return msgspec.structs.replace(checkout, order=order, payments=new_payments), counted_on, available


async def spend_credit(ctx: Context, checkout: Checkout) -> tuple[Checkout, int]:
    """Spends the reserved credit. Returns the checkout and the amount; the payment is captured when the order is
    complete.
    """
    order = checkout.order
    total = 0
    after = {payment.id: payment for payment in checkout.payments}
    for payment in _open_credit_payments(checkout.payments):
        if not payment.amount or order.user_id is None:
            continue
        missing = payment.amount
        for credit in await queries.lock_credits(ctx.db, order.user_id, order.currency):
            part = min(missing, credit.amount_left)
            if part:
                note_change(ctx, STORE_CREDIT, credit.id, credit)
                await queries.use_credit(ctx.db, credit.id, part)
                links = {"order_id": order.id, "payment_id": payment.id}
                await _record_event(ctx, credit.id, order.user_id, order.currency, "spent", -part, **links)
                missing -= part
        if missing:
            raise AssertionError("reserved credit cannot be spent by another order")
        from_states, state = PAYMENT_MOVES["authorised"]
        change = PaymentChange(from_states, state, amount=payment.amount)
        after[payment.id] = await payment_queries.change_payment(ctx.db, payment.id, change) or payment
        total += payment.amount
    return msgspec.structs.replace(checkout, payments=list(after.values())), total


async def capture_credit(ctx: Context, checkout: Checkout) -> Checkout:
    """Captures the credit payments of a completed order."""
    after = []
    for payment in checkout.payments:
        if is_credit(payment) and payment.state == "pending":
            note_change(ctx, PAYMENT, payment.id, payment)
            change = PaymentChange(*PAYMENT_MOVES["captured"], captured=payment.amount)
            after.append(await payment_queries.change_payment(ctx.db, payment.id, change) or payment)
        else:
            after.append(payment)
    return msgspec.structs.replace(checkout, payments=after)


async def restore_failed_payment(ctx: Context, order: Order) -> None:
    """Restores spent credit after a failed payment and reserves it again."""
    if not order.store_credit_total:
        return
    for payment in await payment_queries.list_payments(ctx.db, order.id):
        if is_credit(payment) and payment.state == "pending":
            await restore_credit(ctx, order, payment, payment.amount)
            await payment_queries.change_payment(ctx.db, payment.id, PaymentChange(frozenset({"pending"}), "checkout"))


async def refund_credit(ctx: Context, order: Order, payment: Payment) -> None:
    """Refunds the credit payment of a canceled order and records the refund."""
    left = payment.captured_amount - payment.refunded_amount
    if not is_credit(payment) or payment.state != "completed" or not left:
        return
    await _record_refund(ctx, order, new_id(), payment, left, CANCELED_REASON)
    await restore_credit(ctx, order, payment, left)


async def refund_to_credit(ctx: Context, order: Order, parts: Sequence[tuple[UUID, Payment, int]], reason: str) -> None:
    """Grants store credit instead of returning the money of payments, and records the refunds; no provider is called.
    `parts` has the id, the payment and the amount of each refund. The caller holds the order's lock.
    """
    if order.user_id is None:
        raise AssertionError("only a customer with an account can get store credit")
    amount = sum(part for _, _, part in parts)
    memo = f"Refund of order {order.number}: {reason}"[:MAX_LINE_LENGTH]
    values: StoreCreditInput = {"user_id": order.user_id, "currency": order.currency, "memo": memo}
    credit_id = await grant_credit(ctx, values, amount, order_id=order.id)
    note_change(ctx, STORE_CREDIT, credit_id)
    for refund_id, payment, part in parts:
        await _record_refund(ctx, order, refund_id, payment, part, reason, credit_id)


async def _record_refund(
    ctx: Context,
    order: Order,
    refund_id: UUID,
    payment: Payment,
    amount: int,
    reason: str,
    store_credit_id: UUID | None = None,
) -> None:
    """Records a refund that needs no provider."""
    change = PaymentChange(frozenset({"completed"}), "completed", refunded=payment.refunded_amount + amount)
    if not await payment_queries.change_payment(ctx.db, payment.id, change):
        raise AssertionError("a payment of a locked order cannot change concurrently")
    fields = {
        "order_id": order.id,
        "payment_id": payment.id,
        "amount": amount,
        "reason": reason,
        "state": "completed",
        "store_credit_id": store_credit_id,
    }
    note_change(ctx, REFUND, refund_id)
    note_event(ctx, "order.refunded", ORDER, order.id)
    await writes.insert_record(ctx.db, refunds, refund_id, fields)


async def restore_credit(ctx: Context, order: Order, payment: Payment, amount: int) -> None:
    """Returns an amount of a payment to the grants it came from, newest first."""
    if order.completed_at is not None:
        await change_order(ctx, order, store_credit_total=max(order.store_credit_total - amount, 0))
    for usage in await queries.list_spent_credits(ctx.db, payment.id):
        part = min(amount, usage.amount)
        if part:
            credit = await queries.lock_credit(ctx.db, usage.store_credit_id)
            if credit is None:
                raise AssertionError("a used grant cannot be deleted")
            note_change(ctx, STORE_CREDIT, credit.id, credit)
            await queries.use_credit(ctx.db, credit.id, -part)
            links = {"order_id": order.id, "payment_id": payment.id}
            await _record_event(ctx, credit.id, credit.user_id, credit.currency, "restored", part, **links)
            amount -= part
