"""Filters of the public lists of products, variants and taxons."""

from collections.abc import Mapping
from decimal import Decimal
from functools import partial
from typing import Annotated
from uuid import UUID

from msgspec import Meta

from shop.base.values import read_decimal
from shop.models.catalog.product_query import MAX_PAIRS
from shop.models.filters import (
    MAX_VALUES,
    Filters,
    LookupIds,
    LookupText,
    LookupTexts,
    read_like_part,
    read_lookup_text,
)

MAX_PERMALINK_LENGTH = 2_048
PriceRange = tuple[Decimal, Decimal | None]
"""The lowest and highest price; without a highest, unbounded."""


def read_price_range(value: object) -> PriceRange:
    """Reads a range such as `10,20`; `10,Infinity` and `10,` have no upper bound."""
    low, _, high = str(value).partition(",")
    is_unbounded = high.strip().lower() in {"", "infinity"}
    try:
        return _read_bound(low or "0"), None if is_unbounded else _read_bound(high)
    except ValueError:
        raise ValueError("must be two amounts with a comma between them, like 10,20 or 10,Infinity") from None


def _read_bound(text: str) -> Decimal:
    bound = read_decimal(text)
    if bound < 0:
        raise ValueError("must be 0 or more")
    return bound


def read_search_text(value: object) -> str | None:
    return read_lookup_text(value).strip() or None


def read_pairs(value: object) -> dict[str, str]:
    """Reads pairs such as `filter[options][size]=xl`; a form sends an empty value for a name that is not set."""
    if not isinstance(value, dict) or len(value) > MAX_PAIRS:
        raise ValueError(f"must be at most {MAX_PAIRS} pairs like filter[options][size]=xl")
    return {read_lookup_text(name): read_lookup_text(text) for name, text in value.items() if text != ""}


def read_properties(value: object) -> dict[str, list[str]]:
    """Reads `filter[properties][material]=glass,steel`; any of the values matches."""
    properties = {name: [part for part in text.split(",") if part.strip()] for name, text in read_pairs(value).items()}
    if sum(map(len, properties.values())) > MAX_VALUES:
        raise ValueError(f"must have at most {MAX_VALUES} values")
    return properties


def _read_name_part(value: object) -> str:
    return read_like_part(value).lower()


SearchText = Annotated[str | None, Meta(extra={"read": read_search_text})]


class CurrencyFilters(Filters, frozen=True):
    """The filters of a record with prices."""

    # The currency is also a separate parameter. Any value is accepted; `read_currency` reads it.
    currency: Annotated[str, Meta(extra={"read": str})] = ""


class VariantFilters(CurrencyFilters, frozen=True):
    """The filters of a product's variants."""

    options: Annotated[Mapping[str, str], Meta(extra={"read": read_pairs})] = {}


class ProductFilters(VariantFilters, frozen=True):
    """The filters of the product list; `ProductQuery` describes them."""

    ids: LookupIds | None = None
    skus: LookupTexts | None = None
    taxons: LookupIds | None = None
    concat_taxons: LookupIds | None = None
    tags: LookupTexts | None = None
    vendor_ids: LookupTexts | None = None
    """The shop has no vendors, so no product matches."""
    name: SearchText = None
    slug: LookupText | None = None
    price: Annotated[PriceRange, Meta(extra={"read": read_price_range})] | None = None
    option_value_ids: LookupIds | None = None
    properties: Annotated[Mapping[str, list[str]], Meta(extra={"read": read_properties})] = {}
    show_deleted: bool = False
    """Has no effect: deleted products are not public."""
    show_discontinued: bool = False
    in_stock: bool = False
    backorderable: bool = False
    purchasable: bool = False


class TaxonFilters(Filters, frozen=True):
    """The filters of the taxon list; a part of a name matches."""

    ids: LookupIds | None = None
    parent_id: UUID | None = None
    parent_permalink: (
        Annotated[str, Meta(extra={"read": partial(read_lookup_text, longest=MAX_PERMALINK_LENGTH)})] | None
    ) = None
    taxonomy_id: UUID | None = None
    name: Annotated[str, Meta(extra={"read": _read_name_part})] | None = None
    roots: bool = False
