"""Pages with numbers, for lists whose rows do not move while an operator works through them."""

from collections.abc import Mapping
from urllib.parse import urlencode

import msgspec

from shop.admin.listing import text_param
from shop.web.input.request import Request

MAX_PAGE = 1000


class NumberedPages(msgspec.Struct, frozen=True):
    """The number of a page, the number of pages, and the links to its neighbors."""

    number: int
    count: int
    back: str | None
    next: str | None


def read_page(request: Request) -> int:
    """Returns the number of the requested page; 1 if it is missing or invalid."""
    text = text_param(request, "page")
    return min(max(int(text), 1), MAX_PAGE) if text.isascii() and text.isdigit() and len(text) < 6 else 1


def number_pages(path: str, params: Mapping[str, str], page: int, total: int, size: int) -> NumberedPages:
    count = min(max((total + size - 1) // size, 1), MAX_PAGE)

    def link(number: int) -> str:
        return f"{path}?{urlencode({**{name: value for name, value in params.items() if value}, 'page': number})}"

    return NumberedPages(
        page, count, link(min(page, count + 1) - 1) if page > 1 else None, link(page + 1) if page < count else None
    )
