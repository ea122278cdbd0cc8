"""How a body's wrapped object is read: `{"user": {...}}`, `{"address": {...}}`."""

from collections.abc import Mapping
from typing import Any

from shop.base.errors import Malformed


def wrapped(params: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = params.get(name)
    if not isinstance(value, dict):
        raise Malformed(f'The body must have an object "{name}".')
    return value
