"""Addresses of customers and orders."""

from datetime import datetime
from typing import Any
from uuid import UUID

from shop.db.rows import Row, index, key, refers, table
from shop.models.access.users import users
from shop.models.setup.countries import countries, states


class Address(Row, frozen=True, kw_only=True):
    """An address as entered. An address of a completed order is never changed; an edit inserts a new row."""

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


class AddressWithCountry(Address, frozen=True, kw_only=True):
    """An address with its country and state."""

    country_name: str
    country_iso: str
    country_iso3: str
    state_code: str | None = None


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
