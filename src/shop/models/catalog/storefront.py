"""Products, variants and related rows with the additional fields of the APIs."""

from typing import Any
from uuid import UUID

import msgspec

from shop.base.listing import Page
from shop.models.catalog.prices import PriceListEntry
from shop.models.catalog.products import OptionType, Product, ProductProperty, Variant


class PlatformProduct(Product, frozen=True, kw_only=True):
    """A product with its SKU, its price in one currency, and its availability."""

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
    """Its lowest position in taxons; `None` if it is in none."""

    @property
    def purchasable(self) -> bool:
        return self.available and (self.in_stock or self.backorderable)


class PlatformVariant(Variant, frozen=True, kw_only=True):
    """A variant with its product's name, its options as text, its price in one currency, and its stock."""

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


class PlatformPriceListEntry(PriceListEntry, frozen=True, kw_only=True):
    """A price list entry with the currency of its list."""

    currency: str


class StorefrontProduct(Product, frozen=True, kw_only=True):
    """A product as a shopper sees it, with the ids of its related rows and the shopper's price."""

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
    """The total number of results, if they were counted."""
    cursor_value: Any = None
    """The value of the first sort column in a list, for the cursor."""

    @property
    def purchasable(self) -> bool:
        return self.available and (self.in_stock or self.backorderable)


class ProductMoment(msgspec.Struct, frozen=True):
    """What tells whether the cached document of a product is current."""

    key: UUID | str
    """The id or slug by which it was found."""
    product_id: UUID
    version: int | None
    available: bool
    is_due: bool
    """Whether a date has passed on which the document may change, before the product was refreshed."""


class ProductOnPage(msgspec.Struct, frozen=True):
    """A product of a list, with the version of its document and, for a customer with price lists, the price."""

    id: UUID
    version: int | None
    default_variant_id: UUID
    available: bool
    is_due: bool
    """Whether a date has passed on which the document may change, before the product was refreshed."""
    price: int | None
    total: int | None = None
    cursor_value: Any = None


class ProductMatches(msgspec.Struct, frozen=True, gc=False):
    """The first products that match a query, in their order, and the number of all that match."""

    ids: bytes
    """16 bytes each."""
    total: int
    is_estimate: bool = False

    def page(self, page: Page) -> list[UUID] | None:
        """Returns the ids of a page; None if it is beyond the first products."""
        start, end = 16 * page.offset, 16 * min(page.offset + page.size, self.total)
        if end > len(self.ids):
            return None
        return [UUID(bytes=self.ids[place : place + 16]) for place in range(start, end, 16)]


class StorefrontVariant(Variant, frozen=True, kw_only=True):
    """A variant as a shopper sees it; its price is resolved separately."""

    in_stock: bool
    backorderable: bool
    available: bool
    options: list[dict[str, str]]
    """Name, value and presentation of each option, in the order of the option types."""
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


class StorefrontOptionType(OptionType, frozen=True, kw_only=True):
    """An option type with the ids of its values, by position."""

    option_value_ids: list[UUID]


class StorefrontProperty(ProductProperty, frozen=True, kw_only=True):
    """A product property with the property's name and presentation."""

    name: str
    description: str


class Facet(msgspec.Struct, frozen=True):
    """A filter value with its option type or property."""

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
    """The available filter values, and the number of products sold in the currency, in all and in the requested taxons;
    a product in two of these taxons counts twice.
    """

    values: list[Facet]
    everywhere: int
    in_scope: int
