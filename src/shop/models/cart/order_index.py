"""The index of completed orders, from which the dashboard lists and searches them."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import Column, Index, text
from sqlalchemy.dialects.postgresql import TSVECTOR

from shop.db.rows import Row, check, index, key, refers, search_index, table
from shop.models.cart.orders import orders


class OrderListing(Row, frozen=True, kw_only=True):
    """What the list of orders filters, sorts and searches by. The worker fills it from the event log, so that orders
    need no further indexes.
    """

    order_id: UUID
    placed_at: datetime
    name: str = ""
    """The recipient's name, or the payer's."""
    country: str | None = None
    """The ISO code of the country to ship to."""
    currency: str
    channel: str = "shop"
    total: int = 0
    payment_state: str | None = None
    shipment_state: str | None = None
    is_to_ship: bool = False
    """Whether a shipment is ready."""
    is_unpaid: bool = False
    is_open: bool = False
    """Whether something remains to be paid, shipped or refunded."""
    product_ids: list[UUID] = []  # noqa: RUF012  msgspec copies it.
    promotion_ids: list[UUID] = []  # noqa: RUF012
    tags: list[str] = []  # noqa: RUF012


class OrderIndexProgress(Row, frozen=True, kw_only=True):
    """How far the index is, in one row: the position in the event log, and the oldest order of the first filling."""

    id: int = 1
    position: int | None = None
    """None before the first filling."""
    filled_at: datetime | None = None
    filled_id: UUID | None = None
    is_filled: bool = False


order_listings = table(
    "order_listings",
    OrderListing,
    # Written and searched in SQL only.
    Column("search", TSVECTOR(), nullable=False),
    key("order_id"),
    refers("order_id", orders, on_delete="cascade"),
    index("ix_order_listings_placed_at", "placed_at", "order_id"),
    index("ix_order_listings_total", "total", "order_id"),
    index("ix_order_listings_to_ship", "placed_at", "order_id", where="is_to_ship"),
    index("ix_order_listings_unpaid", "placed_at", "order_id", where="is_unpaid"),
    index("ix_order_listings_open", "placed_at", "order_id", where="is_open"),
    search_index("ix_order_listings_search", "search"),
    Index("ix_order_listings_marks", text("(product_ids || promotion_ids)"), postgresql_using="gin"),
    search_index("ix_order_listings_tags", "tags"),
    fill_factor=80,
)
order_index_progress = table("order_index_progress", OrderIndexProgress, key("id"), check("only_one", "id = 1"))
