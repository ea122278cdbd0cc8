"""Users of the storefront, and customer groups."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Column
from sqlalchemy.dialects.postgresql import TSVECTOR

from shop.db.rows import Row, index, key, refers, search_index, table, unique


class User(Row, frozen=True, kw_only=True):
    """A user. `email` is the delivery address, `email_key` the identity; unverified until the first sign-in."""

    id: UUID
    email: str
    email_key: str
    first_name: str | None = None
    last_name: str | None = None
    selected_locale: str | None = None
    phone: str | None = None
    note: str | None = None
    """What operators wrote about the customer, who does not see it."""
    tags: list[str] = []  # noqa: RUF012  msgspec copies it.
    """Words with which operators mark the customer."""
    public_metadata: dict[str, Any] = {}  # noqa: RUF012  msgspec copies it.
    private_metadata: dict[str, Any] = {}  # noqa: RUF012
    bill_address_id: UUID | None = None
    ship_address_id: UUID | None = None
    verified_at: datetime | None = None
    disabled_at: datetime | None = None
    erased_at: datetime | None = None
    """When the personal data of the account was erased; what remains belongs to no person."""
    merged_into_id: UUID | None = None
    """The account that has the orders and the credit of this one, if it was closed as a duplicate."""
    created_at: datetime
    updated_at: datetime

    @property
    def full_name(self) -> str:
        """The names that are known."""
        return " ".join(name for name in (self.first_name, self.last_name) if name)


class AccountUser(User, frozen=True, kw_only=True):
    """A user with the additional fields of an account."""

    completed_orders: int
    credits: list[dict[str, Any]]
    """Store credit balances by currency, in minor units."""


class Customer(User, frozen=True, kw_only=True):
    """A user with the sum and average of completed orders by currency, in minor units."""

    spending: list[dict[str, Any]]
    credits: list[dict[str, Any]]
    """Store credit balances by currency, in minor units."""


class CustomerLookup(Row, frozen=True, kw_only=True):
    """The words by which the dashboard finds a customer; filled by triggers on users and their addresses."""

    user_id: UUID


class CustomerGroup(Row, frozen=True, kw_only=True):
    """A group of customers, such as wholesale or staff."""

    id: UUID
    name: str
    description: str | None = None
    created_at: datetime
    updated_at: datetime


class CustomerGroupMember(Row, frozen=True, kw_only=True):
    """The membership of a customer in a group."""

    id: UUID
    customer_group_id: UUID
    user_id: UUID
    created_at: datetime
    updated_at: datetime


users = table(
    "users",
    User,
    key("id"),
    unique("email_key"),
    index("ix_users_created_at", "created_at", "id"),
    index("ix_users_updated_at", "updated_at", "id"),
    index("ix_users_email", "email"),
    index("ix_users_unverified", "created_at", where="verified_at is null"),
    index("ix_users_disabled", "created_at", "id", where="disabled_at is not null"),
    search_index("ix_users_tags", "tags"),
    index("ix_users_tagged", "created_at", where="tags <> '{}'"),
)
customer_lookups = table(
    "customer_lookups",
    CustomerLookup,
    Column("search", TSVECTOR(), nullable=False),
    key("user_id"),
    refers("user_id", users, on_delete="cascade"),
    search_index("ix_customer_lookups_search", "search"),
)


customer_groups = table("customer_groups", CustomerGroup, key("id"), unique("name"))


customer_group_members = table(
    "customer_group_members",
    CustomerGroupMember,
    key("id"),
    refers("customer_group_id", customer_groups, on_delete="cascade"),
    refers("user_id", users, on_delete="cascade"),
    unique("user_id", "customer_group_id"),
    index("ix_customer_group_members_customer_group_id", "customer_group_id"),
)
