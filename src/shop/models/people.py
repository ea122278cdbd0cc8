"""Who shops here, where they live, and which countries and states there are."""

from datetime import datetime
from typing import Any
from uuid import UUID

from shop.db.rows import Row, index, key, refers, table, unique


class Country(Row, frozen=True, kw_only=True):
    """Rows come by migration, the id from the code: the same in every shop."""

    id: UUID
    iso: str
    iso3: str
    iso_name: str
    name: str
    numcode: int
    states_required: bool = False
    zipcode_required: bool = False
    created_at: datetime
    updated_at: datetime


class State(Row, frozen=True, kw_only=True):
    """A state, province or prefecture, where a country's addresses have one."""

    id: UUID
    country_id: UUID
    abbr: str
    name: str
    created_at: datetime
    updated_at: datetime


class User(Row, frozen=True, kw_only=True):
    """A shopper. `email` is where mail goes, `email_key` who it is; unverified until the first sign-in."""

    id: UUID
    email: str
    email_key: str
    first_name: str | None = None
    last_name: str | None = None
    selected_locale: str | None = None
    public_metadata: dict[str, Any] = {}  # noqa: RUF012  msgspec copies it.
    private_metadata: dict[str, Any] = {}  # noqa: RUF012
    bill_address_id: UUID | None = None
    ship_address_id: UUID | None = None
    verified_at: datetime | None = None
    disabled_at: datetime | None = None
    created_at: datetime
    updated_at: datetime


class AccountUser(User, frozen=True, kw_only=True):
    """A user with what an account shows of them."""

    completed_orders: int
    credits: list[dict[str, Any]]
    """What the shop owes them, by currency, in minor units."""


class Customer(User, frozen=True, kw_only=True):
    """A user with what they have spent: by currency the sum and the average of completed orders, in minor units."""

    spending: list[dict[str, Any]]
    credits: list[dict[str, Any]]
    """What the shop owes them, by currency, in minor units."""


class Address(Row, frozen=True, kw_only=True):
    """As it was typed. One that a completed order uses is never changed: an edit makes a new row."""

    id: UUID
    user_id: UUID | None = None
    firstname: str
    lastname: str
    company: str | None = None
    address1: str
    address2: str | None = None
    city: str | None = None
    zipcode: str | None = None
    state_id: UUID | None = None
    state_name: str | None = None
    country_id: UUID
    phone: str | None = None
    label: str | None = None
    alternative_phone: str | None = None
    public_metadata: dict[str, Any] = {}  # noqa: RUF012
    private_metadata: dict[str, Any] = {}  # noqa: RUF012
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None = None


class CustomerGroup(Row, frozen=True, kw_only=True):
    """Customers who are treated alike: wholesale, staff."""

    id: UUID
    name: str
    description: str | None = None
    created_at: datetime
    updated_at: datetime


class CustomerGroupMember(Row, frozen=True, kw_only=True):
    """A customer in a group."""

    id: UUID
    customer_group_id: UUID
    user_id: UUID
    created_at: datetime
    updated_at: datetime


class PlacedAddress(Address, frozen=True, kw_only=True):
    """An address with the country and state it lies in."""

    country_name: str
    country_iso: str
    country_iso3: str
    state_code: str | None = None


countries = table("countries", Country, key("id"), unique("iso"), unique("iso3"))
states = table("states", State, key("id"), refers("country_id", countries), unique("country_id", "abbr"))
users = table(
    "users",
    User,
    key("id"),
    unique("email_key"),
    index("ix_users_created_at", "created_at", "id"),
    index("ix_users_updated_at", "updated_at", "id"),
    index("ix_users_email", "email"),
    index("ix_users_unverified", "created_at", where="verified_at is null"),
)
addresses = table(
    "addresses",
    Address,
    key("id"),
    refers("user_id", users, on_delete="cascade"),
    refers("country_id", countries),
    refers("state_id", states),
    index("ix_addresses_user_id", "user_id", "created_at", where="deleted_at is null"),
    index("ix_addresses_created_at", "created_at", "id"),
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
