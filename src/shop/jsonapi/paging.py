"""Which page of a list is asked for, and what a list's document says of its pages."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote_plus, urlencode

from shop.base.errors import Malformed
from shop.base.listing import DEFAULT_SIZE, Page, Sort
from shop.jsonapi.document import Extras

LARGEST_SIZE = 500
LAST_PAGE = 1_000_000
_KEPT = ("fields", "filter", "include", "locale", "per_page", "sort")
_OURS = frozenset({*_KEPT, "page"})


def read_page(params: Mapping[str, Any]) -> Page:
    """A size out of range falls back to the default and is not cut to the largest, as the family's clients know it."""
    number, size = _whole(params.get("page")), _whole(params.get("per_page"))
    return Page(
        number if number and number <= LAST_PAGE else 1, size if size and size <= LARGEST_SIZE else DEFAULT_SIZE
    )


def read_sort(params: Mapping[str, Any], allowed: Sequence[str]) -> Sort | None:
    """The first field of `sort`; a name that is not allowed is an error, because a typo must not pass for an order."""
    text = params.get("sort")
    if not isinstance(text, str) or not text.strip():
        return None
    for part in text.split(","):
        if part.strip().removeprefix("-") not in allowed:
            raise Malformed(f"There is no sort {part[:100]!r}; allowed: {', '.join(allowed)}.", code="unknown_sort")
    first = text.split(",")[0].strip()
    return Sort(first.removeprefix("-"), first.startswith("-"))


def page_extras(page: Page, total: int, count: int, asked: str, params: Mapping[str, Any]) -> Extras:
    """`meta` and all five links; next and previous stop at the ends. `asked` is the address as it was asked for."""
    url, _, query = asked.partition("?")
    pages = -(-total // page.size)
    last = max(pages, 1)
    kept = [(name, value) for name in _KEPT if name in params for name, value in _flat(name, params[name])]

    def link(number: int) -> str:
        return f"{url}?{urlencode(sorted([*kept, ('page', str(number))]))}"

    links = {
        "self": _known(url, query),
        "next": link(min(page.number + 1, last)),
        "prev": link(max(page.number - 1, 1)),
        "last": link(last),
        "first": link(1),
    }
    return Extras({"count": count, "total_count": total, "total_pages": pages}, links)


def _known(url: str, query: str) -> str:
    """The address with the parameters that are ours, as they were written. Any other may be a credential that somebody
    put there by mistake, and links are kept and passed on.
    """
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
