"""Masks contact data for readers who have a link but have not signed in."""

from collections.abc import Mapping


def mask_email(email: str) -> str:
    """Returns an address like `a***@example.com`; the length of the local part stays hidden."""
    local_part, _, domain = email.rpartition("@")
    return f"{local_part[:1]}***@{domain}"


def masked_address_lines(fields: Mapping[str, str | None]) -> list[str]:
    """Returns the city and the country of an address; not the name, the street, the postal code or the phone."""
    state = fields.get("state_code") or fields.get("state_name")
    place = ", ".join(filter(None, [fields.get("city"), state]))
    return [*filter(None, [place, fields.get("country_name")])]
