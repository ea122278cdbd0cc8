"""Deliveries of suppliers and transfers between stock locations, with their lines."""

from datetime import date, datetime
from uuid import UUID

from shop.db.rows import Row, check, index, key, refers, table, unique
from shop.models.catalog.products import variants
from shop.models.catalog.stock import stock_locations


class StockDelivery(Row, frozen=True, kw_only=True):
    """Goods on their way to a stock location: from a supplier or, for a transfer, from another location."""

    id: UUID
    reference: str
    stock_location_id: UUID
    source_location_id: UUID | None = None
    """The location that a transfer leaves."""
    expected_on: date | None = None
    state: str = "open"
    """`draft`: a transfer that was not sent; `open`: goods are expected; `received` or `canceled`: it has ended."""
    version: int = 0
    """Incremented with every change, to detect forms that show an older state."""
    created_at: datetime
    updated_at: datetime

    @property
    def is_transfer(self) -> bool:
        return self.source_location_id is not None

    @property
    def can_change_lines(self) -> bool:
        """A transfer that was sent has left its location, with what its lines say."""
        return self.state == "draft" or (self.state == "open" and not self.is_transfer)


class StockDeliveryLine(Row, frozen=True, kw_only=True):
    """The quantity of a variant that is expected, and the part of it that has arrived."""

    id: UUID
    delivery_id: UUID
    variant_id: UUID
    quantity: int
    received_quantity: int = 0
    created_at: datetime
    updated_at: datetime

    @property
    def remaining(self) -> int:
        return max(self.quantity - self.received_quantity, 0)


stock_deliveries = table(
    "stock_deliveries",
    StockDelivery,
    key("id"),
    refers("stock_location_id", stock_locations),
    refers("source_location_id", stock_locations),
    index("ix_stock_deliveries_state", "state", "expected_on", "id"),
    index("ix_stock_deliveries_stock_location_id", "stock_location_id"),
    index("ix_stock_deliveries_source_location_id", "source_location_id", where="source_location_id is not null"),
    check("state_is_known", "state in ('draft', 'open', 'received', 'canceled')"),
    check("locations_differ", "source_location_id <> stock_location_id"),
)
stock_delivery_lines = table(
    "stock_delivery_lines",
    StockDeliveryLine,
    key("id"),
    refers("delivery_id", stock_deliveries, on_delete="cascade"),
    refers("variant_id", variants),
    unique("delivery_id", "variant_id"),
    index("ix_stock_delivery_lines_variant_id", "variant_id", "delivery_id"),
    check("quantity_is_positive", "quantity > 0"),
    check("received_is_not_negative", "received_quantity >= 0"),
)
