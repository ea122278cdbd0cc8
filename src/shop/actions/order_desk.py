"""What operators and machines do with orders after they were bought: approve, cancel, resume, send, take and give back
money. Each call to a provider is noted before it is made, like a shopper's.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from shop.actions import store_credit
from shop.actions.audit import audit
from shop.actions.context import Context
from shop.actions.order_parts import Checkout, change_order, is_credit, paid, read
from shop.actions.settling import call_provider, refigure, settle
from shop.actions.taking import restock, take
from shop.actions.using import give_back_uses, take_again
from shop.base.errors import Invalid, NotFound, PaymentInProgress, ShopError
from shop.base.ids import new_id
from shop.db.pool import Refused
from shop.gateways.payments import Act, Call
from shop.models.fulfilment import Shipment, shipments
from shop.models.orders import Order
from shop.models.payments import Payment, payment_attempts, refunds
from shop.queries import changes, orders, quotes, stock
from shop.queries import payments as queries
from shop.queries.prices import Pricing
from shop.rules.payments import SHIPMENT_MOVES, is_covered, shipment_should_be

Values = Mapping[str, Any]
CANCELED = store_credit.CANCELED


def _illegal(sentence: str) -> Invalid:
    return Invalid({"base": [sentence]}, sentence, code="illegal_transition")


async def _hold(ctx: Context, order_id: UUID) -> Checkout:
    order = await orders.lock_order(ctx.db, order_id)
    if order is None:
        raise NotFound()
    return await read(ctx, order)


async def approve(ctx: Context, order_id: UUID) -> None:
    """Somebody looked at it and found it good."""
    async with ctx.db.transaction():
        held = await _hold(ctx, order_id)
        if held.order.completed_at is None:
            raise _illegal("Only a completed order can be approved.")
        await orders.approve_order(ctx.db, order_id, ctx.actor.id)
        await audit(ctx, "order_approve", "done", subject_id=order_id)


async def cancel(ctx: Context, order_id: UUID) -> None:
    """Nothing of it is sent, everything goes back to its shelf, and what was paid is given back."""
    async with ctx.db.transaction():
        held = await _hold(ctx, order_id)
        order = held.order
        if order.completed_at is None or order.canceled_at is not None:
            raise _illegal("Only a completed order that is not canceled can be canceled.")
        # An order that waits for some of its goods says so of all, though others may have been sent.
        if any(shipment.state == "shipped" for shipment in held.shipments):
            raise _illegal("What was sent cannot be canceled.")
        await give_back_uses(ctx, order)
        for payment in held.payments:
            await store_credit.give_back(ctx, order, payment)
        await restock(ctx, order, await stock.list_sold(ctx.db, order.number))
        for shipment in held.shipments:
            await changes.update_record(ctx.db, shipments, shipment.id, {"state": "canceled"})
        await orders.cancel_order(ctx.db, order_id, ctx.actor.id)
        await refigure(ctx, await _hold(ctx, order_id))
        await audit(ctx, "order_cancel", "done", subject_id=order_id)
    failed: list[ShopError] = []
    for payment in held.payments:
        try:
            await _undo(ctx, payment)
        except ShopError as error:
            # One that cannot be given back now must not keep the others.
            failed.append(error)
    if failed:
        raise failed[0]


async def _undo(ctx: Context, payment: Payment) -> None:
    left = payment.captured_amount - payment.refunded_amount
    if is_credit(payment):
        return  # With the order itself, for nobody needs to be asked.
    if payment.state == "pending":
        await act_on(ctx, payment.id, "void")
    elif payment.state == "completed" and left:
        await refund(ctx, payment.id, left, CANCELED)


async def resume(ctx: Context, order_id: UUID) -> None:
    """As if it had not been canceled, if everything can still be had; what was given back must be paid again."""
    async with ctx.db.transaction():
        held = await _hold(ctx, order_id)
        if held.order.canceled_at is None:
            raise _illegal("Only a canceled order can be resumed.")
        await take_again(ctx, held.order)
        await _take_again(ctx, held)
        order = await change_order(ctx, held.order, state="resumed", canceled_at=None)
        for shipment in held.shipments:
            await changes.update_record(ctx.db, shipments, shipment.id, {"state": "pending"})
        await refigure(ctx, await _hold(ctx, order.id))
        await audit(ctx, "order_resume", "done", subject_id=order_id)


async def _take_again(ctx: Context, held: Checkout) -> None:
    places = {shipment.id: shipment.stock_location_id for shipment in held.shipments}
    known = await quotes.list_quotes(
        ctx.db, Pricing(held.order.currency), {line.variant_id: line.quantity for line in held.lines}
    )
    wanted: dict[UUID, int] = {}
    for item in held.items:
        if known[item.variant_id].is_tracked:
            shelf = await stock.find_item(ctx.db, item.variant_id, places[item.shipment_id])
            if shelf is None:
                raise Invalid({"base": ["Something of it is not kept there any more."]}, code="out_of_stock")
            wanted[shelf.id] = wanted.get(shelf.id, 0) + item.quantity
    await take(ctx, held.order, wanted, [quote.product_id for quote in known.values()])
    await stock.end_holds(ctx.db, held.order.id)


async def move_shipment(ctx: Context, shipment_id: UUID, event: str, *, tracking: str | None = None) -> None:
    """`ready`, `pend`, `ship`, `cancel`, `resume`, as the table of the rules says."""
    async with ctx.db.transaction():
        order_id = await changes.find_value(ctx.db, shipments, shipment_id, "order_id")
        if order_id is None:
            raise NotFound()
        held = await _hold(ctx, order_id)
        if held.order.completed_at is None:
            raise _illegal("Nothing is sent before the order is completed.")
        shipment = next(each for each in held.shipments if each.id == shipment_id)
        if shipment.state not in SHIPMENT_MOVES[event]:
            raise _illegal(f"A shipment that is {shipment.state} cannot do that: {event}.")
        fields: dict[str, Any] = {"state": _after(held, shipment, event)}
        if event == "ship":
            await orders.note_shipped(ctx.db, shipment_id)
        if tracking is not None:
            fields["tracking"] = tracking
        await changes.update_record(ctx.db, shipments, shipment_id, fields)
        await refigure(ctx, await _hold(ctx, order_id), but=shipment_id)
        await audit(ctx, f"shipment_{event}", "done", subject_id=order_id, detail={"shipment": shipment.number})


def _after(held: Checkout, shipment: Shipment, event: str) -> str:
    if event == "ship":
        return "shipped"
    if event in {"cancel", "pend"}:
        return {"cancel": "canceled", "pend": "pending"}[event]
    backordered = any(item.backordered for item in held.items if item.shipment_id == shipment.id)
    is_paid = is_covered([paid(payment) for payment in held.payments], held.order.total)
    then = shipment_should_be("pending", order_state=held.order.state, has_backordered=backordered, is_paid=is_paid)
    if event == "ready" and then != "ready":
        raise _illegal("It is not ready: the order is not paid, or something of it is not there yet.")
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
    if act == "capture" and payment.state != "pending":
        raise _illegal(f"A payment that is {payment.state} cannot be captured.")
    if act == "void" and (payment.state not in {"pending", "completed"} or payment.refunded_amount):
        raise _illegal(f"A payment that is {payment.state} cannot be voided.")
    left = payment.captured_amount - payment.refunded_amount
    if act == "refund" and (payment.state != "completed" or not 0 < amount <= left):
        raise Invalid({"amount": ["must be more than nothing, and at most what was taken and not given back"]})


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
    work = _anew(ctx)
    async with work.db.transaction():
        order = await orders.lock_order(work.db, (await _payment(work, payment_id)).order_id)
        payment = await _payment(work, payment_id)
        if order is None:
            raise NotFound()
        whole = payment.amount if amount is None else amount
        if is_credit(payment) and order.completed_at is None:
            raise _illegal("Credit that is set aside is taken with the order, or put back with it.")
        _check(payment, act, whole)
        key = new_id()
        fields = {"order_id": order.id, "payment_id": payment_id, "act": act, "amount": whole}
        try:
            await changes.insert_record(work.db, payment_attempts, key, fields)
        except Refused as refused:
            raise PaymentInProgress() from refused
        if refund:
            said = {"order_id": order.id, "payment_id": payment_id, "amount": whole, "reason": refund[1]}
            await changes.insert_record(work.db, refunds, refund[0], {**said, "reference": str(key)})
    methods = await queries.list_methods_of(ctx.db, [payment.payment_method_id])
    provider = ctx.shared.providers[methods[payment.payment_method_id].type]
    call = Call(key, act, whole, order.currency, order.number, None, payment.response_code)
    result = await call_provider(provider, call)
    if result.outcome == "unknown":
        raise PaymentInProgress()
    settled = await settle(_anew(ctx), order.id, key, result)
    if result.outcome == "declined":
        raise Invalid({"base": [result.message or "The provider refused."]}, code="payment_refused")
    return settled


def _anew(ctx: Context) -> Context:
    fresh = Context(ctx.shared, ctx.claim)
    fresh.actor, fresh.origin = ctx.actor, ctx.origin
    return fresh
