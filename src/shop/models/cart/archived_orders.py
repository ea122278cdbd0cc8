"""Orders whose rows are in the archive, and the progress of archiving."""

from datetime import datetime
from uuid import UUID

from shop.db.rows import Row, check, expression_index, index, key, refers, table
from shop.models.access.users import users
from shop.models.cart.orders import customer_of


class ArchivedOrder(Row, frozen=True, kw_only=True):
    """What remains in the database of an archived order. Amounts are in minor units of `currency`."""

    id: UUID
    number: str
    user_id: UUID | None = None
    email: str | None = None
    currency: str
    item_count: int = 0
    item_total: int = 0
    total: int = 0
    refunded: int = 0
    payment_state: str | None = None
    shipment_state: str | None = None
    created_at: datetime
    updated_at: datetime
    completed_at: datetime
    canceled_at: datetime | None = None
    object_name: str
    """The object with its rows, among those of other orders."""
    position: int
    """Where it begins in the object, in bytes."""
    size: int
    encryption_key: bytes
    """The only copy of the key of its rows: without it, nobody can read them."""
    archived_at: datetime


class ArchiveState(Row, frozen=True, kw_only=True):
    """How far the archiving of orders is, in one row."""

    id: int = 1
    completed_at: datetime | None = None
    """When the last order that was examined was completed; None to begin with the oldest."""
    order_id: UUID | None = None
    leased_until: datetime | None = None
    """Until when one process archives orders."""


archived_orders = table(
    "archived_orders",
    ArchivedOrder,
    key("id"),
    refers("user_id", users),
    # Not unique: a later order may get the number of an archived one.
    index("ix_archived_orders_number", "number"),
    index("ix_archived_orders_completed_at", "completed_at", "id"),
    index("ix_archived_orders_user_id", "user_id", "completed_at", where="user_id is not null"),
    expression_index("ix_archived_orders_customer", customer_of("email"), where="email is not null"),
    check("position_not_negative", '"position" >= 0 and size > 0'),
)
archive_states = table("archive_states", ArchiveState, key("id"), check("only_one", "id = 1"))
