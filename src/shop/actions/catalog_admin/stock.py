"""Stock forms: record a stock movement."""

from uuid import UUID

import msgspec

from shop.actions.audit import audit
from shop.actions.catalog import stock
from shop.actions.context import Context
from shop.base.errors import Invalid, NotFound
from shop.models.catalog.stock import StockItem, stock_movements
from shop.queries import writes
from shop.queries.catalog import stock as queries
from shop.rules.catalog.stock import MOVEMENTS, movement_quantity


class Movement(msgspec.Struct, frozen=True):
    """The id of the form, the reason, the entered quantity and a note."""

    id: UUID
    reason: str
    quantity: int
    note: str | None = None


async def record_variant_movement(
    ctx: Context, variant_id: UUID, location_id: UUID, movement_input: Movement
) -> tuple[UUID, bool]:
    """Records a movement of a variant at a location; returns the stock item id, creating the item if missing, and False
    if the movement was recorded before.
    """
    async with ctx.db.transaction():
        await writes.lock_form(ctx.db, movement_input.id)
        former_item_id = await writes.find_value(ctx.db, stock_movements, movement_input.id, "stock_item_id")
        if former_item_id is not None:
            return former_item_id, False
        item = await stock.get_or_create_item(ctx, variant_id, location_id)
        await _record(ctx, await _lock_item(ctx, item.id), movement_input)
        return item.id, True


async def record_movement(ctx: Context, item_id: UUID, movement_input: Movement) -> bool:
    """Records a movement; returns False if it was recorded before."""
    async with ctx.db.transaction():
        await writes.lock_form(ctx.db, movement_input.id)
        if await writes.find_value(ctx.db, stock_movements, movement_input.id, "stock_item_id") is not None:
            return False
        await _record(ctx, await _lock_item(ctx, item_id), movement_input)
    return True


async def _lock_item(ctx: Context, item_id: UUID) -> StockItem:
    # A recount is a difference from the current count, so the count must not change in the meantime.
    item = await queries.lock_item(ctx.db, item_id)
    if item is None:
        raise NotFound()
    return item


async def _record(ctx: Context, item: StockItem, movement_input: Movement) -> None:
    if movement_input.reason not in MOVEMENTS:
        raise Invalid({"reason": ["is not a valid choice"]})
    if movement_input.reason != "recounted" and movement_input.quantity < 1:
        raise Invalid({"quantity": ["must be 1 or more"]})
    quantity = movement_quantity(movement_input.reason, movement_input.quantity, item.count_on_hand)
    if quantity == 0:
        raise Invalid({"quantity": ["is the current count; there is nothing to record"]})
    reason, note, movement_id = movement_input.reason, movement_input.note, movement_input.id
    await stock.move_stock(ctx, item.id, quantity, reason=reason, note=note, movement_id=movement_id)
    detail = {
        "stock_item_id": str(item.id),
        "quantity": quantity,
        "reason": movement_input.reason,
        "note": movement_input.note,
    }
    await audit(ctx, "stock_movement_created", "done", subject_id=movement_id, detail=detail)
