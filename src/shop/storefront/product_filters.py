"""Reads Spree's product filters and sorts from nested request parameters."""

from collections.abc import Mapping
from datetime import datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any
from uuid import UUID

from shop.base.errors import Malformed
from shop.base.listing import Keyset, Page, Sort
from shop.base.money import MAX_AMOUNT, currency_digits
from shop.jsonapi.paging import read_keyset, read_page
from shop.models.catalog.filters import PriceRange, ProductFilters, SearchText
from shop.models.catalog.product_query import ProductQuery, search_query
from shop.models.setup.shop import Shop
from shop.rules.catalog.products import filter_param
from shop.web.input.inputs import read_filters, read_value

Params = Mapping[str, Any]
SORTS = (
    "id",
    "name",
    "slug",
    "number",
    "position",
    "updated_at",
    "created_at",
    "deleted_at",
    "available_on",
    "price",
    "sku",
)
BEST_SELLING = "best-selling"
_SORT_BY = {
    "default": (),
    "manual": (Sort("position", False),),
    "name-a-z": (Sort("name", False),),
    "name-z-a": (Sort("name", True),),
    "newest-first": (Sort("seen", True),),
    "oldest-first": (Sort("seen", False),),
    "price-high-to-low": (Sort("price", True),),
    "price-low-to-high": (Sort("price", False),),
    BEST_SELLING: (Sort("sold", True),),
}
FILTERS = ProductFilters.__struct_fields__


def read_currency(params: Params, shop: Shop) -> str:
    """Returns the requested currency, case-insensitive, or the shop's first currency if it is not supported."""
    filters = params.get("filter")
    value = (filters.get("currency") if isinstance(filters, dict) else None) or params.get("currency")
    currency = value.upper() if isinstance(value, str) else ""
    return currency if currency in shop.currencies else shop.currencies[0]


def read_product_query(params: Params, shop: Shop) -> ProductQuery:
    filters = read_filters(ProductFilters, params)
    currency = read_currency(params, shop)
    q, sort = _read_search(params), _read_sort(params)
    # A text without searchable words matches no product.
    is_nothing = any(text and search_query(text) is None for text in (q, filters.name)) or bool(filters.vendor_ids)
    return ProductQuery(
        page=_read_page(params, sort, is_ranked=q is not None and not sort),
        sort=sort,
        currency=currency,
        ids=filters.ids,
        skus=filters.skus,
        tags=filters.tags,
        taxons=filters.taxons,
        concat_taxons=filters.concat_taxons,
        slug=filters.slug,
        name=filters.name,
        q=q,
        price=_minor_range(filters.price, currency) if filters.price else None,
        options=tuple(sorted(filters.options.items())),
        properties=tuple(
            (name, tuple(dict.fromkeys(map(filter_param, values))))
            for name, values in sorted(filters.properties.items())
            if values
        ),
        option_value_ids=filters.option_value_ids,
        in_stock=filters.in_stock,
        backorderable=filters.backorderable,
        purchasable=filters.purchasable,
        show_discontinued=filters.show_discontinued,
        is_nothing=is_nothing,
    )


# The value type of each sort field, used to decode keyset cursors.
_PLACES: dict[str, Any] = {
    "id": UUID,
    "number": UUID,
    **dict.fromkeys(("name", "slug", "sku"), str),
    **dict.fromkeys(("updated_at", "created_at", "seen"), datetime),
    **dict.fromkeys(("deleted_at", "available_on"), datetime | None),
    **dict.fromkeys(("price", "sold"), int),
    # Outside a taxon, products have no position and are sorted by id.
    "position": int | UUID | None,
}


def _read_page(params: Params, sort: tuple[Sort, ...], *, is_ranked: bool) -> Page | Keyset:
    keyset = read_keyset(params, _PLACES[sort[0].name] if sort else UUID)
    if keyset is None:
        return read_page(params)
    if len(sort) > 1 or is_ranked:
        raise Malformed("page[after] allows one sort field, and a search requires one.", code="bad_page")
    return keyset


def _read_sort(params: Params) -> tuple[Sort, ...]:
    by, text = params.get("sort_by"), params.get("sort")
    if by:
        if not isinstance(by, str) or by not in _SORT_BY:
            raise Malformed(
                f"There is no sort_by {str(by)[:100]!r}; allowed: {', '.join(_SORT_BY)}.", code="unknown_sort"
            )
        return _SORT_BY[by]
    if not isinstance(text, str) or not text.strip():
        return ()
    parts = [part.strip() for part in text.split(",")]
    for part in parts:
        if part.removeprefix("-") not in SORTS:
            raise Malformed(f"There is no sort {part[:100]!r}; allowed: {', '.join(SORTS)}.", code="unknown_sort")
    directions = {part.removeprefix("-"): part.startswith("-") for part in reversed(parts)}
    return tuple(Sort(name, is_down) for name, is_down in reversed(directions.items()))


def _read_search(params: Params) -> str | None:
    try:
        text: str | None = read_value(params.get("q") or None, SearchText)
    except ValueError as error:
        raise Malformed(f"The parameter 'q' {error}.", code="bad_filter") from None
    return text


def _minor_range(price: PriceRange, currency: str) -> tuple[int, int | None]:
    low, high = price
    return _minor(low, currency, ROUND_CEILING), None if high is None else _minor(high, currency, ROUND_FLOOR)


def _minor(bound: Decimal, currency: str, rounding: str) -> int:
    """Converts a bound to minor units; rounded into the range and capped at the largest amount."""
    minor = bound.scaleb(currency_digits(currency))
    return int(min(minor, Decimal(MAX_AMOUNT)).to_integral_value(rounding))
