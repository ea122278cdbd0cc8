"""The timelines of orders and customers."""

from datetime import datetime
from typing import Any
from uuid import UUID

from shop.db.rows import Row, check, index, key, refers, table
from shop.models.access.users import users
from shop.models.cart.orders import orders


class TimelineRow(Row, frozen=True, kw_only=True):
    """An event of an order or customer, stored with it for as long as it exists; it contains no personal data."""

    id: UUID
    """The id of the event."""
    order_id: UUID | None = None
    user_id: UUID | None = None
    at: datetime
    ordinal: int = 0
    type: str
    actor_kind: str
    actor_id: UUID | None = None
    facts: dict[str, Any] = {}  # noqa: RUF012  msgspec copies it.
    """What its sentence says, such as numbers and amounts."""


timeline_entries = table(
    "timeline_entries",
    TimelineRow,
    key("id"),
    refers("order_id", orders, on_delete="cascade"),
    refers("user_id", users, on_delete="cascade"),
    check("has_one_owner", "num_nonnulls(order_id, user_id) = 1"),
    index("ix_timeline_entries_order_id", "order_id", "at", where="order_id is not null"),
    index("ix_timeline_entries_user_id", "user_id", "at", where="user_id is not null"),
)
