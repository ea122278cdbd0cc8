"""Stock locations, stock items and stock movements."""

from datetime import datetime
from typing import Any
from uuid import UUID

from shop.db.rows import Row, check, index, key, refers, table, unique
from shop.models.catalog.products import variants
from shop.models.setup.countries import countries


class StockLocation(Row, frozen=True, kw_only=True):
    """A stock location; goods are sold from it while it is active."""

    id: UUID
    name: str
    admin_name: str | None = None
    default: bool = False
    active: bool = True
    backorderable_default: bool = False
    """The default of `backorderable` for new stock items."""
    address1: str | None = None
    address2: str | None = None
    city: str | None = None
    zipcode: str | None = None
    state_name: str | None = None
    phone: str | None = None
    country_id: UUID | None = None
    created_at: datetime
    updated_at: datetime


class StockItem(Row, frozen=True, kw_only=True):
    """The count of a variant at a location; always the sum of its movements."""

    id: UUID
    stock_location_id: UUID
    variant_id: UUID
    count_on_hand: int = 0
    backorderable: bool = False
    public_metadata: dict[str, Any] = {}  # noqa: RUF012  msgspec copies it.
    private_metadata: dict[str, Any] = {}  # noqa: RUF012
    created_at: datetime
    updated_at: datetime


class StockMovement(Row, frozen=True, kw_only=True):
    """A change of a count. Immutable: the database rejects updates and deletion."""

    id: UUID
    stock_item_id: UUID
    quantity: int
    reason: str
    note: str | None = None
    actor_kind: str
    actor_id: UUID | None = None
    created_at: datetime


class StockLevel(Row, frozen=True, kw_only=True):
    """The count of a stock item, copied by a trigger, to sort lists."""

    stock_item_id: UUID
    count_on_hand: int


REASONS = ("received", "recounted", "damaged", "returned", "sold", "moved")

stock_locations = table(
    "stock_locations",
    StockLocation,
    key("id"),
    refers("country_id", countries),
    unique("name"),
    index("uq_stock_locations_default", "default", where='"default"', is_unique=True),
)
stock_items = table(
    "stock_items",
    StockItem,
    key("id"),
    refers("stock_location_id", stock_locations),
    refers("variant_id", variants),
    unique("variant_id", "stock_location_id"),
    index("ix_stock_items_stock_location_id", "stock_location_id", "id"),
    check("on_hand_or_backorderable", "count_on_hand >= 0 or backorderable"),
    fill_factor=70,
)
stock_levels = table(
    "stock_levels",
    StockLevel,
    key("stock_item_id"),
    refers("stock_item_id", stock_items, on_delete="cascade"),
    index("ix_stock_levels_count_on_hand", "count_on_hand", "stock_item_id"),
)
stock_movements = table(
    "stock_movements",
    StockMovement,
    key("id"),
    refers("stock_item_id", stock_items),
    index("ix_stock_movements_stock_item_id", "stock_item_id", "id"),
    index("ix_stock_movements_created_at", "created_at", "id"),
    index("ix_stock_movements_note", "note", where="reason in ('sold', 'returned')"),
    check("quantity_is_something", "quantity <> 0"),
)
