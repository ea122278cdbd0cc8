"""How a body's wrapped object is read: `{"user": {...}}`, `{"address": {...}}`."""

from collections.abc import Mapping
from typing import Any

from shop.base.email import Email, read_email
from shop.base.errors import Invalid, Malformed
from shop.web.request import Request


def wrapped(request: Request, name: str) -> Mapping[str, Any]:
    value = request.params.get(name)
    if not isinstance(value, dict):
        raise Malformed(f'The body must have an object "{name}".')
    return value


def email_of(fields: Mapping[str, Any]) -> Email:
    text = fields.get("email")
    email = read_email(text) if isinstance(text, str) else None
    if email is None:
        raise Invalid({"email": ["must be one e-mail address"]})
    return email
