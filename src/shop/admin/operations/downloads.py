"""Tables that are taken home as a file of comma-separated values."""

import csv
from collections.abc import Iterable, Sequence
from io import StringIO

from shop.web.reply import DASHBOARD_HEADERS, NO_STORE, Reply

CSV = b"text/csv; charset=utf-8"
# A spreadsheet takes what begins so for a formula, and runs it on the machine of whoever opens the file.
_RISKY = ("=", "+", "-", "@", "\t", "\r")


def table_reply(name: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Reply:
    """`name` is ours or a slug: it stands in a header."""
    text = StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(heads)
    writer.writerows([_harmless(cell) for cell in row] for row in rows)
    kept = (b"content-disposition", f'attachment; filename="{name}.csv"'.encode("ascii"))
    headers = ((b"content-type", CSV), NO_STORE, kept)
    return Reply(200, text.getvalue().encode(), headers, security=DASHBOARD_HEADERS)


def _harmless(cell: str) -> str:
    return f"'{cell}" if cell.startswith(_RISKY) else cell
