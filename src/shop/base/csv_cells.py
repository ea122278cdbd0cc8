"""Lines of CSV files whose cells no spreadsheet runs as formulas."""

import csv
from collections.abc import Sequence
from decimal import Decimal
from io import StringIO

# Spreadsheets run cells that start with these characters as formulas (CSV injection).
_RISKY = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def safe_cell(text: str) -> str:
    """Returns the text of a cell; an apostrophe marks what would be a formula as text."""
    return f"'{text}" if text.lstrip("'").startswith(_RISKY) else text


def read_cell(text: str) -> str:
    """Returns the text of a cell that `safe_cell` wrote."""
    return text[1:] if text.startswith("'") and text.lstrip("'").startswith(_RISKY) else text


def csv_line(cells: Sequence[str | int | Decimal]) -> str:
    """Returns a line of a CSV file, with its end. Numbers stay numbers, also negative ones."""
    line = StringIO(newline="")
    csv.writer(line).writerow([safe_cell(cell) if isinstance(cell, str) else cell for cell in cells])
    return line.getvalue()
