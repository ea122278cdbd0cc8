"""The progress of filling a demo shop with historical orders."""

from datetime import datetime

from shop.db.rows import Row, check, key, table


class DemoFill(Row, frozen=True, kw_only=True):
    """A single row, inserted with the demo shop: how many of its historical orders exist."""

    id: int = 1
    started_at: datetime
    """The orders are older than this time."""
    order_count: int = 0
    ended_at: datetime | None = None
    """When the last order was added."""


demo_fills = table("demo_fills", DemoFill, key("id"), check("only_one", "id = 1"))
