"""The counts from which single stock items are low; the shop has one for all others."""

from uuid import UUID

from shop.db.rows import Row, check, index, key, refers, table
from shop.models.catalog.stock import stock_items

MAX_THRESHOLD = 1_000_000


class StockThreshold(Row, frozen=True, kw_only=True):
    """A stock item whose count is low at this number or fewer."""

    stock_item_id: UUID
    low_at: int


stock_thresholds = table(
    "stock_thresholds",
    StockThreshold,
    key("stock_item_id"),
    refers("stock_item_id", stock_items, on_delete="cascade"),
    index("ix_stock_thresholds_low_at", "low_at"),
    check("low_at_is_not_negative", "low_at >= 0"),
)
