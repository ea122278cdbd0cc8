"""What people type into forms, read: numbers, amounts, words between commas, lines that were pasted.

What cannot be read is a ValueError with the end of a sentence that begins with the field's name.
"""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from hashlib import sha256

import msgspec

from shop.base.email import read_email
from shop.base.money import currency_digits, minor_units
from shop.base.texts import folded

_NUMBER = re.compile(r"[0-9]{1,20}(?:\.[0-9]{0,10})?|\.[0-9]{1,10}", re.ASCII)
_WHOLE = re.compile(r"-?[0-9]{1,9}", re.ASCII)
_WORDS = re.compile(r"[^\s'\\]+")
MOST_LINES = 1000


def read_number(text: str) -> Decimal:
    if not _NUMBER.fullmatch(text):
        raise ValueError("must be a number like 19.99")
    return Decimal(text)


def read_amount(text: str, currency: str) -> Decimal:
    """A price in a currency: not negative, and with no more digits than it has."""
    amount = read_number(text)
    minor_units(amount, currency)
    return amount


def read_whole(text: str, least: int = -(10**9)) -> int:
    if not _WHOLE.fullmatch(text):
        raise ValueError("must be a whole number")
    if int(text) < least:
        raise ValueError(f"must be {least} or more")
    return int(text)


def amount_text(minor: int | None, currency: str) -> str:
    """An amount as it is typed: `1999` US cents as `19.99`."""
    if minor is None:
        return ""
    digits = currency_digits(currency)
    return f"{Decimal(minor).scaleb(-digits):.{digits}f}"


def between_commas(text: str) -> list[str]:
    """`Red, dark green,, red` as `Red` and `dark green`: each once, whatever its capitals."""
    found: dict[str, str] = {}
    for part in re.split(r"[,\n]", text):
        word = " ".join(part.split())
        if word:
            found.setdefault(word.casefold(), word)
    return list(found.values())


def prefix_query(text: str) -> str:
    """For the database's text search: all of these words, each as the beginning of one."""
    return " & ".join(f"'{word}':*" for word in _WORDS.findall(folded(text)))


class Line(msgspec.Struct, frozen=True):
    """One line of a list of prices: which variant, from how many on, how much; its number for who is told of it."""

    number: int
    sku: str
    min_quantity: int
    amount: Decimal


def read_entries(text: str, currency: str) -> tuple[list[Line], list[str]]:
    """Lines of `sku,min quantity,amount`, the quantity left out or not; and what is wrong, a sentence each."""
    lines: list[Line] = []
    wrong: list[str] = []
    for number, said in _numbered(text):
        parts = [part.strip() for part in re.split(r"[,;\t]", said)]
        if len(parts) == 2:
            parts.insert(1, "1")
        try:
            if len(parts) != 3 or not parts[0]:
                raise ValueError("must be sku,min quantity,amount")
            least = read_whole(parts[1], 1)
            lines.append(Line(number, parts[0], least, read_amount(parts[2], currency)))
        except ValueError as error:
            wrong.append(f"Line {number} ({said[:60]}) {error}.")
    return lines, wrong + _repeated(lines)


def read_addresses(text: str) -> tuple[list[str], list[str]]:
    """Lines of e-mail addresses as the keys of their owners; and what is wrong, a sentence each."""
    keys: dict[str, None] = {}
    wrong: list[str] = []
    for number, said in _numbered(text.replace(",", "\n").replace(";", "\n")):
        email = read_email(said)
        if email is None:
            wrong.append(f"Line {number} ({said[:60]}) is not an e-mail address.")
        else:
            keys[email.key] = None
    return list(keys), wrong


def too_many(lines: Sequence[object]) -> list[str]:
    return [f"At most {MOST_LINES} lines at once; these are {len(lines)}."] if len(lines) > MOST_LINES else []


def fingerprint(values: Mapping[str, object]) -> str:
    """Of what a form shows, so that whoever sends it changes what they saw."""
    return sha256(msgspec.json.encode(values, order="sorted")).hexdigest()[:32]


def _numbered(text: str) -> list[tuple[int, str]]:
    return [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]


def _repeated(lines: Sequence[Line]) -> list[str]:
    seen: dict[tuple[str, int], int] = {}
    wrong = []
    for line in lines:
        first = seen.setdefault((line.sku, line.min_quantity), line.number)
        if first != line.number:
            wrong.append(f"Line {line.number} ({line.sku}) says the same variant and quantity as line {first}.")
    return wrong
