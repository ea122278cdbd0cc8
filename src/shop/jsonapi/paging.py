"""Pagination: reads page, cursor and sort parameters, and builds the `meta` and `links` of a list."""

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from operator import attrgetter
from typing import Annotated, Any, Generic, TypeVar
from urllib.parse import unquote_plus, urlencode
from uuid import UUID

import msgspec

from shop.base.errors import Malformed
from shop.base.listing import DEFAULT_SIZE, Keyset, Page, Sort
from shop.base.times import in_utc
from shop.base.values import read_integer
from shop.jsonapi.document import Extras
from shop.jsonapi.resource import Money

T = TypeVar("T")
MAX_SIZE = 500
LAST_PAGE = 1_000_000
_MAX_DIGITS = 40
_INVALID = object()
# The parameters that determine the records of a list, their order and their fields.
_LINK_PARAMETERS = (
    "currency",
    "explain",
    "fields",
    "filter",
    "image_transformation",
    "include",
    "is_variant_included",
    "locale",
    "per_page",
    "q",
    "sort",
    "sort_by",
)
_SELF_PARAMETERS = frozenset({*_LINK_PARAMETERS, "page"})
_Index = Annotated[int, msgspec.Meta(ge=0, le=10**9)]
_PLACES: dict[Any, Any] = {Money: int, Money | None: int | None}
"""Cursor types: an amount is stored in minor units."""


def read_page(params: Mapping[str, Any]) -> Page:
    """Reads `page` and `per_page`. As in Spree, a size out of range falls back to the default instead of the
    maximum.
    """
    if isinstance(params.get("page"), dict):
        raise Malformed("Request pages of this list with page=1.", code="bad_page")
    number = _read_positive(params.get("page"))
    return Page(number if number and number <= LAST_PAGE else 1, _size(params))


def read_keyset(params: Mapping[str, Any], kind: Any) -> Keyset | None:
    """Reads `page[after]`, empty for the first page; None for numbered pages. `kind` is the type of the sorted
    field.
    """
    page = params.get("page")
    if not isinstance(page, dict):
        return None
    after = page.get("after")
    if set(page) != {"after"} or not isinstance(after, str):
        raise Malformed("Request pages with page=1 or page[after]=….", code="bad_page")
    return Keyset(_size(params), _read_cursor(after, _PLACES.get(kind, kind)) if after else None)


def cursor(value: Any, record_id: Any) -> str:
    """Encodes the position after a record for `page[after]`."""
    return base64.urlsafe_b64encode(msgspec.json.encode([value, record_id])).decode().rstrip("=")


def _read_cursor(text: str, kind: Any) -> tuple[Any, Any]:
    try:
        position: tuple[Any, UUID] = msgspec.json.decode(
            base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=tuple[kind, UUID]
        )
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        position = (_INVALID, UUID(int=0))
    if not _is_storable(position[0]):
        raise Malformed("This page[after] is invalid; start with an empty one.", code="bad_page")
    return position


def _is_storable(value: Any) -> bool:
    """Returns whether the database can store the value; any other value would make the query fail."""
    match value:
        case int():
            return abs(value) < 2**63
        case str():
            return "\x00" not in value
        case Decimal():
            return value.is_finite() and abs(value.adjusted()) < _MAX_DIGITS
        case datetime():
            return value.tzinfo is not None and _has_utc(value)
    return value is not _INVALID


def _has_utc(moment: datetime) -> bool:
    try:
        return bool(in_utc(moment))
    except ValueError:
        return False


def read_window(params: Mapping[str, Any]) -> Page | Keyset:
    """Reads the page of a short list that is loaded in full: by number or by cursor."""
    return read_keyset(params, _Index) or read_page(params)


class PageWindow(msgspec.Struct, Generic[T], frozen=True):
    """One page of a list, the total count, and the position of the next page for keyset pagination."""

    records: Sequence[T]
    total: int
    page: Page | Keyset
    next_cursor: tuple[Any, Any] | None = None


def paginate_rows(
    rows: Sequence[T], page: Page | Keyset, id_of: Callable[[T], Any] = attrgetter("id")
) -> PageWindow[T]:
    """Returns one page of a list that is loaded in full."""
    if isinstance(page, Page):
        return PageWindow(rows[page.offset : page.offset + page.size], len(rows), page)
    start = 0
    if page.after:
        # Located by id; if the record no longer exists, by its former index.
        index, last_id = page.after
        matches = [row_index for row_index, row in enumerate(rows) if id_of(row) == last_id]
        start = (matches[0] if matches else index) + 1
    records = rows[start : start + page.size]
    end = start + len(records)
    return PageWindow(records, len(rows), page, (end - 1, id_of(records[-1])) if records and end < len(rows) else None)


def window_extras(window: PageWindow[Any], request_url: str, params: Mapping[str, Any]) -> Extras:
    if isinstance(window.page, Page):
        return page_extras(window.page, Total(window.total), len(window.records), request_url, params)
    after = cursor(*window.next_cursor) if window.next_cursor else None
    return keyset_extras(len(window.records), after, request_url, params)


MAX_SORTS = 3


def read_sorts(params: Mapping[str, Any], sort_names: Sequence[str]) -> tuple[Sort, ...]:
    """Reads `sort=state,-total`; an unknown name is an error, because a typo must not be ignored."""
    text = params.get("sort")
    if not isinstance(text, str) or not text.strip():
        return ()
    parts = [part.strip() for part in text.split(",")]
    for part in parts:
        if part.removeprefix("-") not in sort_names:
            choices = ", ".join(sort_names) or "none"
            raise Malformed(f"There is no sort {part[:100]!r}; allowed: {choices}.", code="unknown_sort")
    names = [part.removeprefix("-") for part in parts]
    if len(names) > MAX_SORTS or len(set(names)) < len(names):
        raise Malformed(f"Sort by at most {MAX_SORTS} different fields.", code="unknown_sort")
    return tuple(Sort(part.removeprefix("-"), part.startswith("-")) for part in parts)


def read_sort(params: Mapping[str, Any], sort_names: Sequence[str]) -> Sort | None:
    """Reads the first field of `sort`."""
    return next(iter(read_sorts(params, sort_names)), None)


class Total(msgspec.Struct, frozen=True):
    """The total number of records; beyond a limit, an estimate of the database."""

    count: int
    is_estimate: bool = False


def page_extras(page: Page, total: Total, count: int, request_url: str, params: Mapping[str, Any]) -> Extras:
    """Returns `meta` and all five links; `next` and `prev` stop at the ends."""
    pages = -(-total.count // page.size)
    last = max(pages, 1)
    link = _linker(request_url, params)
    links = {
        "self": _self_link(request_url),
        "next": link("page", min(page.number + 1, last)),
        "prev": link("page", max(page.number - 1, 1)),
        "last": link("page", last),
        "first": link("page", 1),
    }
    meta = {"count": count, "total_count": total.count, "total_pages": pages}
    return Extras(meta | ({"total_is_estimate": True} if total.is_estimate else {}), links)


def keyset_extras(count: int, after: str | None, request_url: str, params: Mapping[str, Any]) -> Extras:
    """Returns `meta` and links without totals or a last page, which require counting. `after` is None at the end."""
    link = _linker(request_url, params)
    links = {"self": _self_link(request_url), "first": link("page[after]", "")}
    return Extras({"count": count}, links | ({"next": link("page[after]", after)} if after else {}))


def _linker(request_url: str, params: Mapping[str, Any]) -> Callable[[str, Any], str]:
    url = request_url.partition("?")[0]
    pairs = [(name, value) for name in _LINK_PARAMETERS if name in params for name, value in _flat(name, params[name])]
    return lambda name, value: f"{url}?{urlencode(sorted([*pairs, (name, str(value))]))}"


def _size(params: Mapping[str, Any]) -> int:
    size = _read_positive(params.get("per_page"))
    return size if size and size <= MAX_SIZE else DEFAULT_SIZE


def _self_link(request_url: str) -> str:
    """Returns the URL with its known parameters, unchanged. Any other parameter may be a credential sent by mistake,
    and links are stored and shared.
    """
    url, _, query = request_url.partition("?")
    parts = [
        part for part in query.split("&") if unquote_plus(part.partition("=")[0]).partition("[")[0] in _SELF_PARAMETERS
    ]
    return f"{url}?{'&'.join(parts)}" if parts else url


def _read_positive(value: Any) -> int | None:
    try:
        number = read_integer(value)
    except ValueError:
        return None
    return number if number > 0 else None


def _flat(name: str, value: Any) -> list[tuple[str, str]]:
    if isinstance(value, dict):
        return [pair for key, inner in value.items() for pair in _flat(f"{name}[{key}]", inner)]
    if isinstance(value, list):
        return [(f"{name}[]", str(item)) for item in value]
    return [(name, str(value))]
