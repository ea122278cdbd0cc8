"""CSV downloads."""

from collections.abc import AsyncGenerator, Iterable, Sequence

from shop.base.csv_cells import csv_line
from shop.web.reply import DASHBOARD_HEADERS, NO_STORE, Header, Reply

CSV = b"text/csv; charset=utf-8"


def table_reply(name: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Reply:
    """Returns a CSV response. `name` goes into a header, so it must be a constant or a slug."""
    return Reply(200, csv_lines([heads, *rows]), _headers(name), security=DASHBOARD_HEADERS)


def stream_reply(name: str, chunks: AsyncGenerator[bytes]) -> Reply:
    """Returns a CSV response that is sent while it is read. `name` is as in `table_reply`."""
    return Reply(200, headers=_headers(name), security=DASHBOARD_HEADERS, chunks=chunks)


def csv_lines(rows: Iterable[Sequence[str]]) -> bytes:
    """Returns lines of a CSV file."""
    return "".join(map(csv_line, rows)).encode()


def _headers(name: str) -> tuple[Header, ...]:
    disposition = (b"content-disposition", f'attachment; filename="{name}.csv"'.encode("ascii"))
    return ((b"content-type", CSV), NO_STORE, disposition)
