"""Products and variants with what is shown of them beside their own columns."""

from uuid import UUID

from shop.models.prices import PriceListEntry
from shop.models.products import Product, Variant


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

    @property
    def purchasable(self) -> bool:
        return self.in_stock or self.backorderable


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
        return self.in_stock or self.backorderable


class ListedEntry(PriceListEntry, frozen=True, kw_only=True):
    """An entry with the currency of its list."""

    currency: str
