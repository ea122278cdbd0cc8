"""Payment settlement: applies provider results to orders, and resolves attempts that have no result yet."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast
from uuid import UUID

import msgspec
import structlog

from shop.actions.audit import audit
from shop.actions.cart.order_events import note_order_changes
from shop.actions.cart.orders import Checkout, change_order, is_credit, load_checkout
from shop.actions.catalog.reservations import release_stock
from shop.actions.checkout import store_credit
from shop.actions.checkout.parts import list_tax_rates
from shop.actions.checkout.promotion_usage import release_uses
from shop.actions.checkout.shipments import explain_totals
from shop.actions.context import Context, Shared
from shop.actions.event_subjects import ORDER, PAYMENT, REFUND
from shop.actions.events import note_change, note_event
from shop.actions.payments.returns import restock_refund
from shop.actions.payments.saved_cards import save_card
from shop.base.actor import GUEST_ACTOR, Actor
from shop.base.errors import NotFound, PaymentInProgress, ShopError
from shop.base.ids import new_id
from shop.gateways.payments import UNKNOWN, Act, Call, Provider, Result
from shop.models.cart.orders import Order
from shop.models.checkout.payments import Payment, PaymentAttempt
from shop.queries import bulk
from shop.queries.cart import orders
from shop.queries.catalog import stock
from shop.queries.checkout import adjustments
from shop.queries.payments import completions
from shop.queries.payments import payments as queries
from shop.queries.payments.completions import Acceptance, OrderCompletion
from shop.queries.payments.payments import PaymentChange
from shop.rules.cart.totals import Rate
from shop.rules.checkout.adjustments import adjustment_rows
from shop.rules.checkout.payments import PAYMENT_MOVES, expected_shipment_state, shipment_state

PROVIDER_SECONDS = 10
SETTLE_SECONDS = 60
RETRY_SECONDS = 15
"""The interval between queries about one attempt; a shopper may take minutes to confirm."""
GIVE_UP_SECONDS = 600
"""After this time, an attempt that the provider does not know counts as never made."""
_log = structlog.get_logger("shop.payments")
_FIRST = {"authorise", "purchase"}
"""Acts that charge a payment; they complete an order that is not complete yet."""


async def call_provider(provider: Provider, call: Call) -> Result:
    """Calls the provider. A late or unreadable answer is `unknown`; its outcome can be found by the call's key."""
    try:
        async with asyncio.timeout(PROVIDER_SECONDS):
            return await provider.execute(call)
    except Exception as error:
        _log.warning(
            "payment provider did not respond", act=call.act, order=call.order_number, reason=type(error).__name__
        )
        return UNKNOWN


async def settle(ctx: Context, order_id: UUID, attempt_id: UUID, result: Result) -> Order:
    """Records the outcome of an attempt; idempotent: repeated calls return the order unchanged."""
    if ctx.db.is_in_transaction:
        return await _settle(ctx, order_id, attempt_id, result)

    async def work() -> Order:
        async with ctx.db.transaction():
            return await _settle(ctx, order_id, attempt_id, result)

    return await ctx.db.retrying(work)


async def _settle(ctx: Context, order_id: UUID, attempt_id: UUID, result: Result) -> Order:
    order = await orders.lock_order(ctx.db, order_id)
    attempt = await queries.find_attempt(ctx.db, attempt_id)
    if order is None or attempt is None:
        raise NotFound()
    if ctx.actor == GUEST_ACTOR:
        # The result arrived by webhook or worker: the audit event names the actor who started the payment.
        ctx.actor = Actor(attempt.actor_kind, attempt.actor_id)
    if result.outcome == "unknown":
        raise PaymentInProgress()
    if not await queries.end_attempt(ctx.db, attempt_id, result.outcome, result.reference, result.message):
        return order
    payment = await queries.find_payment(ctx.db, attempt.payment_id)
    if payment is None:
        raise NotFound()
    note_change(ctx, PAYMENT, payment.id, payment)
    detail = {"payment": payment.number, "act": attempt.act, "amount": attempt.amount, "message": result.message}
    await audit(ctx, "payment", result.outcome, subject_id=order.id, detail=detail, record_id=payment.id)
    if result.outcome == "declined":
        return await _decline(ctx, order, payment, attempt)
    change = _CHANGES[attempt.act](payment, attempt)
    if not await queries.change_payment(
        ctx.db, payment.id, msgspec.structs.replace(change, reference=result.reference)
    ):
        raise AssertionError("a payment with an open attempt cannot change concurrently")
    if attempt.act in {"refund", "void"}:
        await _complete_return(ctx, order, payment, attempt)
    if attempt.act == "undo":
        return order
    is_charge = attempt.act in _FIRST
    if is_charge and order.completed_at is None:
        await stock.delete_reservations(ctx.db, order.id)
        return (await finalize_order(ctx, await load_checkout(ctx, order))).order
    if is_charge:
        await _void_awaited_payments(ctx, order, payment)
    return await update_order_states(ctx, await load_checkout(ctx, order))


async def _complete_return(ctx: Context, order: Order, payment: Payment, attempt: PaymentAttempt) -> None:
    """Completes the refund, restores store credit, and returns refunded units to the stock."""
    refund_id = await queries.end_refund(ctx.db, str(attempt.id), "completed") if attempt.act == "refund" else None
    if is_credit(payment):
        await store_credit.restore_credit(ctx, order, payment, attempt.amount)
    if refund_id:
        note_change(ctx, REFUND, refund_id)
        note_event(ctx, "order.refunded", ORDER, order.id)
        # The common lock order: credit, then products and stock items.
        await restock_refund(ctx, order, refund_id)


async def _void_awaited_payments(ctx: Context, order: Order, new_payment: Payment) -> None:
    """Voids the checks and transfers that the customer need not send any more, because another payment replaces them.
    A payment with an open attempt is left to the operator who works on it.
    """
    busy_ids = {each.payment_id for each in await queries.list_attempts(ctx.db, order.id) if each.outcome == "unknown"}
    pending_payments = [
        each
        for each in await queries.list_payments(ctx.db, order.id)
        if each.state == "pending" and not is_credit(each) and each.id not in {new_payment.id, *busy_ids}
    ]
    methods = await queries.list_methods_of(ctx.db, [each.payment_method_id for each in pending_payments])
    for each in pending_payments:
        if ctx.providers[methods[each.payment_method_id].type].needs_source:
            continue
        note_change(ctx, PAYMENT, each.id, each)
        await queries.change_payment(ctx.db, each.id, PaymentChange(*PAYMENT_MOVES["voided"]))
        detail = {"payment": each.number, "act": "void", "amount": each.amount, "message": None}
        await audit(ctx, "payment", "approved", subject_id=order.id, detail=detail, record_id=each.id)


async def _decline(ctx: Context, order: Order, payment: Payment, attempt: PaymentAttempt) -> Order:
    if attempt.act in _FIRST:
        from_states, state = PAYMENT_MOVES["declined"]
        await queries.change_payment(ctx.db, payment.id, PaymentChange(from_states, state))
        if order.completed_at is not None:
            return await update_order_states(ctx, await load_checkout(ctx, order))
        # The common lock order: promotions, credit, then products and stock items.
        await release_uses(ctx, order)
        await store_credit.restore_failed_payment(ctx, order)
        await release_stock(ctx, order)
        return await change_order(ctx, order, state="payment")
    if attempt.act == "refund":
        await queries.end_refund(ctx.db, str(attempt.id), "failed")
    if attempt.act == "undo":
        _log.error("late payment could not be voided; refund it at the provider", payment=payment.number)
    return order


def _capture_change(payment: Payment, attempt: PaymentAttempt) -> PaymentChange:
    # What was authorized beyond that is released, and no longer an amount of this payment.
    return PaymentChange(*PAYMENT_MOVES["captured"], amount=attempt.amount, captured=attempt.amount)


def _refund_change(payment: Payment, attempt: PaymentAttempt) -> PaymentChange:
    return PaymentChange(frozenset({"completed"}), "completed", refunded=payment.refunded_amount + attempt.amount)


_CHANGES: dict[str, Callable[[Payment, PaymentAttempt], PaymentChange]] = {
    "authorise": lambda _payment, _attempt: PaymentChange(*PAYMENT_MOVES["authorised"]),
    "purchase": _capture_change,
    "capture": _capture_change,
    "void": lambda payment, _attempt: PaymentChange(*PAYMENT_MOVES["voided"], refunded=payment.captured_amount),
    "refund": _refund_change,
    "undo": lambda _payment, _attempt: PaymentChange(*PAYMENT_MOVES["undone"]),
}


async def update_order_states(ctx: Context, checkout: Checkout, *, but: UUID | None = None) -> Order:
    """Updates the payment and shipment states of a completed order after a change. The shipment `but` keeps its state,
    because the caller has just set it.
    """
    order = checkout.order
    balance = checkout.balance
    backordered_ids = {item.shipment_id for item in checkout.items if item.backordered}
    states = {
        shipment.id: shipment.state
        if shipment.id == but
        else expected_shipment_state(
            shipment.state,
            order_state=order.state,
            has_backordered=shipment.id in backordered_ids,
            is_paid=balance.is_paid,
        )
        for shipment in checkout.shipments
    }
    note_order_changes(ctx, checkout)
    rows = [{"id": each.id, "state": states[each.id]} for each in checkout.shipments if states[each.id] != each.state]
    await bulk.update_rows(ctx.db, "shipments", rows)
    return await change_order(
        ctx,
        order,
        payment_total=balance.payment_total,
        payment_state=balance.state,
        shipment_state=shipment_state(list(states.values()), has_backordered=bool(backordered_ids)),
    )


async def finalize_order(
    ctx: Context,
    checkout: Checkout,
    tax_rates: Sequence[Rate] | None = None,
    acceptance: Acceptance | None = None,
) -> Checkout:
    """Completes the order, whose stock is taken: freezes its totals, and accepts its payment, unless a provider was
    called before. Its event queues the e-mail.
    """
    payment = acceptance.payment if acceptance else None
    if acceptance and payment:
        note_change(ctx, PAYMENT, payment.id, payment)
        checkout = _with_payment(checkout, acceptance.accepted_payment)
    note_order_changes(ctx, checkout)
    checkout = await store_credit.capture_credit(ctx, checkout)
    steps = explain_totals(checkout, await list_tax_rates(ctx, checkout) if tax_rates is None else tax_rates).steps
    checkout, completion = await _complete(ctx, checkout, steps, acceptance)
    order = checkout.order
    if acceptance and payment:
        if completion.payment is None:
            raise PaymentInProgress()
        checkout = _with_payment(checkout, completion.payment)
        detail = {"payment": payment.number, "act": acceptance.act, "amount": acceptance.amount, "message": None}
        await audit(ctx, "payment", "approved", subject_id=order.id, detail=detail, record_id=payment.id)
    await save_adjustments(ctx, order, steps)
    detail = {"number": order.number, "total": order.total, "currency": order.currency}
    await audit(ctx, "order_complete", "done", subject_id=order.id, detail=detail)
    return checkout


async def _complete(
    ctx: Context,
    checkout: Checkout,
    steps: Sequence[Mapping[str, Any]],
    acceptance: Acceptance | None,
) -> tuple[Checkout, OrderCompletion]:
    """Saves the completed order, whose payments are those after its completion."""
    balance = checkout.balance
    backordered_ids = {item.shipment_id for item in checkout.items if item.backordered}
    states = {
        shipment.id: expected_shipment_state(
            shipment.state,
            order_state="complete",
            has_backordered=shipment.id in backordered_ids,
            is_paid=balance.is_paid,
        )
        for shipment in checkout.shipments
    }
    changes = {each.id: states[each.id] for each in checkout.shipments if states[each.id] != each.state}
    completion = await completions.complete_order(
        ctx.db,
        checkout.order,
        changes,
        {line.variant_id: line.quantity for line in checkout.lines},
        acceptance,
        ctx.actor,
        payment_total=balance.payment_total,
        payment_state=balance.state,
        shipment_state=shipment_state(list(states.values()), has_backordered=bool(backordered_ids)),
        explained={"steps": msgspec.to_builtins(steps)},
    )
    shipments = [
        msgspec.structs.replace(each, state=states[each.id], updated_at=completion.order.updated_at)
        if each.id in changes
        else each
        for each in checkout.shipments
    ]
    return msgspec.structs.replace(checkout, order=completion.order, shipments=shipments), completion


def _with_payment(checkout: Checkout, payment: Payment) -> Checkout:
    payments = [payment if each.id == payment.id else each for each in checkout.payments]
    return msgspec.structs.replace(checkout, payments=payments)


async def save_adjustments(ctx: Context, order: Order, steps: Sequence[Mapping[str, Any]]) -> None:
    """Saves the steps of the total as the adjustments of an order, and closes those that were entered by hand."""
    rows = [{"id": new_id(), **row} for row in adjustment_rows(order.id, steps)]
    await bulk.insert_rows(ctx.db, "adjustments", rows)
    if order.manual_total:
        await _close_manual(ctx, order, sum(step["amount"] for step in steps if step["step"] == "manual"))


async def _close_manual(ctx: Context, order: Order, manual_total: int) -> None:
    """Closes manual adjustments. Reduces them, newest first, if they exceed the amount that the total allows; after an
    edit of the order, the newest one may grow again.
    """
    manual_adjustments = await adjustments.list_manual(ctx.db, order.id)
    excess = manual_total - sum(each.amount for each in manual_adjustments)
    rows = []
    for each in manual_adjustments:
        reduction = min(excess, max(-each.amount, 0))
        excess -= reduction
        rows.append({"id": each.id, "amount": each.amount + reduction, "state": "closed"})
    await bulk.update_rows(ctx.db, "adjustments", rows)


async def settle_stale_attempts(shared: Shared) -> int:
    """Asks the providers for the outcome of calls without a result for a minute; returns the number settled."""
    attempts = await queries.claim_unsettled_attempts(shared.database.session(), SETTLE_SECONDS, RETRY_SECONDS)
    count = 0
    for attempt in attempts:
        # One failure must not block the other attempts.
        try:
            count += await _settle_stale(shared, attempt)
        except ShopError as reason:
            _log.warning("payment could not be settled", attempt=str(attempt.id), reason=reason.code)
        except Exception:
            _log.exception("payment could not be settled", attempt=str(attempt.id))
    return count


async def _settle_stale(shared: Shared, attempt: PaymentAttempt) -> bool:
    """Returns whether the outcome is known now."""
    ctx = Context(shared)
    payment = await queries.find_payment(ctx.db, attempt.payment_id)
    result = await _query_result(ctx, payment, attempt) if payment else UNKNOWN
    if result.outcome == "unknown":
        return False
    await settle(Context(shared), attempt.order_id, attempt.id, result)
    await save_card(Context(shared), attempt.id, result)
    return True


async def _query_result(ctx: Context, payment: Payment, attempt: PaymentAttempt) -> Result:
    methods = await queries.list_methods_of(ctx.db, [payment.payment_method_id])
    provider = ctx.providers[methods[payment.payment_method_id].type]
    order = await orders.find_order(ctx.db, attempt.order_id)
    if order is None:
        return UNKNOWN
    call = rebuild_call(order, payment, attempt)
    result = await find_outcome(provider, call)
    if result is None or result.outcome != "unknown":
        return result or UNKNOWN
    if attempt.act == "undo":
        # No request waits for this call, and it must succeed: the customer paid but gets no order.
        return await call_provider(provider, call)
    if not await queries.is_older(ctx.db, attempt.id, GIVE_UP_SECONDS):
        if result.reference and attempt.reference is None:
            # The next completion request can then return the required action.
            await queries.save_reference(ctx.db, attempt.id, result.reference)
        return UNKNOWN
    return await _give_up(provider, call, result)


async def _give_up(provider: Provider, call: Call, result: Result) -> Result:
    if result.reference and call.act in {"authorise", "purchase"}:
        # The payment is still open at the provider: the shopper could confirm it after the stock is released.
        closing = msgspec.structs.replace(call, act="void", reference=result.reference)
        if (await call_provider(provider, closing)).outcome != "approved":
            return UNKNOWN
        return Result("declined", None, "The payment was not confirmed in time.")
    return Result("declined", None, "The provider has no record of this payment.")


def rebuild_call(order: Order, payment: Payment, attempt: PaymentAttempt) -> Call:
    """Rebuilds the call of an attempt, with the fields needed to find its outcome or to undo it."""
    act = cast(Act, "void" if attempt.act == "undo" else attempt.act)
    reference = attempt.reference or payment.response_code
    return Call(attempt.id, act, attempt.amount, order.currency, order.number, reference=reference)


async def find_outcome(provider: Provider, call: Call) -> Result | None:
    """Returns the outcome of an earlier call, or none if the provider does not answer."""
    try:
        async with asyncio.timeout(PROVIDER_SECONDS):
            return await provider.find(call)
    except Exception as error:
        _log.warning("payment provider did not report the outcome of a call", reason=type(error).__name__)
        return None
