"""What operators do with stock: record a movement in their own words."""

from uuid import UUID

import msgspec

from shop.actions.audit import audit
from shop.actions.catalog import stock
from shop.actions.context import Context
from shop.base.errors import Invalid, NotFound
from shop.models.catalog.stock import StockItem
from shop.queries.catalog import stock as queries
from shop.rules.catalog.stock import MOVEMENTS, movement


class Movement(msgspec.Struct, frozen=True):
    """What happened, how many were typed, and a word about it."""

    reason: str
    quantity: int
    note: str | None = None


async def record_at(ctx: Context, variant_id: UUID, location_id: UUID, wanted: Movement) -> UUID:
    """Of a variant at a location, where nothing of it may ever have lain. The id of the stock item."""
    async with ctx.db.transaction():
        item = await stock.item_of(ctx, variant_id, location_id)
        await _record(ctx, await _locked(ctx, item.id), wanted)
        return item.id


async def record(ctx: Context, item_id: UUID, wanted: Movement) -> None:
    async with ctx.db.transaction():
        await _record(ctx, await _locked(ctx, item_id), wanted)


async def _locked(ctx: Context, item_id: UUID) -> StockItem:
    # A recount is a difference to what is there, so nobody may change that meanwhile.
    found = await queries.lock_item(ctx.db, item_id)
    if found is None:
        raise NotFound()
    return found


async def _record(ctx: Context, item: StockItem, wanted: Movement) -> None:
    if wanted.reason not in MOVEMENTS:
        raise Invalid({"reason": ["must be one of those offered"]})
    if wanted.reason != "recounted" and wanted.quantity < 1:
        raise Invalid({"quantity": ["must be 1 or more"]})
    quantity = movement(wanted.reason, wanted.quantity, item.count_on_hand)
    if quantity == 0:
        raise Invalid({"quantity": ["is what is there already; there is nothing to record"]})
    movement_id = await stock.move_stock(ctx, item.id, quantity, reason=wanted.reason, note=wanted.note)
    detail = {"stock_item_id": str(item.id), "quantity": quantity, "reason": wanted.reason, "note": wanted.note}
    await audit(ctx, "stock_movement_created", "done", subject_id=movement_id, detail=detail)
