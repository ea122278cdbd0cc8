"""Products with all related rows, keyed by name, for imports and exports."""

from collections.abc import Mapping
from uuid import UUID

import msgspec

from shop.models.catalog.prices import Price
from shop.models.catalog.products import Product, ProductOptionType, ProductProperty, Variant
from shop.models.catalog.stock import StockItem


class FullVariant(msgspec.Struct, frozen=True, kw_only=True):
    """A variant with its option values, prices and stock."""

    row: Variant
    tax_category: str | None
    options: Mapping[str, tuple[UUID, str]]
    """By name of the option type: the id of the link, and the name of the value."""
    prices: Mapping[str, Price]
    stock: Mapping[str, StockItem]


class FullProduct(msgspec.Struct, frozen=True, kw_only=True):
    """A product with its variants and all other related rows except images."""

    row: Product
    tax_category: str | None
    shipping_category: str | None
    option_types: Mapping[str, ProductOptionType]
    properties: Mapping[str, ProductProperty]
    taxons: Mapping[str, UUID]
    """By permalink: the id of the classification."""
    master: FullVariant
    variants: tuple[FullVariant, ...]
