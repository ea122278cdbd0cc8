"""What operators and applications do with orders after they were bought: approve, cancel, ship, capture, void, refund.
Each call to a provider is noted before it is made, like a shopper's.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from shop.actions.audit import audit
from shop.actions.cart.order_state import Checkout, is_credit, paid, read
from shop.actions.catalog.reservations import restock
from shop.actions.checkout import store_credit
from shop.actions.checkout.promotion_usage import give_back_uses
from shop.actions.context import Context
from shop.actions.payments.settlement import call_provider, refigure, settle
from shop.base.errors import Invalid, NotFound, PaymentInProgress, ShopError
from shop.base.ids import new_id
from shop.db.pool import Refused
from shop.gateways.payments import Act, Call
from shop.models.cart.orders import Order
from shop.models.checkout.payments import Payment, payment_attempts, refunds
from shop.models.checkout.shipments import Shipment, shipments
from shop.queries import writes
from shop.queries.cart import orders
from shop.queries.catalog import stock
from shop.queries.payments import payments as queries
from shop.rules.checkout.payments import SHIPMENT_MOVES, refusal_of, shipment_should_be

Values = Mapping[str, Any]
CANCELED = store_credit.CANCELED


def illegal_transition(sentence: str) -> Invalid:
    """What cannot be done to an order, a shipment or a payment in its present state."""
    return Invalid({"base": [sentence]}, sentence, code="illegal_transition")


async def lock_checkout(ctx: Context, order_id: UUID) -> Checkout:
    """An order with its parts, locked until the transaction ends."""
    order = await orders.lock_order(ctx.db, order_id)
    if order is None:
        raise NotFound()
    return await read(ctx, order)


async def approve(ctx: Context, order_id: UUID) -> None:
    """Somebody looked at it and found it good."""
    async with ctx.db.transaction():
        held = await lock_checkout(ctx, order_id)
        if held.order.completed_at is None:
            raise illegal_transition("Only a completed order can be approved.")
        await orders.approve_order(ctx.db, order_id, ctx.actor.id)
        await audit(ctx, "order_approve", "done", subject_id=order_id)


async def cancel(ctx: Context, order_id: UUID) -> None:
    """Nothing of it is sent, everything goes back to its shelf, and what was paid is given back."""
    async with ctx.db.transaction():
        held = await lock_checkout(ctx, order_id)
        order = held.order
        if order.completed_at is None or order.canceled_at is not None:
            raise illegal_transition("Only a completed order that is not canceled can be canceled.")
        # An order that waits for some of its goods says so of all, though others may have been sent.
        if any(shipment.state == "shipped" for shipment in held.shipments):
            raise illegal_transition("What was sent cannot be canceled.")
        await give_back_uses(ctx, order)
        for payment in held.payments:
            await store_credit.give_back(ctx, order, payment)
        await restock(ctx, order, await stock.list_sold(ctx.db, order.number))
        for shipment in held.shipments:
            await writes.update_record(ctx.db, shipments, shipment.id, {"state": "canceled"})
        # Noted with the cancellation: nothing can come in between, and a crash leaves nothing to be done by hand.
        noted = [one for payment in held.payments if (one := await _note_undoing(ctx, order, payment))]
        await orders.cancel_order(ctx.db, order_id, ctx.actor.id)
        await refigure(ctx, await lock_checkout(ctx, order_id))
        await audit(ctx, "order_cancel", "done", subject_id=order_id)
    failed: list[ShopError] = []
    for payment, call in noted:
        try:
            await _do(ctx, order, payment, call)
        except ShopError as error:
            # One that cannot be given back now must not keep the others.
            failed.append(error)
    if failed:
        raise failed[0]


async def _note_undoing(ctx: Context, order: Order, payment: Payment) -> tuple[Payment, Call] | None:
    left = payment.captured_amount - payment.refunded_amount
    if is_credit(payment):
        return None  # With the order itself, for nobody needs to be asked.
    if payment.state == "pending":
        return payment, await _note(ctx, order, payment, "void", payment.amount)
    if payment.state == "completed" and left:
        return payment, await _note(ctx, order, payment, "refund", left, refund=(new_id(), CANCELED))
    return None


async def move_shipment(ctx: Context, shipment_id: UUID, event: str, *, tracking: str | None = None) -> None:
    """`ready`, `pend`, `ship`, `cancel`, `resume`, as the table of the rules says."""
    async with ctx.db.transaction():
        order_id = await writes.find_value(ctx.db, shipments, shipment_id, "order_id")
        if order_id is None:
            raise NotFound()
        held = await lock_checkout(ctx, order_id)
        if held.order.completed_at is None:
            raise illegal_transition("Nothing is sent before the order is completed.")
        shipment = next(each for each in held.shipments if each.id == shipment_id)
        if shipment.state not in SHIPMENT_MOVES[event]:
            raise illegal_transition(f"A shipment that is {shipment.state} cannot do that: {event}.")
        fields: dict[str, Any] = {"state": _after(held, shipment, event)}
        if event == "ship":
            await orders.note_shipped(ctx.db, shipment_id)
        if tracking is not None:
            fields["tracking"] = tracking
        await writes.update_record(ctx.db, shipments, shipment_id, fields)
        await refigure(ctx, await lock_checkout(ctx, order_id), but=shipment_id)
        await audit(ctx, f"shipment_{event}", "done", subject_id=order_id, detail={"shipment": shipment.number})


def _after(held: Checkout, shipment: Shipment, event: str) -> str:
    if event == "ship":
        return "shipped"
    if event in {"cancel", "pend"}:
        return {"cancel": "canceled", "pend": "pending"}[event]
    backordered = any(item.backordered for item in held.items if item.shipment_id == shipment.id)
    then = shipment_should_be(
        "pending", order_state=held.order.state, has_backordered=backordered, is_paid=held.balance.is_paid
    )
    if event == "ready" and then != "ready":
        raise illegal_transition("It is not ready: the order is not paid, or something of it is not there yet.")
    return then


async def capture(ctx: Context, payment_id: UUID) -> None:
    await act_on(ctx, payment_id, "capture")


async def void(ctx: Context, payment_id: UUID) -> None:
    await act_on(ctx, payment_id, "void")


async def refund(ctx: Context, payment_id: UUID, amount: int, reason: str) -> UUID:
    """A row of its own, complete when the provider has said so."""
    refund_id = new_id()
    await act_on(ctx, payment_id, "refund", amount, refund=(refund_id, reason))
    return refund_id


def _check(payment: Payment, act: Act, amount: int) -> None:
    """Asked while nobody else can act on the payment."""
    refusal = refusal_of(act, paid(payment), amount)
    if refusal and refusal[0] == "base":
        raise illegal_transition(refusal[1])
    if refusal:
        raise Invalid({refusal[0]: [refusal[1]]})


async def currency_of_payment(ctx: Context, payment_id: UUID) -> str | None:
    found = await queries.find_payment(ctx.db, payment_id)
    order = await orders.find_order(ctx.db, found.order_id) if found else None
    return order.currency if order else None


async def _payment(ctx: Context, payment_id: UUID) -> Payment:
    found = await queries.find_payment(ctx.db, payment_id)
    if found is None:
        raise NotFound()
    return found


async def act_on(
    ctx: Context, payment_id: UUID, act: Act, amount: int | None = None, *, refund: tuple[UUID, str] | None = None
) -> Order:
    """Noted, then done, then settled: whoever dies in between leaves an attempt that is settled later. Without an
    amount it is about all of the payment.
    """
    work = ctx.fresh()
    async with work.db.transaction():
        order = await orders.lock_order(work.db, (await _payment(work, payment_id)).order_id)
        payment = await _payment(work, payment_id)
        if order is None:
            raise NotFound()
        if is_credit(payment) and order.completed_at is None:
            raise illegal_transition("Credit that is set aside is taken with the order, or put back with it.")
        if act == "capture" and order.canceled_at is not None:
            raise illegal_transition("The order is canceled: nothing more is taken for it.")
        call = await _note(work, order, payment, act, payment.amount if amount is None else amount, refund=refund)
    return await _do(ctx, order, payment, call)


async def _note(
    ctx: Context, order: Order, payment: Payment, act: Act, amount: int, *, refund: tuple[UUID, str] | None = None
) -> Call:
    """Notes a call to a provider in the present transaction, which holds the order."""
    _check(payment, act, amount)
    key = new_id()
    fields = {"order_id": order.id, "payment_id": payment.id, "act": act, "amount": amount}
    who = {"actor_kind": ctx.actor.kind, "actor_id": ctx.actor.id}
    try:
        await writes.insert_record(ctx.db, payment_attempts, key, {**fields, **who})
    except Refused as refused:
        raise PaymentInProgress() from refused
    if refund:
        said = {"order_id": order.id, "payment_id": payment.id, "amount": amount, "reason": refund[1]}
        await writes.insert_record(ctx.db, refunds, refund[0], {**said, "reference": str(key)})
    return Call(key, act, amount, order.currency, order.number, None, payment.response_code)


async def _do(ctx: Context, order: Order, payment: Payment, call: Call) -> Order:
    """Makes a call that was noted, and settles it."""
    methods = await queries.list_methods_of(ctx.db, [payment.payment_method_id])
    provider = ctx.providers[methods[payment.payment_method_id].type]
    result = await call_provider(provider, call)
    if result.outcome == "unknown":
        raise PaymentInProgress()
    settled = await settle(ctx.fresh(), order.id, call.key, result)
    if result.outcome == "declined":
        raise Invalid({"base": [result.message or "The provider refused."]}, code="payment_refused")
    return settled
