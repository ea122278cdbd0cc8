"""What the shop owes its customers: granted and withdrawn, set aside for an order, spent when it is completed, restored
when it is not. Every change is a line of the ledger.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from shop.actions.audit import audit
from shop.actions.cart.access import account_of, acts_for_owner
from shop.actions.cart.order_state import Checkout, change_order, is_credit
from shop.actions.context import Context
from shop.base.errors import Invalid
from shop.base.ids import new_id, new_payment_number
from shop.models.cart.orders import Order
from shop.models.checkout.payments import STORE_CREDIT_METHOD, Payment, payments, refunds
from shop.models.checkout.store_credit import store_credit_events, store_credits
from shop.queries import writes
from shop.queries.checkout import store_credit as queries
from shop.queries.payments import payments as payment_queries
from shop.queries.payments.payments import Change
from shop.rules.checkout.payments import PAYMENT_MOVES

NONE = "There is no store credit to pay with."
CANCELED = "The order was canceled."
_WANTED = "wanted"
"""Under which name a payment keeps how much of it the shopper asked for."""


async def grant(ctx: Context, values: Mapping[str, Any]) -> UUID:
    """In a transaction; amounts in minor units."""
    credit_id = new_id()
    who = {"actor_kind": ctx.actor.kind, "actor_id": ctx.actor.id}
    await writes.insert_record(ctx.db, store_credits, credit_id, {**values, **who})
    await _note(ctx, credit_id, values, "granted", values["amount"], reason=values["memo"])
    return credit_id


async def withdraw(ctx: Context, credit_id: UUID, reason: str) -> None:
    """What is left of a grant; what was spent of it stays spent."""
    credit = await queries.hold_credit(ctx.db, credit_id)
    if credit is None or not credit.amount_left:
        raise Invalid({"base": ["nothing of it is left"]})
    await queries.use_credit(ctx.db, credit_id, credit.amount_left)
    of = {"user_id": credit.user_id, "currency": credit.currency}
    await _note(ctx, credit_id, of, "withdrawn", -credit.amount_left, reason=reason)


async def _note(ctx: Context, credit_id: UUID, of: Mapping[str, Any], action: str, amount: int, **more: Any) -> None:
    left = await queries.find_left(ctx.db, of["user_id"], of["currency"])
    fields = {
        "user_total_amount": left,
        "store_credit_id": credit_id,
        "user_id": of["user_id"],
        "currency": of["currency"],
        "action": action,
        "amount": amount,
        "actor_kind": ctx.actor.kind,
        "actor_id": ctx.actor.id,
        **more,
    }
    await writes.insert_record(ctx.db, store_credit_events, new_id(), fields)
    detail = {"amount": amount, "currency": of["currency"], "reason": more.get("reason")}
    await audit(ctx, f"store_credit_{action}", "done", subject_id=of["user_id"], detail=detail)


async def set_aside(ctx: Context, checkout: Checkout, wanted: int | None) -> Checkout:
    """As much as there is, as is wanted, and as the order comes to; spent when the order is completed."""
    order = checkout.order
    payer = account_of(ctx, order)
    left = await queries.find_left(ctx.db, payer, order.currency) if payer else 0
    amount = min(left, order.total, order.total if wanted is None else wanted)
    if amount <= 0:
        raise Invalid({"amount": [NONE]}, NONE, code="no_store_credit")
    await queries.drop_payments(ctx.db, order.id, amount)
    fields = {
        "order_id": order.id,
        "payment_method_id": STORE_CREDIT_METHOD,
        "number": new_payment_number(),
        "amount": amount,
        "private_metadata": {} if wanted is None else {_WANTED: wanted},
    }
    await writes.insert_record(ctx.db, payments, new_id(), fields)
    return await _as_it_is(ctx, checkout, amount)


async def resize(ctx: Context, checkout: Checkout) -> Checkout:
    """As much as is wanted of what the order comes to by now: what is sent costs something too. Another caller than the
    owner leaves it as it is, and does not learn how much there is.
    """
    order, found = checkout.order, _open(checkout.payments)
    if not found or order.user_id is None or not acts_for_owner(ctx, order):
        return checkout
    left = await queries.find_left(ctx.db, order.user_id, order.currency)
    amount = min(left, order.total, found[0].private_metadata.get(_WANTED, order.total))
    if amount == found[0].amount:
        return checkout
    await writes.update_record(ctx.db, payments, found[0].id, {"amount": amount})
    await change_order(ctx, order, store_credit_total=amount)
    return await _as_it_is(ctx, checkout, amount)


async def put_back(ctx: Context, checkout: Checkout) -> Checkout:
    """Nothing of the order is paid with credit."""
    await queries.drop_payments(ctx.db, checkout.order.id)
    return await _as_it_is(ctx, checkout, 0)


async def _as_it_is(ctx: Context, checkout: Checkout, credit: int) -> Checkout:
    order = msgspec.structs.replace(checkout.order, store_credit_total=credit)
    return msgspec.structs.replace(
        checkout, order=order, payments=await payment_queries.list_payments(ctx.db, order.id)
    )


def _open(found: Sequence[Payment]) -> list[Payment]:
    return [payment for payment in found if is_credit(payment) and payment.state == "checkout"]


async def fit(ctx: Context, checkout: Checkout) -> tuple[Checkout, int, int]:
    """What is set aside as far as it is still there, and not more than the order comes to; with what the shopper could
    count on, and what there is. Held until the transaction ends.
    """
    order, found = checkout.order, _open(checkout.payments)
    if not found or order.user_id is None:
        return checkout, 0, 0
    left = sum(credit.amount_left for credit in await queries.hold_credits(ctx.db, order.user_id, order.currency))
    payment = found[-1]
    counted_on = min(payment.amount, order.total)
    there = min(counted_on, left)
    if not there:
        await queries.drop_payments(ctx.db, order.id)
        return await _as_it_is(ctx, checkout, 0), counted_on, 0
    fitting = [msgspec.structs.replace(each, amount=there) if each is payment else each for each in checkout.payments]
    if there != order.store_credit_total:
        order = await change_order(ctx, order, store_credit_total=there)
    return msgspec.structs.replace(checkout, order=order, payments=fitting), counted_on, there


async def spend(ctx: Context, checkout: Checkout) -> int:
    """Takes what is set aside off the ledger; how much that is. It counts as taken once the order is complete."""
    order = checkout.order
    spent = 0
    for payment in _open(checkout.payments):
        if not payment.amount or order.user_id is None:
            continue
        missing = payment.amount
        for credit in await queries.hold_credits(ctx.db, order.user_id, order.currency):
            part = min(missing, credit.amount_left)
            if part:
                await queries.use_credit(ctx.db, credit.id, part)
                of = {"user_id": order.user_id, "currency": order.currency}
                await _note(ctx, credit.id, of, "spent", -part, order_id=order.id, payment_id=payment.id)
                missing -= part
        if missing:
            raise AssertionError("what is held cannot be spent by another")
        befores, state = PAYMENT_MOVES["authorised"]
        await payment_queries.change_payment(ctx.db, payment.id, Change(befores, state, amount=payment.amount))
        spent += payment.amount
    return spent


async def take(ctx: Context, checkout: Checkout) -> Checkout:
    """The order is complete, and what was spent for it is its payment."""
    after = []
    for payment in checkout.payments:
        if is_credit(payment) and payment.state == "pending":
            change = Change(*PAYMENT_MOVES["captured"], captured=payment.amount)
            after.append(await payment_queries.change_payment(ctx.db, payment.id, change) or payment)
        else:
            after.append(payment)
    return msgspec.structs.replace(checkout, payments=after)


async def unspend(ctx: Context, order: Order) -> None:
    """The order could not be paid: what was spent is set aside again."""
    if not order.store_credit_total:
        return
    for payment in await payment_queries.list_payments(ctx.db, order.id):
        if is_credit(payment) and payment.state == "pending":
            await restore(ctx, order, payment, payment.amount)
            await payment_queries.change_payment(ctx.db, payment.id, Change(frozenset({"pending"}), "checkout"))


async def give_back(ctx: Context, order: Order, payment: Payment) -> None:
    """What a completed order was paid with, when it is canceled: noted as any refund is."""
    left = payment.captured_amount - payment.refunded_amount
    if not is_credit(payment) or payment.state != "completed" or not left:
        return
    change = Change(frozenset({"completed"}), "completed", refunded=payment.captured_amount)
    if not await payment_queries.change_payment(ctx.db, payment.id, change):
        raise AssertionError("a payment of an order that is held is changed by nobody else")
    fields = {"order_id": order.id, "payment_id": payment.id, "amount": left, "reason": CANCELED, "state": "completed"}
    await writes.insert_record(ctx.db, refunds, new_id(), fields)
    await restore(ctx, order, payment, left)


async def restore(ctx: Context, order: Order, payment: Payment, amount: int) -> None:
    """So much of a payment goes back to the grants it came from, the newest first."""
    if order.completed_at is not None:
        await change_order(ctx, order, store_credit_total=max(order.store_credit_total - amount, 0))
    for spent in await queries.list_spent(ctx.db, payment.id):
        part = min(amount, spent.amount)
        if part:
            credit = await queries.hold_credit(ctx.db, spent.store_credit_id)
            if credit is None:
                raise AssertionError("a grant that was spent of is not deleted")
            await queries.use_credit(ctx.db, credit.id, -part)
            of = {"user_id": credit.user_id, "currency": credit.currency}
            await _note(ctx, credit.id, of, "restored", part, order_id=order.id, payment_id=payment.id)
            amount -= part
