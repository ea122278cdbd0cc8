"""Reserves stock for orders and returns it, all or nothing."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from shop.actions.catalog.products import refresh_products
from shop.actions.context import Context
from shop.actions.event_subjects import STOCK_ITEM, StockCount
from shop.actions.events import note_change
from shop.base.errors import Invalid
from shop.models.cart.orders import Order
from shop.models.catalog.products import variants
from shop.queries import writes
from shop.queries.cart import orders
from shop.queries.catalog import stock
from shop.queries.catalog.stock import OrderStock
from shop.queries.payments import payments

RESERVATION_SECONDS = 15 * 60
_NOT_ENOUGH_STOCK = "Not enough stock left."


async def reserve_stock(
    ctx: Context,
    order: Order,
    quantities: Mapping[UUID, int],
    product_ids: Sequence[UUID],
    seconds: int = RESERVATION_SECONDS,
) -> None:
    """Reserves quantities of stock items for an order, until it completes or the reservation is released."""
    await take_stock(ctx, order, quantities, product_ids)
    if quantities:
        await stock.insert_reservations(ctx.db, order.id, quantities, seconds)


async def take_stock(ctx: Context, order: Order, quantities: Mapping[UUID, int], product_ids: Sequence[UUID]) -> None:
    """Takes quantities of stock items for an order, or none of them if one has not enough stock."""
    if quantities:
        await _move(ctx, order, {item_id: -quantity for item_id, quantity in quantities.items()}, product_ids, "sold")


async def release_stock(ctx: Context, order: Order) -> None:
    """Releases the reservations of an order and returns the stock."""
    reservations = await stock.delete_reservations(ctx.db, order.id)
    if reservations:
        await restock(ctx, order, reservations)


async def discard_cart(ctx: Context, cart: Order) -> bool:
    """Deletes a locked open cart and returns its stock; returns False if a payment is in progress."""
    if await payments.is_paying(ctx.db, cart.id):
        return False
    await release_stock(ctx, cart)
    return await orders.delete_open_cart(ctx.db, cart.id)


async def restock(ctx: Context, order: Order, reservations: Sequence[OrderStock], *, note: str | None = None) -> None:
    """Returns stock. Returns of shipped units have another `note` than the order's number, which counts what the order
    still has.
    """
    product_ids = [reservation.product_id for reservation in reservations]
    await _move(ctx, order, _sum_quantities(reservations), product_ids, "returned", note)


async def write_off_stock(ctx: Context, order: Order, items: Sequence[OrderStock]) -> None:
    """Writes off units that returned from an order but cannot be sold. The note is not only the order's number, which
    counts what the order still has.
    """
    quantities = {item_id: -quantity for item_id, quantity in _sum_quantities(items).items()}
    note = f"{order.number}: canceled, not returned"
    await _move(ctx, order, quantities, [item.product_id for item in items], "damaged", note)


def _sum_quantities(items: Sequence[OrderStock]) -> dict[UUID, int]:
    quantities: dict[UUID, int] = {}
    for item in items:
        quantities[item.stock_item_id] = quantities.get(item.stock_item_id, 0) + item.quantity
    return quantities


async def move_reservation(
    ctx: Context, order: Order, variant_id: UUID, quantity: int, from_location_id: UUID, to_location_id: UUID
) -> None:
    """Moves the stock of an order from one stock location to another."""
    source, target = [
        await stock.find_item(ctx.db, variant_id, location_id) for location_id in (from_location_id, to_location_id)
    ]
    if not await writes.find_value(ctx.db, variants, variant_id, "track_inventory"):
        return
    if source is None or target is None:
        raise Invalid({"stock_location_id": ["has no stock of this variant"]}, _NOT_ENOUGH_STOCK, code="out_of_stock")
    product_id = await writes.find_value(ctx.db, variants, variant_id, "product_id")
    await _move(ctx, order, {source.id: quantity}, [product_id], "returned")
    await _move(ctx, order, {target.id: -quantity}, [product_id], "sold")


async def _move(
    ctx: Context,
    order: Order,
    moves: Mapping[UUID, int],
    product_ids: Sequence[UUID],
    reason: str,
    note: str | None = None,
) -> None:
    actor = {"actor_kind": ctx.actor.kind, "actor_id": ctx.actor.id}
    new_counts = await stock.move_stock(ctx.db, moves, product_ids, reason=reason, note=note or order.number, **actor)
    if len(new_counts) != len(moves):
        raise Invalid({"line_items": [_NOT_ENOUGH_STOCK]}, _NOT_ENOUGH_STOCK, code="out_of_stock")
    for item_id, count in new_counts.items():
        note_change(ctx, STOCK_ITEM, item_id, StockCount(count - moves[item_id]))
    # The index changes only when an item sells out or is back in stock.
    if any((count > 0) != (count - moves[item_id] > 0) for item_id, count in new_counts.items()):
        await refresh_products(ctx, product_ids)
