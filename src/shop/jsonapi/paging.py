"""Which page of a list is asked for, and what a list's document says of its pages."""

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
from shop.base.moments import in_utc
from shop.jsonapi.document import Extras
from shop.jsonapi.resource import Money

T = TypeVar("T")
LARGEST_SIZE = 500
LAST_PAGE = 1_000_000
_MOST_DIGITS = 40
_NOT_OURS = object()
# What decides which records a list has, in which order, and what is shown of them.
_KEPT = (
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
_OURS = frozenset({*_KEPT, "page"})
_Index = Annotated[int, msgspec.Meta(ge=0, le=10**9)]
_PLACES: dict[Any, Any] = {Money: int, Money | None: int | None}
"""An amount's place in a list is its minor units."""


def read_page(params: Mapping[str, Any]) -> Page:
    """A size out of range falls back to the default and is not cut to the largest, as the family's clients know it."""
    if isinstance(params.get("page"), dict):
        raise Malformed("Pages of this list are asked for by page=1.", code="bad_page")
    number = _whole(params.get("page"))
    return Page(number if number and number <= LAST_PAGE else 1, _size(params))


def read_keyset(params: Mapping[str, Any], kind: Any) -> Keyset | None:
    """`page[after]=…`, empty for the first page; none when pages go by number. `kind` is the sorted value's."""
    page = params.get("page")
    if not isinstance(page, dict):
        return None
    after = page.get("after")
    if set(page) != {"after"} or not isinstance(after, str):
        raise Malformed("Pages are asked for by page=1 or page[after]=….", code="bad_page")
    return Keyset(_size(params), _read_cursor(after, _PLACES.get(kind, kind)) if after else None)


def cursor(value: Any, record_id: Any) -> str:
    """The place behind a record, as a word for `page[after]`."""
    return base64.urlsafe_b64encode(msgspec.json.encode([value, record_id])).decode().rstrip("=")


def _read_cursor(text: str, kind: Any) -> tuple[Any, Any]:
    try:
        place: tuple[Any, UUID] = msgspec.json.decode(
            base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=tuple[kind, UUID]
        )
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        place = (_NOT_OURS, UUID(int=0))
    if not _could_be_ours(place[0]):
        raise Malformed("This page[after] is not one of ours; begin with an empty one.", code="bad_page")
    return place


def _could_be_ours(value: Any) -> bool:
    """What the database could never have given would only make it stumble."""
    match value:
        case int():
            return abs(value) < 2**63
        case str():
            return "\x00" not in value
        case Decimal():
            return value.is_finite() and abs(value.adjusted()) < _MOST_DIGITS
        case datetime():
            return value.tzinfo is not None and _has_utc(value)
    return value is not _NOT_OURS


def _has_utc(moment: datetime) -> bool:
    try:
        return bool(in_utc(moment))
    except ValueError:
        return False


def read_window(params: Mapping[str, Any]) -> Page | Keyset:
    """Which page of a list that is short by nature, and read whole: by number, or by the place of the one before."""
    return read_keyset(params, _Index) or read_page(params)


class Window(msgspec.Struct, Generic[T], frozen=True):
    """One page of a list, how many records there are in all, and where the next page begins if pages go by place."""

    records: Sequence[T]
    total: int
    page: Page | Keyset
    next_place: tuple[Any, Any] | None = None


def cut(rows: Sequence[T], page: Page | Keyset, id_of: Callable[[T], Any] = attrgetter("id")) -> Window[T]:
    """A page of what was read whole."""
    if isinstance(page, Page):
        return Window(rows[page.offset : page.offset + page.size], len(rows), page)
    start = 0
    if page.after:
        # Found by its id; where it is gone since, by the place that it had.
        index, last_id = page.after
        places = [place for place, row in enumerate(rows) if id_of(row) == last_id]
        start = (places[0] if places else index) + 1
    shown = rows[start : start + page.size]
    end = start + len(shown)
    return Window(shown, len(rows), page, (end - 1, id_of(shown[-1])) if shown and end < len(rows) else None)


def window_extras(window: Window[Any], asked: str, params: Mapping[str, Any]) -> Extras:
    if isinstance(window.page, Page):
        return page_extras(window.page, Total(window.total), len(window.records), asked, params)
    after = cursor(*window.next_place) if window.next_place else None
    return keyset_extras(len(window.records), after, asked, params)


MOST_SORTS = 3


def read_sorts(params: Mapping[str, Any], allowed: Sequence[str]) -> tuple[Sort, ...]:
    """`sort=state,-total`; a name that is not allowed is an error, because a typo must not pass for an order."""
    text = params.get("sort")
    if not isinstance(text, str) or not text.strip():
        return ()
    parts = [part.strip() for part in text.split(",")]
    for part in parts:
        if part.removeprefix("-") not in allowed:
            named = ", ".join(allowed) or "none"
            raise Malformed(f"There is no sort {part[:100]!r}; allowed: {named}.", code="unknown_sort")
    names = [part.removeprefix("-") for part in parts]
    if len(names) > MOST_SORTS or len(set(names)) < len(names):
        raise Malformed(f"A list is sorted by at most {MOST_SORTS} different fields.", code="unknown_sort")
    return tuple(Sort(part.removeprefix("-"), part.startswith("-")) for part in parts)


def read_sort(params: Mapping[str, Any], allowed: Sequence[str]) -> Sort | None:
    """Of `sort` the first field."""
    return next(iter(read_sorts(params, allowed)), None)


class Total(msgspec.Struct, frozen=True):
    """How many records there are; beyond a bound the database's own estimate is enough."""

    count: int
    is_estimate: bool = False


def page_extras(page: Page, total: Total, count: int, asked: str, params: Mapping[str, Any]) -> Extras:
    """`meta` and all five links; next and previous stop at the ends. `asked` is the address as it was asked for."""
    pages = -(-total.count // page.size)
    last = max(pages, 1)
    link = _linker(asked, params)
    links = {
        "self": _known(asked),
        "next": link("page", min(page.number + 1, last)),
        "prev": link("page", max(page.number - 1, 1)),
        "last": link("page", last),
        "first": link("page", 1),
    }
    meta = {"count": count, "total_count": total.count, "total_pages": pages}
    return Extras(meta | ({"total_is_estimate": True} if total.is_estimate else {}), links)


def keyset_extras(count: int, after: str | None, asked: str, params: Mapping[str, Any]) -> Extras:
    """No totals and no last page: neither is known without counting. `after` is none at the end."""
    link = _linker(asked, params)
    links = {"self": _known(asked), "first": link("page[after]", "")}
    return Extras({"count": count}, links | ({"next": link("page[after]", after)} if after else {}))


def _linker(asked: str, params: Mapping[str, Any]) -> Callable[[str, Any], str]:
    url = asked.partition("?")[0]
    kept = [(name, value) for name in _KEPT if name in params for name, value in _flat(name, params[name])]
    return lambda name, value: f"{url}?{urlencode(sorted([*kept, (name, str(value))]))}"


def _size(params: Mapping[str, Any]) -> int:
    size = _whole(params.get("per_page"))
    return size if size and size <= LARGEST_SIZE else DEFAULT_SIZE


def _known(asked: str) -> str:
    """The address with the parameters that are ours, as they were written. Any other may be a credential that somebody
    put there by mistake, and links are kept and passed on.
    """
    url, _, query = asked.partition("?")
    kept = [part for part in query.split("&") if unquote_plus(part.partition("=")[0]).partition("[")[0] in _OURS]
    return f"{url}?{'&'.join(kept)}" if kept else url


def _whole(value: Any) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 9:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _flat(name: str, value: Any) -> list[tuple[str, str]]:
    if isinstance(value, dict):
        return [pair for key, inner in value.items() for pair in _flat(f"{name}[{key}]", inner)]
    if isinstance(value, list):
        return [(f"{name}[]", str(item)) for item in value]
    return [(name, str(value))]
