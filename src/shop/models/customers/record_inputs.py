"""Input of customers' records: the fields that an application may set, each of them optional."""

from typing import Any, TypedDict
from uuid import UUID


class UserInput(TypedDict, total=False):
    """A user; the default addresses are the user's own."""

    email: str
    first_name: str | None
    last_name: str | None
    selected_locale: str | None
    bill_address_id: UUID | None
    ship_address_id: UUID | None
    public_metadata: dict[str, Any]
    private_metadata: dict[str, Any]


class CustomerInput(UserInput, total=False):
    """A user with the fields that only operators set."""

    phone: str | None
    note: str | None
    tags: list[str]


class AddressRecordInput(TypedDict, total=False):
    """An address; the country by id or code, the state by id, name or code."""

    firstname: str
    lastname: str
    address1: str
    address2: str | None
    city: str | None
    zipcode: str | None
    phone: str | None
    state_name: str | None
    alternative_phone: str | None
    company: str | None
    label: str | None
    country_id: UUID
    state_id: UUID | None
    user_id: UUID | None
    public_metadata: dict[str, Any]
    private_metadata: dict[str, Any]
    country_iso: str
    state_code: str
