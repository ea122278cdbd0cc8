"""Deletes void payments, pending shipments and unused store credit, in the caller's transaction."""

from uuid import UUID

from shop.actions.cart.locked_carts import refuse_while_paying
from shop.actions.cart.orders import change_order, load_checkout
from shop.actions.catalog.reservations import release_stock
from shop.actions.checkout.shipments import recalculate
from shop.actions.context import Context
from shop.actions.event_subjects import PAYMENT
from shop.actions.events import note_rows
from shop.actions.orders.shipments import merge_shipment
from shop.actions.payments.settlement import update_order_states
from shop.base.errors import Invalid, NotFound
from shop.models.checkout.payments import payments
from shop.models.checkout.shipments import shipments
from shop.models.checkout.store_credit import store_credits
from shop.queries import writes
from shop.queries.cart import orders
from shop.queries.checkout import store_credit as credit_queries
from shop.queries.payments import payments as payment_queries

_FINAL_STATES = frozenset({"void", "invalid"})


async def lock_order_of_payment(ctx: Context, payment_id: UUID) -> None:
    """Locks the order before its payment, in the common lock order."""
    payment = await payment_queries.find_payment(ctx.db, payment_id)
    if payment is None or await orders.lock_order(ctx.db, payment.order_id) is None:
        raise NotFound()


async def delete_payment(ctx: Context, payment_id: UUID) -> None:
    payment = await payment_queries.find_payment(ctx.db, payment_id)
    if payment is None:
        raise NotFound()
    if payment.state not in _FINAL_STATES or payment.captured_amount:
        raise Invalid({"base": ["cannot be deleted; only a void payment without captured money can be deleted"]})
    order = await orders.lock_order(ctx.db, payment.order_id)
    if order and order.completed_at is not None:
        await note_rows(ctx, PAYMENT, [payment_id], is_deleted=True)
    await writes.delete_record(ctx.db, payments, payment_id)
    if order and order.completed_at is not None:
        await update_order_states(ctx, await load_checkout(ctx, order))


async def delete_shipment(ctx: Context, shipment_id: UUID) -> None:
    """Deletes a shipment of an open order, which is packed again, or merges one of a completed order."""
    order_id = await writes.find_value(ctx.db, shipments, shipment_id, "order_id")
    order = await orders.lock_order(ctx.db, order_id) if order_id else None
    if order is None:
        raise NotFound()
    if order.completed_at is not None:
        await merge_shipment(ctx, shipment_id)
        return
    await refuse_while_paying(ctx, order)
    await release_stock(ctx, order)
    await writes.delete_record(ctx.db, shipments, shipment_id)
    checkout = await load_checkout(ctx, await change_order(ctx, order, state="address"))
    await recalculate(ctx, checkout)


async def delete_store_credit(ctx: Context, credit_id: UUID) -> None:
    credit = await credit_queries.lock_credit(ctx.db, credit_id)
    if credit is None:
        raise NotFound()
    if credit.amount_used:
        raise Invalid({"base": ["was used and cannot be deleted; withdraw the remaining amount instead"]})
    await writes.delete_record(ctx.db, store_credits, credit_id)
