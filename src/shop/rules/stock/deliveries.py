"""Reads the lines of a delivery that an operator enters."""

import re

import msgspec

from shop.rules.form_values import read_whole

MAX_LINES = 200
MAX_QUANTITY = 1_000_000


class DeliveryLineInput(msgspec.Struct, frozen=True):
    """A pasted line: a SKU and its quantity."""

    number: int
    sku: str
    quantity: int


def read_quantity(text: str) -> int:
    quantity = read_whole(text, 1)
    if quantity > MAX_QUANTITY:
        raise ValueError(f"must be {MAX_QUANTITY:,} or fewer")
    return quantity


def read_delivery_lines(text: str) -> tuple[list[DeliveryLineInput], list[str]]:
    """Parses lines of `sku,quantity`, also separated by a semicolon, a tab or spaces; returns lines and errors."""
    lines: list[DeliveryLineInput] = []
    errors: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        match = re.fullmatch(r"(.*?)(?:[,;\t]|\s)\s*(\S+)", line.strip())
        try:
            if match is None or not match[1].strip():
                raise ValueError("needs a SKU and a quantity, for example MUG-RED,12")
            lines.append(DeliveryLineInput(number, match[1].strip(), read_quantity(match[2])))
        except ValueError as error:
            errors.append(f"Line {number} ({line.strip()[:60]}) {error}.")
    if len(lines) > MAX_LINES:
        errors = [f"Enter at most {MAX_LINES} lines at once, not {len(lines)}."]
    return lines, errors
