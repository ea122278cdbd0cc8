"""Products with all that hangs on them, by the names that people give: what a line of an import or export speaks of."""

from collections.abc import Mapping
from uuid import UUID

import msgspec

from shop.models.catalog.prices import Price
from shop.models.catalog.products import Product, ProductOptionType, ProductProperty, Variant
from shop.models.catalog.stock import StockItem


class WholeVariant(msgspec.Struct, frozen=True, kw_only=True):
    """A variant with its option values, prices and stock."""

    row: Variant
    tax_category: str | None
    options: Mapping[str, tuple[UUID, str]]
    """By the name of the option type: the id of the link, and the name of the value."""
    prices: Mapping[str, Price]
    stock: Mapping[str, StockItem]


class WholeProduct(msgspec.Struct, frozen=True, kw_only=True):
    """A product with its variants and everything else but its pictures."""

    row: Product
    tax_category: str | None
    shipping_category: str | None
    option_types: Mapping[str, ProductOptionType]
    properties: Mapping[str, ProductProperty]
    taxons: Mapping[str, UUID]
    """By permalink: the id of the classification."""
    master: WholeVariant
    variants: tuple[WholeVariant, ...]
