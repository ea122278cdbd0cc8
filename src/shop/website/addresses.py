"""Address forms: the fields of a country, with the values to show in them."""

from collections.abc import Mapping, Sequence

import msgspec

from shop.actions.context import Context
from shop.actions.setup import shop as setup
from shop.base.errors import NotFound
from shop.models.customers.addresses import AddressWithCountry
from shop.rules.customers.address_formats import AddressFormat, address_format

NAMES = (
    "firstname",
    "lastname",
    "company",
    "address1",
    "address2",
    "city",
    "zipcode",
    "state_name",
    "country_iso",
    "phone",
)

# The API writes for developers.
_SENTENCES = {
    "is required for this country": "is required",
    "is not one of this country": "is not valid in this country",
}


class AddressForm(msgspec.Struct, frozen=True):
    """The arguments of the macro `fields` in `address.html`."""

    prefix: str
    format: AddressFormat
    values: Mapping[str, str]
    countries: Sequence[tuple[str, str]]
    states: Sequence[tuple[str, str]]

    @property
    def labels(self) -> dict[str, str]:
        """The labels by the names that errors have."""
        before = f"{self.prefix}." if self.prefix else ""
        return {f"{before}{name}": label for name, label in self.format.labels.items()}


async def load_address_form(
    ctx: Context, prefix: str, values: Mapping[str, str], *, is_shippable: bool = False
) -> AddressForm:
    """Loads the form for the country in `values`, or for the shop's own; `is_shippable` limits the countries to those
    that a shipping method reaches.
    """
    rows = await setup.list_countries(ctx, is_shippable=is_shippable)
    countries = [(country.iso, country.name) for country in rows]
    iso = _choose_country(values.get("country_iso", ""), ctx.shared.shop.default_country, [iso for iso, _ in countries])
    try:
        _, rows_of_states = await setup.get_country(ctx, iso)
    except NotFound:
        rows_of_states = []
    states = [(state.abbr, state.name) for state in rows_of_states]
    shown_values = {**values, "country_iso": iso, "state_name": _match_state(values.get("state_name", ""), states)}
    return AddressForm(prefix, address_format(iso), shown_values, countries, states)


def _choose_country(chosen: str, default: str, available: Sequence[str]) -> str:
    """Returns the first of both that is available; else the first available one."""
    return next((iso for iso in (chosen.upper(), default) if iso in available), available[0] if available else default)


def _match_state(text: str, states: Sequence[tuple[str, str]]) -> str:
    """Returns the code of a state given by code or name; other text as it is."""
    return next((code for code, name in states if text.casefold() in {code.casefold(), name.casefold()}), text)


def read_address(fields: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Returns the submitted values of one address by field name."""
    before = f"{prefix}." if prefix else ""
    return {name: fields[f"{before}{name}"] for name in NAMES if f"{before}{name}" in fields}


def describe_errors(errors: Mapping[str, Sequence[str]], names: Sequence[str]) -> dict[str, list[str]]:
    """Returns the errors in the order of the fields, in words for shoppers."""
    order = [*(name for name in names if name in errors), *(name for name in errors if name not in names)]
    return {name: [_SENTENCES.get(text, text) for text in errors[name]] for name in order}


def address_values(address: AddressWithCountry) -> dict[str, str]:
    """Returns the values of a stored address by field name."""
    values = {name: getattr(address, name, None) for name in NAMES}
    values["state_name"] = address.state_code or address.state_name
    return {name: value for name, value in values.items() if value}
