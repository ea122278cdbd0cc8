"""Cursor pagination of dashboard lists: every page costs the same, however far down the list."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Protocol
from urllib.parse import urlencode
from uuid import UUID

import msgspec

from shop.base.listing import CursorPosition, NumberCursor
from shop.base.times import bounds_of
from shop.web.input.request import Request

SIZE = 25
_START = datetime(1970, 1, 1, tzinfo=UTC)


class HasId(Protocol):
    """A row that has an id."""

    @property
    def id(self) -> UUID: ...


class Pages(msgspec.Struct, frozen=True):
    """Links to the previous and next page."""

    newer: str | None
    older: str | None


def text_param(request: Request, name: str) -> str:
    value = request.params.get(name, "")
    return value.strip()[:254] if isinstance(value, str) else ""


def day_param(request: Request, name: str) -> date | None:
    """Parses the value of a `date` input."""
    try:
        return date.fromisoformat(text_param(request, name))
    except ValueError:
        return None


def read_day_range(request: Request, zone: tzinfo) -> tuple[datetime | None, datetime | None]:
    """Returns the start of the day `since`, and the end of the day `until`, in the zone; None for a day of the first or
    last year of the calendar, which not every zone has.
    """
    days = (day_param(request, name) for name in ("since", "until"))
    first, last = (day if day and date.min.year < day.year < date.max.year else None for day in days)
    return (bounds_of(first, zone)[0] if first else None, bounds_of(last, zone)[1] if last else None)


def read_cursor(request: Request) -> CursorPosition | None:
    """Returns the cursor of the requested page; None, the first page, if it is missing or invalid."""
    for side in ("before", "after"):
        moment, _, key = text_param(request, side).partition("_")
        try:
            return CursorPosition(side, _START + timedelta(microseconds=int(moment)), UUID(key))
        except (ValueError, OverflowError):
            continue
    return None


def read_number_cursor(request: Request) -> NumberCursor | None:
    """Returns the cursor, like `read_cursor`, for a list sorted by a number."""
    for side in ("next", "back"):
        count, _, key = text_param(request, side).partition("_")
        try:
            return NumberCursor(side, max(min(int(count), 2**62), -(2**62)), UUID(key))
        except ValueError:
            continue
    return None


def paginate_rows(
    request: Request,
    rows: Sequence[HasId],
    cursor: CursorPosition | NumberCursor | None,
    *,
    by: str,
    params: Mapping[str, str],
    sides: tuple[str, str] = ("after", "before"),
    size: int = SIZE,
) -> tuple[Sequence[HasId], Pages]:
    """Cuts one page from rows fetched with one extra, and links its neighbors; `sides` names the cursor parameters."""
    is_back = cursor is not None and cursor.side == sides[0]
    has_more = len(rows) > size
    page_rows = (rows[-size:] if is_back else rows[:size]) if has_more else rows
    path, query_params = str(request.scope["path"]), {name: value for name, value in params.items() if value}

    def link(side: str, row: HasId) -> str:
        at = getattr(row, by)
        number = (at - _START) // timedelta(microseconds=1) if isinstance(at, datetime) else at
        return f"{path}?{urlencode({**query_params, side: f'{number}_{row.id.hex}'})}"

    newer = link(sides[0], page_rows[0]) if page_rows and (has_more if is_back else cursor) else None
    older = link(sides[1], page_rows[-1]) if page_rows and (is_back or has_more) else None
    return page_rows, Pages(newer, older)
