"""Erasures of the personal data of customers."""

from datetime import datetime
from uuid import UUID

from shop.db.rows import Row, check, index, key, refers, table, unique
from shop.models.access.users import users


class Erasure(Row, frozen=True, kw_only=True):
    """An erasure, with how far it is: the orders of a customer are erased in batches."""

    id: UUID
    user_id: UUID
    email: str | None = None
    """The address by which the orders of guests are found, in lowercase; deleted when the erasure ends."""
    last_order_id: UUID | None = None
    """The last erased order of the account."""
    order_count: int = 0
    created_at: datetime
    ended_at: datetime | None = None


erasures = table(
    "erasures",
    Erasure,
    key("id"),
    refers("user_id", users, on_delete="cascade"),
    unique("user_id"),
    index("ix_erasures_unfinished", "created_at", where="ended_at is null"),
    check("forgets_the_address", "(email is null) = (ended_at is not null)"),
)
