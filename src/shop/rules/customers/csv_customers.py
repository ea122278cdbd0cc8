"""The rows of a customer file: a customer with the default address. An empty cell changes nothing."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from shop.models.access.users import User
from shop.models.customers.addresses import AddressWithCountry
from shop.models.customers.inputs import AddressInput
from shop.rules.imports.csv_columns import CUSTOMER_COLUMNS

ADDRESS_FIELDS = {
    "address_first_name": "firstname",
    "address_last_name": "lastname",
    "company": "company",
    "address1": "address1",
    "address2": "address2",
    "city": "city",
    "state": "state_name",
    "zipcode": "zipcode",
    "country": "country_iso",
    "address_phone": "phone",
}
"""The fields of an address by their columns."""
_COLUMNS = {field: column for column, field in ADDRESS_FIELDS.items()}
_TEXTS = ("first_name", "last_name", "phone", "note")


class CustomerRow(msgspec.Struct, frozen=True):
    """A customer as in a file: only cells that are not empty."""

    email: str
    email_key: str
    texts: Mapping[str, str] = {}
    tags: Sequence[str] | None = None
    address: Mapping[str, str] = {}
    """By field of an address."""


def customer_cells(user: User, address: AddressWithCountry | None) -> list[str]:
    """Returns the cells of an exported customer."""
    cells = {name: getattr(user, name) or "" for name in ("email", *_TEXTS)}
    cells["tags"] = ", ".join(user.tags)
    if address:
        fields = _address_texts(address)
        cells |= {column: fields[field] for column, field in ADDRESS_FIELDS.items()}
    return [cells.get(column, "") for column in CUSTOMER_COLUMNS]


def changed_details(row: CustomerRow, user: User) -> dict[str, str]:
    """Returns the texts that differ from those of the customer."""
    return {name: text for name, text in row.texts.items() if text != (getattr(user, name) or "").strip()}


def new_address(row: CustomerRow, user: User) -> AddressInput | None:
    """Returns the address of a customer who has none, by default with the customer's names."""
    if not row.address:
        return None
    names = {"firstname": user.first_name, "lastname": user.last_name}
    return replace(AddressInput(), **{**names, **row.address})


def changed_address(row: CustomerRow, address: AddressWithCountry) -> AddressInput | None:
    """Returns the fields that differ from those of the default address; None if there are none."""
    fields = _address_texts(address)
    changes = {name: text for name, text in row.address.items() if text != fields[name].strip()}
    if changes.get("country_iso", "").upper() in (address.country_iso, address.country_iso3):
        del changes["country_iso"]
    if "country_iso" in changes:
        # The state belongs to the country.
        changes |= {name: text for name, text in row.address.items() if name == "state_name"}
    elif changes.get("state_name", "").casefold() in {fields["state_name"].casefold(), _name_state(address)}:
        changes.pop("state_name", None)
    return replace(AddressInput(), **changes) if changes else None


def name_columns(errors: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Returns the errors of an address by the columns of the file."""
    return {_COLUMNS.get(name, name): list(sentences) for name, sentences in errors.items()}


def _address_texts(address: AddressWithCountry) -> dict[str, str]:
    fields = {field: getattr(address, field) or "" for field in ADDRESS_FIELDS.values()}
    return {**fields, "state_name": address.state_code or address.state_name or ""}


def _name_state(address: AddressWithCountry) -> str:
    return (address.state_name or "").casefold()
