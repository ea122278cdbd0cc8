"""Reads Spree's product filters and sorts from nested request parameters."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, InvalidOperation
from typing import Any, TypeVar
from uuid import UUID

from shop.base.errors import Malformed
from shop.base.listing import Keyset, Page, Sort
from shop.base.money import LARGEST_AMOUNT, currency_digits
from shop.base.product_query import MOST_PAIRS, ProductQuery, search_query
from shop.jsonapi.paging import read_keyset, read_page
from shop.models.setup.shop import Shop
from shop.rules.catalog.products import filter_param

T = TypeVar("T")
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
FILTERS = (
    "ids",
    "skus",
    "taxons",
    "concat_taxons",
    "tags",
    "vendor_ids",
    "name",
    "slug",
    "price",
    "currency",
    "options",
    "option_value_ids",
    "properties",
    "show_deleted",
    "show_discontinued",
    "in_stock",
    "backorderable",
    "purchasable",
)
MAX_FILTER_VALUES = 500
MAX_FILTER_LENGTH = 200


def read_currency(params: Params, shop: Shop) -> str:
    """Return the requested currency, case-insensitive, or the shop's first currency if it is not supported."""
    filters = params.get("filter")
    value = (filters.get("currency") if isinstance(filters, dict) else None) or params.get("currency")
    currency = value.upper() if isinstance(value, str) else ""
    return currency if currency in shop.currencies else shop.currencies[0]


def read_product_query(params: Params, shop: Shop) -> ProductQuery:
    filters = read_filters(params, FILTERS)
    currency = read_currency(params, shop)
    q, name = _words("q", params.get("q")), _words("name", filters.get("name"))
    # A text without searchable words matches no product.
    is_nothing = any(text and search_query(text) is None for text in (q, name)) or bool(filters.get("vendor_ids"))
    sort = _sort(params)
    return ProductQuery(
        page=_page(params, sort, is_ranked=q is not None and not sort),
        sort=sort,
        currency=currency,
        ids=read_ids("ids", filters),
        skus=_given("skus", filters, str),
        tags=_given("tags", filters, str),
        taxons=read_ids("taxons", filters),
        concat_taxons=read_ids("concat_taxons", filters),
        slug=read_text("slug", filters["slug"]) if filters.get("slug") else None,
        name=name,
        q=q,
        price=_price(filters["price"], currency) if filters.get("price") else None,
        options=read_pairs("options", filters),
        properties=_properties(filters),
        option_value_ids=read_ids("option_value_ids", filters),
        in_stock=filters.get("in_stock") == "true",
        backorderable=filters.get("backorderable") == "true",
        purchasable=filters.get("purchasable") == "true",
        show_discontinued=bool(filters.get("show_discontinued")),
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
    # Outside a taxon products have no position and are sorted by id.
    "position": int | UUID | None,
}


def _page(params: Params, sort: tuple[Sort, ...], *, is_ranked: bool) -> Page | Keyset:
    keyset = read_keyset(params, _PLACES[sort[0].name] if sort else UUID)
    if keyset is None:
        return read_page(params)
    if len(sort) > 1 or is_ranked:
        raise Malformed("page[after] allows one sort field, and a search requires one.", code="bad_page")
    return keyset


def read_filters(params: Params, filter_names: Sequence[str]) -> Mapping[str, Any]:
    """Read `filter[name]=value`. Reject unknown names, so that a typo does not return everything."""
    filters = params.get("filter")
    if filters is None or filters == "":
        return {}
    if not isinstance(filters, dict):
        raise Malformed("Send filters as filter[name]=value.", code="unknown_filter")
    for name in filters:
        if name not in filter_names:
            allowed_names = ", ".join(filter_names) or "none"
            raise Malformed(f"There is no filter {name[:100]!r}; allowed: {allowed_names}.", code="unknown_filter")
    return filters


def read_pairs(name: str, filters: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Read pairs such as `filter[options][size]=xl`."""
    pairs = filters.get(name)
    if pairs in (None, ""):
        return ()
    if not isinstance(pairs, dict) or len(pairs) > MOST_PAIRS:
        raise _bad(name, f"is sent as filter[{name}][name]=value, at most {MOST_PAIRS} times")
    return tuple(sorted((read_text(name, key), read_text(name, value)) for key, value in pairs.items() if value != ""))


def _properties(filters: Mapping[str, Any]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Read `filter[properties][material]=glass,steel`; any of the values matches."""
    pairs = [(name, _filter_params(values)) for name, values in read_pairs("properties", filters)]
    if sum(len(params) for _, params in pairs) > MAX_FILTER_VALUES:
        raise _bad("properties", f"takes at most {MAX_FILTER_VALUES} values")
    return tuple((name, params) for name, params in pairs if params)


def _filter_params(values: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter_param(value) for value in values.split(",") if value.strip()))


def _sort(params: Params) -> tuple[Sort, ...]:
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


def read_ids(name: str, filters: Mapping[str, Any]) -> tuple[UUID, ...] | None:
    return _given(name, filters, UUID)


def _given(name: str, filters: Mapping[str, Any], read: Callable[[str], T]) -> tuple[T, ...] | None:
    """Read comma-separated values or a list."""
    raw = filters.get(name)
    if raw in (None, "", []):
        return None
    values = raw if isinstance(raw, list) else str(raw).split(",")
    if isinstance(raw, dict) or len(values) > MAX_FILTER_VALUES:
        raise _bad(name, f"takes at most {MAX_FILTER_VALUES} values with commas between them")
    try:
        return tuple(read(read_text(name, value).strip()) for value in values)
    except ValueError:
        raise _bad(name, "takes ids") from None


def _price(value: Any, currency: str) -> tuple[int, int | None]:
    """Read a range such as `10,20`; `10,Infinity` and `10,` have no upper bound."""
    low, _, high = str(value).partition(",")
    try:
        start = _minor(low or "0", currency, ROUND_CEILING)
        end = None if high.strip().lower() in {"", "infinity"} else _minor(high, currency, ROUND_FLOOR)
    except (InvalidOperation, ValueError):
        raise _bad("price", "takes two amounts with a comma between them, like 10,20 or 10,Infinity") from None
    return start, end


def _minor(text: str, currency: str, rounding: str) -> int:
    """Convert a bound to minor units, rounded toward the inside of the range and capped at the largest amount."""
    if len(text) > 40 or not set(text.strip()) <= set("0123456789."):
        raise ValueError
    minor = Decimal(text.strip()).scaleb(currency_digits(currency))
    return int(min(minor, Decimal(LARGEST_AMOUNT)).to_integral_value(rounding))


def _words(name: str, value: Any) -> str | None:
    return (read_text(name, value).strip() or None) if value else None


def read_text(name: str, value: Any, longest: int = MAX_FILTER_LENGTH) -> str:
    if not isinstance(value, str) or len(value) > longest:
        raise _bad(name, f"takes text of at most {longest} characters")
    return value


def _bad(name: str, why: str) -> Malformed:
    return Malformed(f"The filter {name!r} {why}.", code="bad_filter")
