"""Reads input values: one rule for each type, wherever a value comes from. JSON has types; forms and queries have text.

Each function raises ValueError with a message that completes a sentence starting with the field's name.
"""

import re
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from shop.base.email import read_email
from shop.base.ids import as_uuid
from shop.base.texts import is_line, is_prose
from shop.base.times import parse_time

REQUIRED = "is required"
EMPTY = "cannot be empty"
NOT_BOOLEAN = "must be true or false"
NOT_INTEGER = "must be a whole number"
NOT_DECIMAL = "must be a decimal number like 19.99"
NOT_TIME = "must be a time like 2026-01-31T12:00:00Z"
NOT_ID = "must be an id"
NOT_EMAIL = "must be one e-mail address"
MAX_LINE_LENGTH = 255
MAX_TEXT_LENGTH = 5_000
NO_RECORD = UUID(int=0)
"""An id that no record has."""
_BOOLEANS = {
    **dict.fromkeys(("true", "t", "1", "yes", "on"), True),
    **dict.fromkeys(("false", "f", "0", "no", "off"), False),
}
_INTEGER = re.compile(r"-?[0-9]{1,18}", re.ASCII)
# Without exponents, so that a short text cannot stand for millions of digits.
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)", re.ASCII)
_DECIMAL_DIGITS = 28
"""The numbers that can be processed without rounding."""


def read_boolean(value: object) -> bool:
    """Reads true, t, 1, yes, on and their opposites, in any case."""
    if isinstance(value, bool):
        return value
    flag = _BOOLEANS.get(str(value).lower()) if isinstance(value, str | int) else None
    if flag is None:
        raise ValueError(NOT_BOOLEAN)
    return flag


def read_integer(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63:
        return value
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return int(value)
    raise ValueError(NOT_INTEGER)


def read_decimal(value: object) -> Decimal:
    text = str(value).strip() if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
    # Integers are shown with `.0`, and clients may send back what they read.
    if len(text.removesuffix(".0")) > _DECIMAL_DIGITS or not _DECIMAL.fullmatch(text):
        raise ValueError(NOT_DECIMAL)
    return Decimal(text)


def read_time(value: object) -> datetime:
    """Reads an ISO 8601 time; one without a time zone is UTC."""
    try:
        return parse_time(value if isinstance(value, str) else "")
    except ValueError:
        raise ValueError(NOT_TIME) from None


def read_id(value: object) -> UUID:
    """Reads a UUID in its canonical form."""
    record_id = as_uuid(value)
    if record_id is None:
        raise ValueError(NOT_ID)
    return record_id


def read_lookup_id(value: object) -> UUID:
    """Reads the id of a record to look up; a malformed id matches no record."""
    return as_uuid(value) or NO_RECORD


def read_key(value: object) -> str:
    """Reads a text to look up; anything that is not text matches nothing."""
    return value if isinstance(value, str) else ""


def read_text(value: object, longest: int = MAX_TEXT_LENGTH) -> str:
    """Reads text of one or more lines."""
    if not isinstance(value, str) or len(value) > longest or not is_prose(value):
        raise ValueError(f"must be text of at most {longest} characters")
    return value


def read_line(value: object, longest: int = MAX_LINE_LENGTH) -> str:
    if not isinstance(value, str) or len(value) > longest or not is_line(value):
        raise ValueError(f"must be one line of at most {longest} characters")
    return value


def read_email_address(value: object) -> str:
    """Reads a deliverable e-mail address, with its local part as entered."""
    email = read_email(value.strip(" ")) if isinstance(value, str) else None
    if email is None:
        raise ValueError(NOT_EMAIL)
    return email.address
