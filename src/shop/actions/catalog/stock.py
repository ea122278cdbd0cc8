"""How stock changes: only by movements, each kept with who made it and why. Each runs inside its caller's work."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from shop.actions.catalog.products import refresh
from shop.actions.context import Context
from shop.base.errors import Invalid, NotFound
from shop.base.ids import new_id
from shop.db.pool import Refused
from shop.models.catalog.stock import REASONS, StockItem, stock_items, stock_locations
from shop.queries import writes
from shop.queries.catalog import product_index, products, stock

Values = Mapping[str, Any]
LARGEST = 10**9
_HAS_MOVED = "has a history of movements, which is kept; set count_on_hand to 0 and backorderable to false instead"
_IS_USED = "has a history of stock or shipments, which is kept; set active to false instead, and nothing is sold there"


async def move_stock(
    ctx: Context,
    item_id: UUID,
    quantity: int,
    *,
    reason: str = "recounted",
    note: str | None = None,
    said_as: str = "quantity",
) -> UUID:
    """The id of the movement. More than there is can be taken only of what may be sold beyond it. `said_as` is the
    caller's name for the quantity.
    """
    if quantity == 0 or abs(quantity) > LARGEST:
        raise Invalid({said_as: [f"must be a number other than zero, from -{LARGEST} to {LARGEST}"]})
    if reason not in REASONS:
        raise Invalid({"reason": [f"must be one of {', '.join(REASONS)}"]})
    owners = await products.list_owners(ctx.db, stock_items, item_id)
    await product_index.lock_products(ctx.db, owners)
    if await stock.take_stock(ctx.db, item_id, quantity) is None:
        if await stock.lock_item(ctx.db, item_id) is None:
            raise Invalid({"stock_item_id": ["is not a stock item"]})
        raise Invalid({said_as: ["is more than there is, and the item is not backorderable"]})
    movement_id = new_id()
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
    await refresh(ctx, owners)
    return movement_id


async def create_movement(ctx: Context, values: Values) -> UUID:
    """For a stock item, or for a variant at a location, whose item is made where there was none yet."""
    item_id = values.get("stock_item_id")
    if item_id is None:
        if values.get("variant_id") is None:
            raise Invalid({"stock_item_id": ["must be given, or variant_id"]})
        item_id = (await item_of(ctx, values["variant_id"], values.get("stock_location_id"))).id
    reason = values.get("reason") or "recounted"
    return await move_stock(ctx, item_id, values["quantity"], reason=reason, note=values.get("note"))


async def item_of(ctx: Context, variant_id: UUID, location_id: UUID | None = None) -> StockItem:
    """A variant's stock item at a location, or at the default one; made where there was none yet."""
    found = await (stock.find_location(ctx.db, location_id) if location_id else stock.find_default_location(ctx.db))
    if found is None:
        raise Invalid({"stock_location_id": ["is not a stock location"]})
    # Locked, so that of two who would make the item the later one finds it.
    if await products.lock_variant(ctx.db, variant_id) is None:
        raise Invalid({"variant_id": ["is not a variant"]})
    item = await stock.find_item(ctx.db, variant_id, found.id)
    if item is None:
        item_id = await create_item(ctx, {"variant_id": variant_id, "stock_location_id": found.id})
        item = await stock.lock_item(ctx.db, item_id)
    if item is None:
        raise NotFound()
    return item


async def create_item(ctx: Context, values: Values) -> UUID:
    """A count that it begins with is its first movement."""
    location = await stock.find_location(ctx.db, values["stock_location_id"])
    if location is None:
        raise Invalid({"stock_location_id": ["is not a stock location"]})
    if await products.lock_variant(ctx.db, values["variant_id"]) is None:
        raise Invalid({"variant_id": ["is not a variant"]})
    fields = {"backorderable": location.backorderable_default, **values}
    count = fields.pop("count_on_hand", None)
    item_id = new_id()
    await writes.insert_record(ctx.db, stock_items, item_id, fields)
    if count:
        await move_stock(ctx, item_id, count, reason="received", said_as="count_on_hand")
    else:
        await refresh(ctx, await products.list_owners(ctx.db, stock_items, item_id))
    return item_id


async def update_item(ctx: Context, item_id: UUID, values: Values) -> None:
    """A new count is a movement of the difference."""
    item = await stock.lock_item(ctx.db, item_id)
    if item is None:
        raise NotFound()
    fields = dict(values)
    count = fields.pop("count_on_hand", None)
    if fields.get("backorderable") is False and (item.count_on_hand if count is None else count) < 0:
        raise Invalid({"backorderable": ["must stay while more is sold than there is"]})
    # While either count is below zero the item must be backorderable: from the beginning of this, or to its end.
    loosens = {"backorderable": fields.pop("backorderable")} if fields.get("backorderable") else {}
    if loosens:
        await writes.update_record(ctx.db, stock_items, item_id, loosens)
    if count is not None and count != item.count_on_hand:
        await move_stock(ctx, item_id, count - item.count_on_hand, said_as="count_on_hand")
    if fields:
        await writes.update_record(ctx.db, stock_items, item_id, fields)
    await refresh(ctx, await products.list_owners(ctx.db, stock_items, item_id))


async def delete_item(ctx: Context, item_id: UUID) -> None:
    """Only what never moved: movements say for good what became of each piece."""
    owners = await products.list_owners(ctx.db, stock_items, item_id)
    try:
        await writes.delete_record(ctx.db, stock_items, item_id)
    except Refused:
        raise Invalid({"base": [_HAS_MOVED]}) from None
    await refresh(ctx, owners)


async def create_location(ctx: Context, values: Values) -> UUID:
    location_id = new_id()
    if values.get("default"):
        await stock.unset_default(ctx.db, None)
    await writes.insert_record(ctx.db, stock_locations, location_id, values)
    return location_id


async def update_location(ctx: Context, location_id: UUID, values: Values) -> None:
    """What lies at a place that is closed cannot be sold, and the other way round."""
    if values.get("default"):
        await stock.unset_default(ctx.db, location_id)
    await writes.update_record(ctx.db, stock_locations, location_id, values)
    if "active" in values:
        await refresh(ctx, await products.list_owners(ctx.db, stock_locations, location_id))


async def delete_location(ctx: Context, location_id: UUID) -> None:
    """With what is kept for it and never moved."""
    location = await stock.find_location(ctx.db, location_id)
    if location and location.default:
        raise Invalid({"base": ["is the default; make another location the default first"]})
    owners = await products.list_owners(ctx.db, stock_locations, location_id)
    await product_index.lock_products(ctx.db, owners)
    try:
        await stock.delete_items(ctx.db, location_id)
        await writes.delete_record(ctx.db, stock_locations, location_id)
    except Refused:
        raise Invalid({"base": [_IS_USED]}) from None
    await refresh(ctx, owners)
