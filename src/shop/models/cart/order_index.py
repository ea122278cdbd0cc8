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


_FILTERS = ("country", "currency", "channel", "payment_state", "shipment_state")
_TABS = ("to_ship", "unpaid", "open")


def _index_filters(name: str, column: str, tab: str | None = None) -> Index:
    """Returns an index that has the filtered columns too: an order that they leave out is not read."""
    extra = [*_FILTERS] if column == "total" else ["total", *_FILTERS]
    condition = text(f"is_{tab}") if tab else None
    return Index(name, column, "order_id", postgresql_include=extra, postgresql_where=condition)


order_listings = table(
    "order_listings",
    OrderListing,
    # Written and searched in SQL only.
    Column("search", TSVECTOR(), nullable=False),
    key("order_id"),
    refers("order_id", orders, on_delete="cascade"),
    *(_index_filters(f"ix_order_listings_{name}_filters", name) for name in ("placed_at", "total")),
    *(index(f"ix_order_listings_{name}", name, "placed_at", "order_id") for name in _FILTERS),
    *(_index_filters(f"ix_order_listings_{tab}_filters", "placed_at", tab) for tab in _TABS),
    search_index("ix_order_listings_search", "search"),
    # A word that many orders have is found in a small index if the list is that of a tab.
    *(
        Index(f"ix_order_listings_{tab}_search", "search", postgresql_where=text(f"is_{tab}"), postgresql_using="gin")
        for tab in _TABS
    ),
    Index("ix_order_listings_marks", text("(product_ids || promotion_ids)"), postgresql_using="gin"),
    search_index("ix_order_listings_tags", "tags"),
    fill_factor=80,
)
order_index_progress = table("order_index_progress", OrderIndexProgress, key("id"), check("only_one", "id = 1"))
