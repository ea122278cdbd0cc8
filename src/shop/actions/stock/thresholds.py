"""The counts from which stock is low: one for the shop, and others for single stock items."""

from uuid import UUID

from shop.actions.audit import audit, audit_change
from shop.actions.context import Context
from shop.actions.event_subjects import STOCK_ITEM, note_settings
from shop.actions.setup.shop import get_shop
from shop.base.errors import Invalid, NotFound
from shop.models.setup.shop import STORE_ID
from shop.models.stock.thresholds import MAX_THRESHOLD
from shop.queries.catalog import stock
from shop.queries.setup import shop as shop_queries
from shop.queries.stock import thresholds


async def change_shop_threshold(ctx: Context, threshold: int) -> None:
    _check(threshold)
    async with ctx.db.transaction():
        before = await get_shop(ctx)
        shop = await shop_queries.update_low_stock_threshold(ctx.db, threshold)
        note_settings(ctx, before, shop)
        await audit(ctx, "low_stock_threshold_changed", "done", subject_id=STORE_ID)
    ctx.shared.shop = shop


async def change_item_threshold(ctx: Context, item_id: UUID, threshold: int | None) -> None:
    """Sets the threshold of a stock item; None applies the shop's."""
    if threshold is not None:
        _check(threshold)
    async with ctx.db.transaction():
        if await stock.lock_item(ctx.db, item_id) is None:
            raise NotFound()
        before = await thresholds.find_threshold(ctx.db, item_id)
        await thresholds.save_threshold(ctx.db, item_id, threshold)
        changes = {"low_stock_threshold": (before, threshold)}
        audit_change(ctx, "low_stock_threshold_changed", STOCK_ITEM.type, item_id, changes=changes)


def _check(threshold: int) -> None:
    if not 0 <= threshold <= MAX_THRESHOLD:
        raise Invalid({"threshold": [f"must be from 0 to {MAX_THRESHOLD:,}"]})
