"""Operations on completed orders: approve, cancel, ship, capture, void, refund.

Each provider call is recorded as an attempt before it is made, as in checkout.
"""

from collections.abc import Sequence
from uuid import UUID

from shop.actions.audit import audit
from shop.actions.cart.order_events import note_order_changes
from shop.actions.cart.orders import Checkout, build_payment_amounts, is_credit, load_checkout
from shop.actions.checkout import store_credit
from shop.actions.context import Context
from shop.actions.event_subjects import ORDER
from shop.actions.events import note_event
from shop.actions.payments.attempts import execute_call
from shop.actions.payments.settlement import update_order_states
from shop.actions.timeline import describe_cause
from shop.base.errors import Conflict, Invalid, NotFound, PaymentInProgress
from shop.base.ids import new_id
from shop.base.money import major_units
from shop.db.pool import ConstraintViolation
from shop.gateways.payments import Act, Call
from shop.models.cart.orders import Order
from shop.models.checkout.payments import Payment, payment_attempts, refunds
from shop.models.checkout.shipments import Shipment, shipments
from shop.queries import writes
from shop.queries.cart import orders
from shop.queries.orders.pages import find_refund_limits
from shop.queries.payments import payments as queries
from shop.rules.checkout.payments import (
    SHIPMENT_MOVES,
    expected_shipment_state,
    find_capture_amount,
    find_refusal,
)
from shop.rules.orders.refund_limits import RefundLimits

CANCELED = store_credit.CANCELED_REASON
REFUNDED_MEANWHILE = "The payment was refunded meanwhile. Nothing was refunded now: check what remains."
_FIXED_STATES = {"ship": "shipped", "cancel": "canceled", "pend": "pending"}


def illegal_transition(sentence: str) -> Invalid:
    """Returns the error for an operation that the current state of an order, shipment or payment does not allow."""
    return Invalid({"base": [sentence]}, sentence, code="illegal_transition")


async def lock_checkout(ctx: Context, order_id: UUID) -> Checkout:
    """Returns an order with its parts, locked until the transaction ends."""
    order = await orders.lock_order(ctx.db, order_id)
    if order is None:
        raise NotFound()
    checkout = await load_checkout(ctx, order)
    note_order_changes(ctx, checkout)
    return checkout


async def approve(ctx: Context, order_id: UUID) -> None:
    """Approves a completed order after manual review."""
    async with ctx.db.transaction():
        checkout = await lock_checkout(ctx, order_id)
        if checkout.order.completed_at is None:
            raise illegal_transition("Only a completed order can be approved.")
        await orders.approve_order(ctx.db, order_id, ctx.actor.id)
        await audit(ctx, "order_approve", "done", subject_id=order_id)


def find_cancel_refusal(checkout: Checkout, limits: RefundLimits) -> tuple[str, str] | None:
    """Returns the code and message if an order cannot be canceled, or not by this operator; None if it can."""
    order = checkout.order
    if order.completed_at is None or order.canceled_at is not None:
        return "illegal_transition", "Only a completed order that is not canceled can be canceled."
    # Check each shipment: the order's shipment state reports a backorder even if other shipments have shipped.
    if any(shipment.state == "shipped" for shipment in checkout.shipments):
        return "illegal_transition", "An order with shipped items cannot be canceled."
    # The sum: each payment has only a part of it.
    amount = sum(map(find_returnable_amount, checkout.payments))
    return limits.find_refusal(major_units(amount, order.currency)) if amount else None


def refuse_while_charging(payments: Sequence[Payment]) -> None:
    """Raises while the customer pays the balance: the outcome decides what else must be paid, voided or refunded."""
    if any(payment.state == "processing" for payment in payments):
        raise PaymentInProgress()


def find_returnable_amount(payment: Payment) -> int:
    """Returns what was captured of a payment and not refunded."""
    return payment.captured_amount - payment.refunded_amount if payment.state == "completed" else 0


async def move_shipment(ctx: Context, shipment_id: UUID, event: str, *, tracking: str | None = None) -> None:
    """Applies `ready`, `pend`, `ship`, `cancel` or `resume`, as `SHIPMENT_MOVES` allows."""
    async with ctx.db.transaction():
        checkout = await _lock_checkout_of(ctx, shipment_id)
        order_id = checkout.order.id
        if checkout.order.completed_at is None:
            raise illegal_transition("Complete the order first.")
        shipment = next(each for each in checkout.shipments if each.id == shipment_id)
        if shipment.state not in SHIPMENT_MOVES[event]:
            sentence = f"The event {event} is not allowed for a shipment in the state {shipment.state}."
            cause = await describe_cause(ctx, order_id, f"shipment.{shipment.state}", number=shipment.number)
            raise illegal_transition(f"The shipment is {shipment.state} already. {cause}" if cause else sentence)
        fields: dict[str, object] = {"state": _next_shipment_state(checkout, shipment, event)}
        if event == "ship":
            await orders.mark_shipped(ctx.db, shipment_id)
        if tracking is not None:
            fields["tracking"] = tracking
        await writes.update_record(ctx.db, shipments, shipment_id, fields)
        await update_order_states(ctx, await lock_checkout(ctx, order_id), but=shipment_id)
        detail = {"shipment": shipment.number}
        await audit(ctx, f"shipment_{event}", "done", subject_id=order_id, detail=detail, record_id=shipment_id)


async def deliver_shipment(ctx: Context, shipment_id: UUID) -> None:
    """Records that a shipped shipment arrived; with the last one, the order is delivered."""
    async with ctx.db.transaction():
        checkout = await _lock_checkout_of(ctx, shipment_id)
        shipment = next(each for each in checkout.shipments if each.id == shipment_id)
        if shipment.state != "shipped" or shipment.delivered_at is not None:
            raise illegal_transition("Only a shipped shipment that has not been delivered can be delivered.")
        await orders.mark_delivered(ctx.db, shipment_id)
        others = [each for each in checkout.shipments if each.id != shipment_id and each.state != "canceled"]
        if all(each.delivered_at for each in others):
            note_event(ctx, "order.delivered", ORDER, checkout.order.id)
        detail = {"shipment": shipment.number}
        await audit(ctx, "shipment_deliver", "done", subject_id=checkout.order.id, detail=detail)


async def _lock_checkout_of(ctx: Context, shipment_id: UUID) -> Checkout:
    order_id = await writes.find_value(ctx.db, shipments, shipment_id, "order_id")
    if order_id is None:
        raise NotFound()
    return await lock_checkout(ctx, order_id)


def is_ready_to_ship(checkout: Checkout, shipment: Shipment) -> bool:
    """Returns whether a shipment that waits could be marked as ready."""
    return shipment.state in SHIPMENT_MOVES["ready"] and _find_waiting_state(checkout, shipment) == "ready"


def _find_waiting_state(checkout: Checkout, shipment: Shipment) -> str:
    """Returns the state of a shipment that was neither sent nor canceled."""
    has_backordered = any(item.backordered for item in checkout.items if item.shipment_id == shipment.id)
    return expected_shipment_state(
        "pending", order_state=checkout.order.state, has_backordered=has_backordered, is_paid=checkout.balance.is_paid
    )


def _next_shipment_state(checkout: Checkout, shipment: Shipment, event: str) -> str:
    if event in _FIXED_STATES:
        return _FIXED_STATES[event]
    state = _find_waiting_state(checkout, shipment)
    if event == "ready" and state != "ready":
        raise illegal_transition("The shipment is not ready: the order is unpaid or has backordered items.")
    return state


async def capture(ctx: Context, payment_id: UUID) -> None:
    await run_payment_act(ctx, payment_id, "capture")


async def void(ctx: Context, payment_id: UUID) -> None:
    await run_payment_act(ctx, payment_id, "void")


async def refund(
    ctx: Context, payment_id: UUID, amount: int, reason: str, *, displayed_amount: int | None = None
) -> UUID:
    """Refunds a payment; returns the id of the refund, which completes when the provider confirms it. Raises Conflict
    if more was refunded before than `displayed_amount`, which the operator saw.
    """
    refund_id = new_id()
    await run_payment_act(
        ctx, payment_id, "refund", amount, refund=(refund_id, reason), displayed_amount=displayed_amount
    )
    return refund_id


def _check(payment: Payment, act: Act, amount: int) -> None:
    """Checks that the payment allows the act; the caller holds the lock."""
    refusal = find_refusal(act, build_payment_amounts(payment), amount)
    if refusal and refusal[0] == "base":
        raise illegal_transition(refusal[1])
    if refusal:
        raise Invalid({refusal[0]: [refusal[1]]})


async def currency_of_payment(ctx: Context, payment_id: UUID) -> str | None:
    payment = await queries.find_payment(ctx.db, payment_id)
    order = await orders.find_order(ctx.db, payment.order_id) if payment else None
    return order.currency if order else None


async def _get_payment(ctx: Context, payment_id: UUID) -> Payment:
    payment = await queries.find_payment(ctx.db, payment_id)
    if payment is None:
        raise NotFound()
    return payment


async def run_payment_act(
    ctx: Context,
    payment_id: UUID,
    act: Act,
    amount: int | None = None,
    *,
    refund: tuple[UUID, str] | None = None,
    displayed_amount: int | None = None,
) -> Order:
    """Records the attempt, calls the provider, and settles the result.

    A crash in between leaves an attempt that is settled later. Without an amount, applies to the whole payment.
    """
    work = ctx.with_new_session()
    async with work.db.transaction():
        order = await orders.lock_order(work.db, (await _get_payment(work, payment_id)).order_id)
        payment = await _get_payment(work, payment_id)
        if order is None:
            raise NotFound()
        if displayed_amount not in {None, payment.refunded_amount}:
            cause = await describe_cause(work, order.id, "refund.created", "payment.voided")
            raise Conflict(f"{REFUNDED_MEANWHILE} {cause}".strip())
        if is_credit(payment) and order.completed_at is None:
            raise illegal_transition("Reserved store credit is captured or released with the order.")
        if act == "capture":
            # The customer may be paying by card what this check was for.
            refuse_while_charging(await queries.list_payments(work.db, order.id))
            amount = await _find_capture_amount(work, order, payment)
            if refusal := find_capture_refusal(order, payment, amount):
                raise illegal_transition(refusal)
        call = await record_attempt(
            work, order, payment, act, payment.amount if amount is None else amount, refund=refund
        )
    return await execute_call(ctx, order, payment, call)


async def _find_capture_amount(ctx: Context, order: Order, payment: Payment) -> int:
    """Returns what to capture: what is due of an authorized card, and all of a check that arrived."""
    methods = await queries.list_methods_of(ctx.db, [payment.payment_method_id])
    is_card = ctx.providers[methods[payment.payment_method_id].type].needs_source
    if not is_card or order.completed_at is None or payment.state != "pending":
        return payment.amount
    return find_capture_amount(build_payment_amounts(payment), (await load_checkout(ctx, order)).balance)


def find_capture_refusal(order: Order, payment: Payment, amount: int) -> str | None:
    """Returns why this amount of a payment cannot be captured, or None if it can."""
    if order.canceled_at is not None:
        return "The order is canceled; its payments cannot be captured."
    if refusal := find_refusal("capture", build_payment_amounts(payment), amount):
        return refusal[1]
    return None if amount else "Nothing is due any more. Void the payment to release it."


async def load_refund_limits(ctx: Context) -> RefundLimits:
    """Returns what the acting operator may refund; applications have no limits."""
    if ctx.actor.kind != "operator" or ctx.actor.id is None:
        return RefundLimits()
    return await find_refund_limits(ctx.db, ctx.actor.id)


def check_refund(limits: RefundLimits, order: Order, amount: int, *, is_approved: bool = False) -> None:
    """Raises Invalid if the operator must not refund this amount."""
    if refusal := limits.find_refusal(major_units(amount, order.currency), is_approved=is_approved):
        raise Invalid({"base": [refusal[1]]}, refusal[1], code=refusal[0])


async def record_attempt(
    ctx: Context,
    order: Order,
    payment: Payment,
    act: Act,
    amount: int,
    *,
    refund: tuple[UUID, str] | None = None,
    is_approved: bool = False,
) -> Call:
    """Records a provider call in the current transaction, which holds the order's lock."""
    _check(payment, act, amount)
    # Voiding a captured payment refunds it.
    returned_amount = amount if refund else find_returnable_amount(payment) if act == "void" else 0
    if returned_amount:
        check_refund(await load_refund_limits(ctx), order, returned_amount, is_approved=is_approved)
    key = new_id()
    fields = {"order_id": order.id, "payment_id": payment.id, "act": act, "amount": amount}
    who = {"actor_kind": ctx.actor.kind, "actor_id": ctx.actor.id}
    try:
        await writes.insert_record(ctx.db, payment_attempts, key, {**fields, **who})
    except ConstraintViolation as error:
        raise PaymentInProgress() from error
    if refund:
        refund_fields = {"order_id": order.id, "payment_id": payment.id, "amount": amount, "reason": refund[1]}
        await writes.insert_record(ctx.db, refunds, refund[0], {**refund_fields, "reference": str(key)})
    return Call(key, act, amount, order.currency, order.number, None, payment.response_code)
