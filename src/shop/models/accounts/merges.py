"""Merges of accounts that move orders, and the addresses of accounts that were merged into others."""

from datetime import datetime
from uuid import UUID

from shop.db.rows import Row, index, key, refers, table, unique
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


class CustomerMerge(Row, frozen=True, kw_only=True):
    """A merge whose orders are still moving; deleted after the last one."""

    id: UUID
    duplicate_id: UUID
    survivor_id: UUID
    order_count: int
    """How many orders, carts and drafts the duplicate had."""
    moved_count: int = 0
    created_at: datetime


customer_merges = table(
    "customer_merges",
    CustomerMerge,
    key("id"),
    # Neither account can be deleted meanwhile.
    refers("duplicate_id", users),
    refers("survivor_id", users),
    unique("duplicate_id"),
    index("ix_customer_merges_survivor_id", "survivor_id"),
)
