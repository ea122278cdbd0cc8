"""The line items that refunds are for."""

from datetime import datetime
from uuid import UUID

from shop.db.rows import Row, check, index, key, refers, table
from shop.models.cart.orders import line_items, orders
from shop.models.checkout.payments import refunds


class RefundItem(Row, frozen=True, kw_only=True):
    """Units of a line item that were refunded. The amount is in minor units of the order's currency."""

    id: UUID
    order_id: UUID
    refund_id: UUID
    """The refund; the first one of its group if several payments of the order are refunded together."""
    line_item_id: UUID | None = None
    """None if the line item was removed since."""
    quantity: int
    amount: int
    is_restocked: bool = False
    """Whether the units return to the stock when the money is returned."""
    stock_location_id: UUID | None = None
    """The stock location that sent them, and to which they return. It exists as long as the shipment. None for units
    that returned before locations were stored.
    """
    restocked_at: datetime | None = None
    created_at: datetime


refund_items = table(
    "refund_items",
    RefundItem,
    key("id"),
    refers("order_id", orders, on_delete="cascade"),
    refers("refund_id", refunds, on_delete="cascade"),
    refers("line_item_id", line_items, on_delete="set null"),
    index("ix_refund_items_order_id", "order_id"),
    index("ix_refund_items_refund_id", "refund_id"),
    index("ix_refund_items_line_item_id", "line_item_id", where="line_item_id is not null"),
    check("quantity_is_positive", "quantity > 0 and amount >= 0"),
)
