"""How what an order holds leaves the shelves, and how it gets back there: all of it or nothing."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from shop.actions.catalog.products import refresh
from shop.actions.context import Context
from shop.base.errors import Invalid
from shop.base.ids import new_id
from shop.models.cart.orders import Order
from shop.models.catalog.products import variants
from shop.queries import bulk, writes
from shop.queries.cart import orders
from shop.queries.catalog import product_index, stock
from shop.queries.catalog.stock import Held
from shop.queries.payments import payments

HOLD_SECONDS = 15 * 60
_GONE = "Somebody was faster: fewer are left than are wanted."


async def take(
    ctx: Context, order: Order, wanted: Mapping[UUID, int], product_ids: Sequence[UUID], seconds: int = HOLD_SECONDS
) -> None:
    """From the stock items, so many of each. What is taken is held in the order's name until it is bought or given
    back.
    """
    if not wanted:
        return
    await _move(ctx, order, {item_id: -quantity for item_id, quantity in wanted.items()}, product_ids, "sold")
    await stock.insert_reservations(ctx.db, order.id, wanted, seconds)


async def give_back(ctx: Context, order: Order) -> None:
    """What was taken for an order that nobody bought."""
    held = await stock.end_holds(ctx.db, order.id)
    if held:
        await restock(ctx, order, held)


async def drop_cart(ctx: Context, cart: Order) -> bool:
    """Deletes an open cart that is locked, unless it is being paid; what it held is on the shelves again."""
    if await payments.is_paying(ctx.db, cart.id):
        return False
    await give_back(ctx, cart)
    return await orders.delete_open_cart(ctx.db, cart.id)


async def restock(ctx: Context, order: Order, held: Sequence[Held]) -> None:
    back: dict[UUID, int] = {}
    for each in held:
        back[each.stock_item_id] = back.get(each.stock_item_id, 0) + each.quantity
    await _move(ctx, order, back, [each.product_id for each in held], "returned")


async def exchange(
    ctx: Context, order: Order, variant_id: UUID, quantity: int, from_place: UUID, to_place: UUID
) -> None:
    """What an order took from one place it takes from another."""
    back, there = [await stock.find_item(ctx.db, variant_id, place) for place in (from_place, to_place)]
    if not await writes.find_value(ctx.db, variants, variant_id, "track_inventory"):
        return
    if back is None or there is None:
        raise Invalid({"stock_location_id": ["has none of it"]}, _GONE, code="out_of_stock")
    product_id = await writes.find_value(ctx.db, variants, variant_id, "product_id")
    await _move(ctx, order, {back.id: quantity}, [product_id], "returned")
    await _move(ctx, order, {there.id: -quantity}, [product_id], "sold")


async def _move(
    ctx: Context, order: Order, moves: Mapping[UUID, int], product_ids: Sequence[UUID], reason: str
) -> None:
    # In the order in which everybody locks: products first, then what lies on the shelves.
    await product_index.lock_products(ctx.db, product_ids)
    moved = await stock.take_many(ctx.db, moves)
    if len(moved) != len(moves):
        raise Invalid({"line_items": [_GONE]}, _GONE, code="out_of_stock")
    rows = [
        {
            "id": new_id(),
            "stock_item_id": item_id,
            "quantity": quantity,
            "reason": reason,
            "note": order.number,
            "actor_kind": ctx.actor.kind,
            "actor_id": ctx.actor.id,
        }
        for item_id, quantity in moves.items()
    ]
    await bulk.insert_rows(ctx.db, "stock_movements", rows)
    # Only what is sold out, or there again, is shown otherwise than before.
    if any((count > 0) != (count - moves[item_id] > 0) for item_id, count in moved.items()):
        await refresh(ctx, product_ids)
