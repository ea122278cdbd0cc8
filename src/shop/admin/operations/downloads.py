"""CSV downloads."""

import csv
from collections.abc import Iterable, Sequence
from io import StringIO

from shop.web.reply import DASHBOARD_HEADERS, NO_STORE, Reply

CSV = b"text/csv; charset=utf-8"
# Spreadsheets run cells that start with these characters as formulas (CSV injection).
_RISKY = ("=", "+", "-", "@", "\t", "\r")


def table_reply(name: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Reply:
    """Returns a CSV response. `name` goes into a header, so it must be a constant or a slug."""
    text = StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(heads)
    writer.writerows([_escape_formula(cell) for cell in row] for row in rows)
    disposition = (b"content-disposition", f'attachment; filename="{name}.csv"'.encode("ascii"))
    headers = ((b"content-type", CSV), NO_STORE, disposition)
    return Reply(200, text.getvalue().encode(), headers, security=DASHBOARD_HEADERS)


def _escape_formula(cell: str) -> str:
    return f"'{cell}" if cell.startswith(_RISKY) else cell
