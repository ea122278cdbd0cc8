"""Parses form values: numbers, amounts, comma-separated words and pasted lines.

Invalid input raises ValueError with a message that completes a sentence starting with the field's name.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from hashlib import sha256

import msgspec

from shop.base.email import read_email
from shop.base.money import currency_digits, minor_units
from shop.base.texts import fold_text
from shop.base.values import NOT_INTEGER, read_decimal, read_integer

AND = " & "
"""Joins the words of a text search query."""
_WORDS = re.compile(r"[^\s'\\]+")
MAX_LINES = 1000


def read_number(text: str) -> Decimal:
    """Parses a number without a sign, with at most ten decimals."""
    with suppress(ValueError):
        number = read_decimal(text)
        if not number.is_signed() and number < 10**20 and int(number.as_tuple().exponent) >= -10:
            return number
    raise ValueError("must be a number like 19.99")


def read_amount(text: str, currency: str) -> Decimal:
    """Parses a price: not negative, with at most the currency's number of decimals."""
    amount = read_number(text)
    minor_units(amount, currency)
    return amount


def read_whole(text: str, least: int = -(10**9)) -> int:
    number = read_integer(text)
    if abs(number) >= 10**9:
        raise ValueError(NOT_INTEGER)
    if number < least:
        raise ValueError(f"must be {least} or more")
    return number


def amount_text(minor: int | None, currency: str) -> str:
    """Formats an amount for a form field: `1999` US cents as `19.99`."""
    if minor is None:
        return ""
    digits = currency_digits(currency)
    return f"{Decimal(minor).scaleb(-digits):.{digits}f}"


def number_text(value: Decimal | None) -> str:
    """Formats a number for a form field, without zeros at the end of its decimals."""
    return "" if value is None else f"{value.normalize():f}"


def split_words(text: str) -> list[str]:
    """Splits `Red, dark green,, red` into `Red` and `dark green`; drops duplicates regardless of case."""
    words: dict[str, str] = {}
    for part in re.split(r"[,\n]", text):
        word = " ".join(part.split())
        if word:
            words.setdefault(word.casefold(), word)
    return list(words.values())


def prefix_query(text: str) -> str:
    """Returns a PostgreSQL text search query that matches all these words as prefixes."""
    return AND.join(f"'{word}':*" for word in _WORDS.findall(fold_text(text)))


class PriceListLine(msgspec.Struct, frozen=True):
    """One line of a pasted price list; `number` is the line number for error messages."""

    number: int
    sku: str
    min_quantity: int
    amount: Decimal


def read_entries(text: str, currency: str) -> tuple[list[PriceListLine], list[str]]:
    """Parses lines of `sku,min quantity,amount`, where the quantity is optional; returns lines and error messages."""
    lines: list[PriceListLine] = []
    errors: list[str] = []
    for number, line_text in _numbered_lines(text):
        parts = [part.strip() for part in re.split(r"[,;\t]", line_text)]
        if len(parts) == 2:
            parts.insert(1, "1")
        try:
            if len(parts) != 3 or not parts[0]:
                raise ValueError("needs a SKU, from quantity and price, for example MUG-RED,10,17.50")
            least = read_whole(parts[1], 1)
            lines.append(PriceListLine(number, parts[0], least, read_amount(parts[2], currency)))
        except ValueError as error:
            errors.append(f"Line {number} ({line_text[:60]}) {error}.")
    return lines, errors + _duplicate_errors(lines)


def read_addresses(text: str) -> tuple[list[str], list[str]]:
    """Parses lines of e-mail addresses; returns their keys and error messages."""
    keys: dict[str, None] = {}
    errors: list[str] = []
    for number, line_text in _numbered_lines(text.replace(",", "\n").replace(";", "\n")):
        email = read_email(line_text)
        if email is None:
            errors.append(f"Line {number} ({line_text[:60]}) is not an e-mail address.")
        else:
            keys[email.key] = None
    return list(keys), errors


def too_many(lines: Sequence[object]) -> list[str]:
    return [f"Enter at most {MAX_LINES} lines at once, not {len(lines)}."] if len(lines) > MAX_LINES else []


def fingerprint(values: Mapping[str, object]) -> str:
    """Returns a digest of the values that a form shows, to detect concurrent changes."""
    return sha256(msgspec.json.encode(values, order="sorted")).hexdigest()[:32]


def _numbered_lines(text: str) -> list[tuple[int, str]]:
    return [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]


def _duplicate_errors(lines: Sequence[PriceListLine]) -> list[str]:
    first_numbers: dict[tuple[str, int], int] = {}
    errors = []
    for line in lines:
        first = first_numbers.setdefault((line.sku, line.min_quantity), line.number)
        if first != line.number:
            errors.append(f"Line {line.number} ({line.sku}) repeats the variant and quantity of line {first}.")
    return errors
