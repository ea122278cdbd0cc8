"""Which page of a list is asked for, and what a list's document says of its pages."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from shop.base.listing import DEFAULT_SIZE, Page
from shop.jsonapi.document import Extras

LARGEST_SIZE = 500
LAST_PAGE = 1_000_000
_KEPT = ("fields", "filter", "include", "locale", "per_page", "sort")


def read_page(params: Mapping[str, Any]) -> Page:
    """A size out of range falls back to the default and is not cut to the largest, as the family's clients know it."""
    number, size = _whole(params.get("page")), _whole(params.get("per_page"))
    return Page(
        number if number and number <= LAST_PAGE else 1, size if size and size <= LARGEST_SIZE else DEFAULT_SIZE
    )


def page_extras(page: Page, total: int, count: int, url: str, params: Mapping[str, Any]) -> Extras:
    """`meta` and all five links; next and previous stop at the ends."""
    pages = -(-total // page.size)
    last = max(pages, 1)
    kept = [(name, value) for name in _KEPT if name in params for name, value in _flat(name, params[name])]

    def link(number: int) -> str:
        return f"{url}?{urlencode(sorted([*kept, ('page', str(number))]))}"

    links = {
        "self": link(page.number),
        "next": link(min(page.number + 1, last)),
        "prev": link(max(page.number - 1, 1)),
        "last": link(last),
        "first": link(1),
    }
    return Extras({"count": count, "total_count": total, "total_pages": pages}, links)


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
