"""Changes stock items and locations; counts change only by movements, each with its actor and reason.

Each action runs in the caller's transaction.
"""

from uuid import UUID

from msgspec.structs import replace

from shop.actions.catalog.products import refresh_products
from shop.actions.context import Context
from shop.actions.event_subjects import STOCK_ITEM, STOCK_LOCATION
from shop.actions.events import note_change, note_deletion
from shop.base.errors import Invalid, NotFound
from shop.base.ids import new_id
from shop.db.pool import ConstraintViolation
from shop.models.catalog.inputs import StockItemInput, StockLocationInput, StockMovementInput
from shop.models.catalog.stock import REASONS, StockItem, stock_items, stock_locations
from shop.queries import writes
from shop.queries.catalog import product_index, products, stock

MAX_COUNT = 10**9
_HAS_MOVEMENTS = "has stock movements and cannot be deleted; set count_on_hand to 0 and backorderable to false instead"
_IS_USED = "has stock or shipments and cannot be deleted; set active to false instead"


async def move_stock(
    ctx: Context,
    item_id: UUID,
    quantity: int,
    *,
    reason: str = "recounted",
    note: str | None = None,
    field_name: str = "quantity",
    movement_id: UUID | None = None,
) -> UUID:
    """Moves stock and returns the id of the movement: a new one, or that of a form.

    Only backorderable items can go below zero. `field_name` is the caller's name for the quantity in errors.
    """
    if quantity == 0 or abs(quantity) > MAX_COUNT:
        raise Invalid({field_name: [f"must be a number other than zero, from -{MAX_COUNT} to {MAX_COUNT}"]})
    if reason not in REASONS:
        raise Invalid({"reason": [f"must be one of {', '.join(REASONS)}"]})
    owners = await products.list_owners(ctx.db, stock_items, item_id)
    await product_index.lock_products(ctx.db, owners)
    item = await stock.change_count(ctx.db, item_id, quantity)
    if item is None:
        if await stock.lock_item(ctx.db, item_id) is None:
            raise Invalid({"stock_item_id": ["is not a stock item"]})
        raise Invalid({field_name: ["exceeds the count on hand, and the item is not backorderable"]})
    note_change(ctx, STOCK_ITEM, item_id, replace(item, count_on_hand=item.count_on_hand - quantity))
    movement_id = movement_id or new_id()
    await stock.insert_movement(
        ctx.db,
        id=movement_id,
        item_id=item_id,
        quantity=quantity,
        reason=reason,
        note=note,
        actor_kind=ctx.actor.kind,
        actor_id=ctx.actor.id,
    )
    await refresh_products(ctx, owners)
    return movement_id


async def create_movement(ctx: Context, values: StockMovementInput) -> UUID:
    """Creates a movement for a stock item, or for a variant at a location; creates a missing stock item."""
    item_id = values.get("stock_item_id")
    if item_id is None:
        if "variant_id" not in values:
            raise Invalid({"stock_item_id": ["is required, or variant_id"]})
        item_id = (await get_or_create_item(ctx, values["variant_id"], values.get("stock_location_id"))).id
    reason = values.get("reason") or "recounted"
    return await move_stock(ctx, item_id, values["quantity"], reason=reason, note=values.get("note"))


async def get_or_create_item(ctx: Context, variant_id: UUID, location_id: UUID | None = None) -> StockItem:
    """Returns the stock item of a variant at a location, by default the default one; creates it if missing."""
    location = await (stock.find_location(ctx.db, location_id) if location_id else stock.find_default_location(ctx.db))
    if location is None:
        raise Invalid({"stock_location_id": ["is not a stock location"]})
    # Lock the variant, so that of two concurrent calls only one creates the item.
    if await products.lock_variant(ctx.db, variant_id) is None:
        raise Invalid({"variant_id": ["is not a variant"]})
    item = await stock.find_item(ctx.db, variant_id, location.id)
    if item is None:
        item_id = await create_item(ctx, {"variant_id": variant_id, "stock_location_id": location.id})
        item = await stock.lock_item(ctx.db, item_id)
    if item is None:
        raise NotFound()
    return item


async def create_item(ctx: Context, values: StockItemInput) -> UUID:
    """Creates a stock item; an initial count becomes its first movement."""
    location = await stock.find_location(ctx.db, values["stock_location_id"])
    if location is None:
        raise Invalid({"stock_location_id": ["is not a stock location"]})
    if await products.lock_variant(ctx.db, values["variant_id"]) is None:
        raise Invalid({"variant_id": ["is not a variant"]})
    item_id = new_id()
    note_change(ctx, STOCK_ITEM, item_id)
    fields = {"backorderable": location.backorderable_default, **_without_count(values)}
    await writes.insert_record(ctx.db, stock_items, item_id, fields)
    if count := values.get("count_on_hand"):
        await move_stock(ctx, item_id, count, reason="received", field_name="count_on_hand")
    else:
        await refresh_products(ctx, await products.list_owners(ctx.db, stock_items, item_id))
    return item_id


async def update_item(ctx: Context, item_id: UUID, values: StockItemInput) -> None:
    """Updates a stock item; a new count becomes a movement of the difference."""
    item = await stock.lock_item(ctx.db, item_id)
    if item is None:
        raise NotFound()
    fields, count = _without_count(values), values.get("count_on_hand", item.count_on_hand)
    if values.get("backorderable") is False and count < 0:
        raise Invalid({"backorderable": ["cannot be turned off while the count on hand is negative"]})
    # An item with a negative count must be backorderable: enable the flag before the move, disable it after.
    if values.get("backorderable"):
        await writes.update_record(ctx.db, stock_items, item_id, {"backorderable": fields.pop("backorderable")})
    if count != item.count_on_hand:
        await move_stock(ctx, item_id, count - item.count_on_hand, field_name="count_on_hand")
    if fields:
        await writes.update_record(ctx.db, stock_items, item_id, fields)
    await refresh_products(ctx, await products.list_owners(ctx.db, stock_items, item_id))


def _without_count(values: StockItemInput) -> dict[str, object]:
    return {name: value for name, value in values.items() if name != "count_on_hand"}


async def delete_item(ctx: Context, item_id: UUID) -> None:
    """Deletes a stock item without movements; the history of movements is permanent."""
    owners = await products.list_owners(ctx.db, stock_items, item_id)
    try:
        await writes.delete_record(ctx.db, stock_items, item_id)
    except ConstraintViolation:
        raise Invalid({"base": [_HAS_MOVEMENTS]}) from None
    await refresh_products(ctx, owners)


async def create_location(ctx: Context, values: StockLocationInput) -> UUID:
    location_id = new_id()
    if values.get("default"):
        await _unset_default(ctx, None)
    await writes.insert_record(ctx.db, stock_locations, location_id, values)
    return location_id


async def update_location(ctx: Context, location_id: UUID, values: StockLocationInput) -> None:
    """Updates a location; stock at an inactive location is not for sale."""
    if values.get("default"):
        await _unset_default(ctx, location_id)
    await writes.update_record(ctx.db, stock_locations, location_id, values)
    if "active" in values:
        await refresh_products(ctx, await products.list_owners(ctx.db, stock_locations, location_id))


async def _unset_default(ctx: Context, but: UUID | None) -> None:
    """Makes every other location not the default one."""
    for location in await stock.unset_default(ctx.db, but):
        note_change(ctx, STOCK_LOCATION, location.id, replace(location, default=True))


async def delete_location(ctx: Context, location_id: UUID) -> None:
    """Deletes a location and its stock items, if none has movements."""
    location = await stock.find_location(ctx.db, location_id)
    if location and location.default:
        raise Invalid({"base": ["is the default; make another location the default first"]})
    owners = await products.list_owners(ctx.db, stock_locations, location_id)
    await product_index.lock_products(ctx.db, owners)
    try:
        for item in await stock.delete_items(ctx.db, location_id):
            note_deletion(ctx, STOCK_ITEM, item)
        await writes.delete_record(ctx.db, stock_locations, location_id)
    except ConstraintViolation:
        raise Invalid({"base": [_IS_USED]}) from None
    await refresh_products(ctx, owners)
