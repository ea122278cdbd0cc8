"""Products and variants with what is shown of them beside their own columns."""

from typing import Any
from uuid import UUID

import msgspec

from shop.models.catalog.prices import PriceListEntry
from shop.models.catalog.products import OptionType, Product, ProductProperty, Variant


class SoldProduct(Product, frozen=True, kw_only=True):
    """A product with its master's number, its price in one currency, and whether it can be had."""

    primary_variant_id: UUID
    default_variant_id: UUID
    sku: str
    in_stock: bool
    backorderable: bool
    available: bool
    currency: str
    price: int | None
    compare_at_price: int | None
    position: int | None
    """The first of its places in categories; none where it is in none."""

    @property
    def purchasable(self) -> bool:
        return self.available and (self.in_stock or self.backorderable)


class SoldVariant(Variant, frozen=True, kw_only=True):
    """A variant with its product's name, its options in words, its price in one currency, and how many there are."""

    name: str
    options_text: str
    total_on_hand: int
    in_stock: bool
    backorderable: bool
    available: bool
    currency: str
    price: int | None
    compare_at_price: int | None

    @property
    def purchasable(self) -> bool:
        return self.available and (self.in_stock or self.backorderable)


class ListedEntry(PriceListEntry, frozen=True, kw_only=True):
    """An entry with the currency of its list."""

    currency: str


class ShownProduct(Product, frozen=True, kw_only=True):
    """A product as a shopper sees it: with the ids of what belongs to it and what it costs them."""

    master_id: UUID
    default_variant_id: UUID
    variant_ids: list[UUID]
    option_type_ids: list[UUID]
    property_ids: list[UUID]
    taxon_ids: list[UUID]
    image_ids: list[UUID]
    sku: str
    barcode: str | None
    in_stock: bool
    backorderable: bool
    available: bool
    currency: str
    price: int | None
    base_price: int | None
    compare_at_price: int | None
    price_list_id: UUID | None
    price_list_name: str | None
    total: int | None = None
    """Of all that were found with it, where they were gathered."""
    place: Any = None
    """What it was sorted by first, where it was listed."""

    @property
    def purchasable(self) -> bool:
        return self.available and (self.in_stock or self.backorderable)


class ShownVariant(Variant, frozen=True, kw_only=True):
    """A variant as a shopper sees it, but for its price, which is resolved apart."""

    in_stock: bool
    backorderable: bool
    available: bool
    options: list[dict[str, str]]
    """Name, value and presentation of each option, in the order of their types."""
    option_value_ids: list[UUID]
    image_ids: list[UUID]
    currency: str = ""
    price: int | None = None
    compare_at_price: int | None = None

    @property
    def purchasable(self) -> bool:
        return self.available and (self.in_stock or self.backorderable)

    @property
    def options_text(self) -> str:
        return ", ".join(f"{option['presentation_of_type']}: {option['presentation']}" for option in self.options)


class ShownOptionType(OptionType, frozen=True, kw_only=True):
    """An option type with the ids of its values, in their order."""

    option_value_ids: list[UUID]


class ShownProperty(ProductProperty, frozen=True, kw_only=True):
    """A product's property with what it is called."""

    name: str
    description: str


class Facet(msgspec.Struct, frozen=True):
    """A value that products may be filtered by, with the option type or property it is of."""

    kind: str
    owner_id: UUID
    owner_name: str
    owner_presentation: str
    owner_position: int
    id: UUID
    name: str
    presentation: str
    position: int
    product_count: int


class Facets(msgspec.Struct, frozen=True):
    """What products may be filtered by, how many are sold in the currency in all, and in the taxons that were asked
    for; of several taxons, a product that stands in two counts twice.
    """

    values: list[Facet]
    everywhere: int
    in_scope: int
