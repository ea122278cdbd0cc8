"""Bounds on metadata: the free-form JSON objects that callers store with a record."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import msgspec

METADATA = ("public_metadata", "private_metadata")
MAX_METADATA_BYTES = 16 * 1024
"""The size limit of one object, as compact JSON in UTF-8."""
MAX_CART_METADATA_BYTES = 512 * 1024
"""The size limit of the metadata of all line items of a cart, because reading a cart loads all of it into memory."""
METADATA_ERROR = f"must be an object of at most {MAX_METADATA_BYTES} bytes as JSON"
CART_METADATA_ERROR = f"the metadata of all line items of a cart may have at most {MAX_CART_METADATA_BYTES} bytes"


def is_metadata(value: Any) -> bool:
    return isinstance(value, dict) and metadata_bytes(value) <= MAX_METADATA_BYTES


def metadata_bytes(value: Any) -> int:
    """Returns the size of an object as JSON, with numbers as PostgreSQL writes them: `1e308` has 309 digits."""
    if isinstance(value, msgspec.Raw):
        value = msgspec.json.decode(value)
    return len(msgspec.json.encode(value)) + _extra_digits(value) if value else 0


def cart_metadata_bytes(lines: Iterable[Any]) -> int:
    """Returns the metadata size of all line items of a cart."""
    return sum(metadata_bytes(getattr(line, name)) for line in lines for name in METADATA)


def _extra_digits(value: Any) -> int:
    """Returns the extra bytes of a value's numbers when written without an exponent."""
    if isinstance(value, float):
        text = msgspec.json.encode(value).decode()
        return len(f"{Decimal(text):f}") - len(text) if "e" in text else 0
    if isinstance(value, dict):
        return sum(map(_extra_digits, value.values()))
    return sum(map(_extra_digits, value)) if isinstance(value, list) else 0
