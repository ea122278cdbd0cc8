"""What all lists of the dashboard have: a count, sort orders, and links to the previous and next page."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from time import monotonic
from typing import Any, Protocol
from urllib.parse import urlencode
from uuid import UUID

import msgspec

from shop.actions.context import Context
from shop.actions.records import ESTIMATE_SECONDS
from shop.base.listing import CursorPosition
from shop.base.times import bounds_of
from shop.queries.dashboard import COUNT_LIMIT
from shop.web.input.request import Request

SIZE = 25
MAX_PAGE = 1000
MAX_CURSOR_LENGTH = 1000
_START = datetime(1970, 1, 1, tzinfo=UTC)


def fold_text(text: str | None) -> str:
    """Returns the key by which text is sorted."""
    return (text or "").casefold()


def fold_time(time: datetime | None) -> datetime:
    """Returns the key by which times are sorted, those that are missing first."""
    return time or _START


class HasId(Protocol):
    """A row that has an id."""

    @property
    def id(self) -> UUID: ...


class Pages(msgspec.Struct, frozen=True):
    """Links to the previous and next page."""

    newer: str | None
    older: str | None


class NumberedPages(msgspec.Struct, frozen=True):
    """The number of a page, the number of pages, and the links to its neighbors."""

    number: int
    count: int
    back: str | None
    next: str | None


class SortLink(msgspec.Struct, frozen=True):
    """A link that sorts a list."""

    label: str
    url: str
    is_current: bool


class ListHead(msgspec.Struct, frozen=True):
    """The line above a list: the number of its rows, and its sort orders."""

    count: int
    sorts: Sequence[SortLink] = ()
    sort: str = ""
    """The sort order, empty for the default one: the form of the filters repeats it."""
    limit: int = COUNT_LIMIT


class RowSort(msgspec.Struct, frozen=True):
    """A sort order of a list that is always shown whole."""

    label: str
    key: Callable[[Any], Any]
    is_descending: bool = False


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


def read_sort(request: Request, labels: Mapping[str, str]) -> str:
    """Returns the name of the requested sort order; the first one if it is missing or unknown."""
    name = text_param(request, "sort")
    return name if name in labels else next(iter(labels))


def read_cursor(request: Request, kind: type = datetime) -> CursorPosition | None:
    """Returns the cursor of the requested page; None, the first page, if it is missing or invalid."""
    for side in ("before", "after"):
        text = request.params.get(side)
        if not isinstance(text, str) or len(text) > MAX_CURSOR_LENGTH:
            continue
        value, _, key = text.rpartition("_")
        try:
            return CursorPosition(side, _read_value(value, kind), UUID(key))
        except (ValueError, OverflowError):
            continue
    return None


def _read_value(text: str, kind: type) -> datetime | int | str:
    if kind is str:
        return text
    number = int(text)
    return _START + timedelta(microseconds=number) if kind is datetime else max(min(number, 2**62), -(2**62))


def read_page(request: Request) -> int:
    """Returns the number of the requested page; 1 if it is missing or invalid."""
    text = text_param(request, "page")
    return min(max(int(text), 1), MAX_PAGE) if text.isascii() and text.isdigit() and len(text) < 6 else 1


def paginate_rows(
    request: Request,
    rows: Sequence[HasId],
    cursor: CursorPosition | None,
    *,
    by: str,
    params: Mapping[str, str],
    size: int = SIZE,
    path: str | None = None,
) -> tuple[Sequence[HasId], Pages]:
    """Cuts one page from rows fetched with one extra, and links its neighbors; `path` is that of the request."""
    is_back = cursor is not None and cursor.side == "after"
    has_more = len(rows) > size
    page_rows = (rows[-size:] if is_back else rows[:size]) if has_more else rows
    list_path = path or str(request.scope["path"])

    def link(side: str, row: HasId) -> str:
        at = getattr(row, by)
        value = (at - _START) // timedelta(microseconds=1) if isinstance(at, datetime) else at
        return _link(list_path, {**params, side: f"{value}_{row.id.hex}"})

    newer = link("after", page_rows[0]) if page_rows and (has_more if is_back else cursor) else None
    older = link("before", page_rows[-1]) if page_rows and (is_back or has_more) else None
    return page_rows, Pages(newer, older)


def number_pages(path: str, params: Mapping[str, str], page: int, total: int, size: int) -> NumberedPages:
    count = min(max((total + size - 1) // size, 1), MAX_PAGE)

    def link(number: int) -> str:
        return _link(path, {**params, "page": str(number)})

    return NumberedPages(
        page, count, link(min(page, count + 1) - 1) if page > 1 else None, link(page + 1) if page < count else None
    )


async def count_list(
    rows: Sequence[Any], cursor: object | None, count_all: Callable[[], Awaitable[int]], size: int = SIZE
) -> int:
    """Returns the number of rows of a list; one that fits on a page needs no statement."""
    return len(rows) if cursor is None and len(rows) <= size else await count_all()


def remember_long(ctx: Context, name: str, count_all: Callable[[], Awaitable[int]]) -> Callable[[], Awaitable[int]]:
    """Returns a function that counts a list without filters. To find out that it has more than COUNT_LIMIT rows takes
    longer than to read a page of it, so this is not repeated for some seconds.
    """
    totals = ctx.shared.estimated_totals

    async def count() -> int:
        known_count, until = totals.get(f"dashboard {name}", (0, 0.0))
        if monotonic() < until:
            return known_count
        count = await count_all()
        if count > COUNT_LIMIT:
            totals[f"dashboard {name}"] = count, monotonic() + ESTIMATE_SECONDS
        return count

    return count


def build_head(path: str, count: int, labels: Mapping[str, str], sort: str, params: Mapping[str, str]) -> ListHead:
    """Returns the head of a list with these sort orders, the default one first; `params` are its filters."""
    default = next(iter(labels))

    def link(name: str) -> str:
        return _link(path, {**params, "sort": "" if name == default else name})

    sorts = [SortLink(label, link(name), name == sort) for name, label in labels.items()]
    return ListHead(count, sorts, "" if sort == default else sort)


async def list_by_email(
    request: Request,
    path: str,
    list_rows: Callable[[str, CursorPosition | None, int], Awaitable[Sequence[HasId]]],
    count_rows: Callable[[str], Awaitable[int]],
) -> dict[str, Any]:
    """Returns what a page shows of customers in the order of their addresses: those that begin with the search."""
    search, cursor = text_param(request, "q"), read_cursor(request, str)
    rows = await list_rows(search, cursor, SIZE + 1)
    users, pages = paginate_rows(request, rows, cursor, by="email_key", params={"q": search}, path=path)
    count = await count_list(rows, cursor, lambda: count_rows(search))
    return {"q": search, "users": users, "pages": pages, "head": ListHead(count)}


def sort_rows(
    request: Request, path: str, rows: Sequence[Any], sorts: Mapping[str, RowSort]
) -> tuple[list[Any], ListHead]:
    """Sorts a list that is always shown whole; the first sort order is the default."""
    labels = {name: each.label for name, each in sorts.items()}
    sort = read_sort(request, labels)
    sorted_rows = sorted(rows, key=sorts[sort].key, reverse=sorts[sort].is_descending)
    return sorted_rows, build_head(path, len(rows), labels, sort, {})


def _link(path: str, params: Mapping[str, str]) -> str:
    query = urlencode({name: value for name, value in params.items() if value})
    return f"{path}?{query}" if query else path
