"""Drafts and their discounts; the order itself, its lines and its totals are in the tables of orders."""

from datetime import datetime
from uuid import UUID

from shop.db.rows import Row, check, index, key, refers, table
from shop.models.cart.orders import line_items, orders

KINDS = ("percent", "amount")


class Draft(Row, frozen=True, kw_only=True):
    """An order that an operator prepares; the row is deleted when the order is placed."""

    order_id: UUID
    created_at: datetime


class DraftDiscount(Row, frozen=True, kw_only=True):
    """A discount on a line item, or on the whole order; the amount of a percentage follows the draft."""

    id: UUID
    order_id: UUID
    line_item_id: UUID | None = None
    """None for the whole order."""
    kind: str
    value: int
    """Hundredths of a percent, or minor units of the order's currency."""
    reason: str
    created_at: datetime


drafts = table(
    "drafts",
    Draft,
    key("order_id"),
    refers("order_id", orders, on_delete="cascade"),
    index("ix_drafts_created_at", "created_at", "order_id"),
)
draft_discounts = table(
    "draft_discounts",
    DraftDiscount,
    key("id"),
    refers("order_id", orders, on_delete="cascade"),
    refers("line_item_id", line_items, on_delete="cascade"),
    index("ix_draft_discounts_order_id", "order_id", "id"),
    index("ix_draft_discounts_line_item_id", "line_item_id", where="line_item_id is not null"),
    check("kind_is_known", "kind in ('percent', 'amount')"),
    check("value_is_something", "value > 0"),
)
