"""Addresses of accounts that were merged into others."""

from datetime import datetime
from uuid import UUID

from shop.db.rows import Row, key, refers, table, unique
from shop.models.access.users import users


class MergedAddress(Row, frozen=True, kw_only=True):
    """The address of a closed account, by which the orders of guests belong to the account that it was merged into."""

    id: UUID
    user_id: UUID
    """The account that remains."""
    email_key: str
    """In lowercase."""
    created_at: datetime


merged_addresses = table(
    "merged_addresses",
    MergedAddress,
    key("id"),
    refers("user_id", users, on_delete="cascade"),
    unique("user_id", "email_key"),
)
