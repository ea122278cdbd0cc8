"""The filters, sort order and page of a product list, in the URL of a page.

A value that cannot be used is ignored: shoppers follow old links and type what they like.
"""

from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import msgspec

from shop.base.errors import Malformed
from shop.base.listing import Page, Sort
from shop.base.money import MAX_AMOUNT, currency_digits
from shop.base.texts import is_line
from shop.base.values import read_decimal, read_integer
from shop.models.catalog.product_query import MAX_PAIRS, ProductQuery, search_query
from shop.models.filters import MAX_VALUE_LENGTH
from shop.rules.catalog.products import filter_param
from shop.web.input.request import Request

PAGE_SIZE = 24
LAST_PAGE = 1_000
DEFAULT_SORT = "default"
BEST_SELLING = "best-selling"
SORTS: Mapping[str, tuple[Sort, ...]] = {
    "newest": (Sort("seen", is_descending=True),),
    "price-low": (Sort("price", is_descending=False),),
    "price-high": (Sort("price", is_descending=True),),
    "name": (Sort("name", is_descending=False),),
    BEST_SELLING: (Sort("sold", is_descending=True),),
}
SORT_NAMES = {
    "newest": "Newest",
    "price-low": "Price: low to high",
    "price-high": "Price: high to low",
    "name": "Name",
    BEST_SELLING: "Best selling",
}
_MANUAL = (Sort("position", is_descending=False),)
Pairs = tuple[tuple[str, str], ...]


class ListFilters(msgspec.Struct, frozen=True, kw_only=True):
    """What a shopper wants to see of a category or a search."""

    q: str = ""
    sort: str = DEFAULT_SORT
    page: int = 1
    in_stock: bool = False
    price_min: Decimal | None = None
    price_max: Decimal | None = None
    options: Pairs = ()
    """Names of option types, each with the name of a value."""
    properties: Pairs = ()
    """Names of properties, each with a value in URL form."""

    @property
    def is_filtered(self) -> bool:
        has_price = self.price_min is not None or self.price_max is not None
        return bool(self.in_stock or has_price or self.options or self.properties)

    def url(self, path: str, **changes: Any) -> str:
        """Returns the address of the list with these changes; it returns to the first page, unless `page` is given."""
        return msgspec.structs.replace(self, **{"page": 1, **changes})._address(path)

    def _address(self, path: str) -> str:
        pairs = [
            ("q", self.q),
            *((f"o[{name}]", value) for name, value in self.options),
            *((f"p[{name}]", value) for name, value in self.properties),
            ("price_min", amount_text(self.price_min)),
            ("price_max", amount_text(self.price_max)),
            ("in_stock", "1" if self.in_stock else ""),
            ("sort", self.sort if self.sort != DEFAULT_SORT else ""),
            ("page", str(self.page) if self.page > 1 else ""),
        ]
        query = urlencode([pair for pair in pairs if pair[1]], safe="[]")
        return f"{path}?{query}" if query else path


def amount_text(amount: Decimal | None) -> str:
    return "" if amount is None else f"{amount:f}"


def read_list_filters(request: Request) -> ListFilters:
    try:
        params = request.query
    except Malformed:
        return ListFilters()
    low, high = (_read_amount(params.get(name)) for name in ("price_min", "price_max"))
    if low is not None and high is not None and low > high:
        low, high = high, low
    sort = params.get("sort")
    return ListFilters(
        q=read_search_text(params),
        sort=sort if isinstance(sort, str) and sort in SORTS else DEFAULT_SORT,
        page=_read_page(params.get("page")),
        in_stock=params.get("in_stock") == "1",
        price_min=low,
        price_max=high,
        options=_read_pairs(params.get("o")),
        properties=tuple((name, filter_param(value)) for name, value in _read_pairs(params.get("p"))),
    )


def read_search_text(params: Mapping[str, Any]) -> str:
    text = params.get("q")
    return text.strip()[:MAX_VALUE_LENGTH] if isinstance(text, str) and is_line(text) else ""


def _read_amount(value: object) -> Decimal | None:
    try:
        amount = read_decimal(value)
    except ValueError:
        return None
    return amount if amount >= 0 else None


def _read_page(value: object) -> int:
    """Returns a page number; one beyond the last possible page is kept, and finds nothing."""
    try:
        return min(max(read_integer(value), 1), LAST_PAGE + 1)
    except ValueError:
        return 1


def _read_pairs(value: object) -> Pairs:
    if not isinstance(value, dict):
        return ()
    pairs = [
        (name, text)
        for name, text in value.items()
        if isinstance(text, str) and text and len(text) <= MAX_VALUE_LENGTH and len(name) <= MAX_VALUE_LENGTH
    ]
    return tuple(sorted(pairs)[:MAX_PAIRS])


def build_query(filters: ListFilters, currency: str, taxon_id: UUID | None = None) -> ProductQuery:
    """Builds the query. A category has the order of its operator, and a search the best matches first."""
    default_sort = _MANUAL if taxon_id else ()
    has_price = filters.price_min is not None or filters.price_max is not None
    return ProductQuery(
        page=Page(filters.page, PAGE_SIZE),
        sort=SORTS.get(filters.sort, default_sort),
        currency=currency,
        taxons=(taxon_id,) if taxon_id else None,
        q=filters.q or None,
        price=_price_range(filters, currency) if has_price else None,
        options=filters.options,
        properties=tuple((name, (value,)) for name, value in filters.properties),
        in_stock=filters.in_stock,
        # A text without searchable words matches no product.
        is_nothing=bool(filters.q) and search_query(filters.q) is None,
    )


def _price_range(filters: ListFilters, currency: str) -> tuple[int, int | None]:
    high = filters.price_max
    return (
        _minor_units(filters.price_min or Decimal(0), currency, ROUND_CEILING),
        None if high is None else _minor_units(high, currency, ROUND_FLOOR),
    )


def _minor_units(amount: Decimal, currency: str, rounding: str) -> int:
    """Converts a bound to minor units; rounded into the range and capped at the largest amount."""
    minor = amount.scaleb(currency_digits(currency))
    return int(min(minor, Decimal(MAX_AMOUNT)).to_integral_value(rounding))
