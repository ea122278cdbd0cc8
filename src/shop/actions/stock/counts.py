"""Stock counts: what operators counted at a location becomes movements of the difference."""

from collections.abc import Sequence
from uuid import UUID

import msgspec

from shop.actions.audit import audit
from shop.actions.catalog import stock
from shop.actions.catalog.products import defer_refresh
from shop.actions.context import Context
from shop.models.catalog.stock import stock_items
from shop.queries.catalog import product_index, products
from shop.queries.catalog import stock as queries

NOTE = "Stock count"


class CountedItem(msgspec.Struct, frozen=True):
    """The count of a stock item that the page showed, and the one that the operator entered."""

    item_id: UUID
    shown_count: int
    new_count: int


class CountResult(msgspec.Struct, frozen=True):
    """The number of corrected items, of those whose count was right, and the reasons of those that were not saved."""

    corrected_count: int
    right_count: int
    refusals: dict[UUID, str]


async def save_counts(ctx: Context, location_id: UUID, counts: Sequence[CountedItem]) -> CountResult:
    """Records the differences. An item whose count changed since the page was loaded is left as it is and reported,
    since the operator may have counted before or after that change.
    """
    corrected_count, refusals = 0, {}
    async with ctx.db.transaction():
        owners = [owner for count in counts for owner in await products.list_owners(ctx.db, stock_items, count.item_id)]
        await product_index.lock_products(ctx.db, owners)
        async with defer_refresh(ctx):
            for count in sorted(counts, key=lambda count: count.item_id):
                item = await queries.lock_item(ctx.db, count.item_id)
                if item is None or item.stock_location_id != location_id:
                    refusals[count.item_id] = "is not a stock item of this location"
                elif item.count_on_hand != count.shown_count:
                    refusals[count.item_id] = (
                        f"was {count.shown_count} when the page was loaded and is {item.count_on_hand} now; count again"
                    )
                elif count.new_count != count.shown_count:
                    await stock.move_stock(
                        ctx, item.id, count.new_count - count.shown_count, reason="recounted", note=NOTE
                    )
                    corrected_count += 1
        result = CountResult(corrected_count, len(counts) - corrected_count - len(refusals), refusals)
        if corrected_count or result.right_count:
            detail = {"corrected": corrected_count, "confirmed": result.right_count}
            await audit(ctx, "stock_counted", "done", subject_id=location_id, detail=detail)
    return result
