"""Cancels a placed order as a whole."""

from uuid import UUID

from shop.actions.audit import audit
from shop.actions.cart.orders import Checkout, is_credit
from shop.actions.catalog.reservations import restock, write_off_stock
from shop.actions.checkout import store_credit
from shop.actions.checkout.promotion_usage import release_uses
from shop.actions.context import Context
from shop.actions.order_edits.notes import insert_note
from shop.actions.orders.operations import (
    CANCELED,
    find_cancel_refusal,
    find_returnable_amount,
    load_refund_limits,
    lock_checkout,
    record_attempt,
    refuse_while_charging,
)
from shop.actions.payments.attempts import execute_calls
from shop.actions.payments.settlement import update_order_states
from shop.actions.timeline import describe_cause
from shop.base.errors import Invalid
from shop.base.ids import new_id
from shop.gateways.payments import Call
from shop.models.cart.orders import Order
from shop.models.checkout.payments import Payment
from shop.models.checkout.shipments import shipments
from shop.queries import writes
from shop.queries.cart import orders
from shop.queries.catalog import stock
from shop.queries.catalog.stock import OrderStock
from shop.rules.order_edits.refunds import REASONS, find_reason_key


async def cancel(
    ctx: Context, order_id: UUID, *, lost_line_ids: frozenset[UUID] = frozenset(), reason: str = ""
) -> None:
    """Cancels an order: cancels its shipments, restocks its items except damaged or lost ones, and voids or refunds its
    payments.
    """
    async with ctx.db.transaction():
        checkout = await lock_checkout(ctx, order_id)
        order = checkout.order
        if refusal := find_cancel_refusal(checkout, await load_refund_limits(ctx)):
            cause = await describe_cause(ctx, order.id, "order.canceled") if order.canceled_at else ""
            sentence = f"{refusal[1]} {cause}".strip()
            raise Invalid({"base": [sentence]}, sentence, code=refusal[0])
        refuse_while_charging(checkout.payments)
        await release_uses(ctx, order)
        for payment in checkout.payments:
            await store_credit.refund_credit(ctx, order, payment)
        await _return_stock(ctx, checkout, lost_line_ids)
        for shipment in checkout.shipments:
            await writes.update_record(ctx.db, shipments, shipment.id, {"state": "canceled"})
        # Recorded in the same transaction as the cancellation, so that a crash in between needs no manual work.
        reversals = [one for payment in checkout.payments if (one := await _prepare_reversal(ctx, order, payment))]
        await orders.cancel_order(ctx.db, order_id, ctx.actor.id)
        await update_order_states(ctx, await lock_checkout(ctx, order_id))
        await _note_reason(ctx, order, reason)
        detail = {"reason": find_reason_key(reason)} if reason else {}
        await audit(ctx, "order_cancel", "done", subject_id=order_id, detail=detail)
    await execute_calls(ctx, order, reversals)


async def _return_stock(ctx: Context, checkout: Checkout, lost_line_ids: frozenset[UUID]) -> None:
    """Returns the items of an order to the stock, and writes off those that are damaged or lost."""
    order, locations = checkout.order, {each.id: each.stock_location_id for each in checkout.shipments}
    sold_items = await stock.list_sold_stock(ctx.db, order.number)
    await restock(ctx, order, sold_items)
    sold_by_id = {each.stock_item_id: each for each in sold_items}
    lost_counts: dict[UUID, int] = {}
    for item in checkout.items:
        if item.line_item_id not in lost_line_ids:
            continue
        stock_item = await stock.find_item(ctx.db, item.variant_id, locations[item.shipment_id])
        if stock_item and stock_item.id in sold_by_id:
            # Units that were backordered were never there.
            count = lost_counts.get(stock_item.id, 0) + max(item.quantity - item.backordered, 0)
            lost_counts[stock_item.id] = min(count, sold_by_id[stock_item.id].quantity)
    losses = [OrderStock(key, count, sold_by_id[key].product_id) for key, count in lost_counts.items() if count]
    if losses:
        await write_off_stock(ctx, order, losses)


async def _note_reason(ctx: Context, order: Order, reason: str) -> None:
    if reason and reason not in REASONS.values():
        await insert_note(ctx, order, f"Order canceled. {reason}")


async def _prepare_reversal(ctx: Context, order: Order, payment: Payment) -> tuple[Payment, Call] | None:
    left = find_returnable_amount(payment)
    if is_credit(payment):
        return None  # Released with the order: no provider is involved.
    if payment.state == "pending":
        return payment, await record_attempt(ctx, order, payment, "void", payment.amount)
    if left:
        return payment, await record_attempt(ctx, order, payment, "refund", left, refund=(new_id(), CANCELED))
    return None
