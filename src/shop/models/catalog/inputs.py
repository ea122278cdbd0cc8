"""Input of catalog records: the fields that a request may set, each of them optional."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, TypedDict
from uuid import UUID

import msgspec
from msgspec import Meta


class VariantPriceInput(TypedDict, total=False):
    """The price of a variant; without a currency, in the shop's first one."""

    price: Decimal
    compare_at_price: Decimal | None
    currency: str


class DimensionsInput(TypedDict, total=False):
    """The weight and dimensions of a variant."""

    weight: Decimal | None
    height: Decimal | None
    width: Decimal | None
    depth: Decimal | None


class ProductInput(TypedDict, total=False):
    """A product with its option types and taxons. Price, SKU and dimensions are those of its master variant."""

    name: str
    slug: str
    description: str | None
    status: str
    available_on: datetime | None
    make_active_at: datetime | None
    discontinue_on: datetime | None
    meta_title: str | None
    meta_description: str | None
    meta_keywords: str | None
    promotionable: bool
    tags: list[str]
    tax_category_id: UUID | None
    shipping_category_id: UUID | None
    public_metadata: dict[str, Any]
    private_metadata: dict[str, Any]
    price: Decimal
    compare_at_price: Decimal | None
    currency: str
    sku: str
    barcode: str | None
    weight: Decimal | None
    height: Decimal | None
    width: Decimal | None
    depth: Decimal | None
    track_inventory: bool
    option_type_ids: list[UUID]
    taxon_ids: list[UUID]


class VariantInput(TypedDict, total=False):
    """A variant with its option values and its price."""

    product_id: UUID
    sku: str
    barcode: str | None
    weight: Decimal | None
    height: Decimal | None
    width: Decimal | None
    depth: Decimal | None
    position: int
    track_inventory: bool
    discontinue_on: datetime | None
    cost_currency: str | None
    tax_category_id: UUID | None
    public_metadata: dict[str, Any]
    private_metadata: dict[str, Any]
    price: Decimal
    compare_at_price: Decimal | None
    currency: str
    cost_price: Decimal | None
    option_value_ids: list[UUID]


class ProductPropertyInput(TypedDict, total=False):
    """The value of a property of a product."""

    product_id: UUID
    property_id: UUID
    value: str
    show_property: bool
    position: int


class ImageInput(TypedDict, total=False):
    """An image and the record it shows, in a field of its own or as Spree's `viewable`."""

    product_id: UUID | None
    variant_id: UUID | None
    taxon_id: UUID | None
    alt: str | None
    position: int
    viewable_type: str | None
    viewable_id: UUID | None


class NewImageInput(TypedDict, total=False):
    """A new image of a product, of a taxon or of the shop; without a position, it is the last one."""

    product_id: UUID
    variant_id: UUID | None
    taxon_id: UUID
    shop_id: int
    alt: str | None
    position: int | None


class TaxonomyInput(TypedDict, total=False):
    """A taxonomy; its root taxon has the same name."""

    name: str
    position: int
    public_metadata: dict[str, Any]
    private_metadata: dict[str, Any]


class TaxonInput(TypedDict, total=False):
    """A taxon and its position in the tree. An empty slug is derived from the name."""

    name: str
    taxonomy_id: UUID
    parent_id: UUID | None
    slug: str
    position: int
    description: str | None
    meta_title: str | None
    meta_description: str | None
    meta_keywords: str | None
    public_metadata: dict[str, Any]
    private_metadata: dict[str, Any]


class ClassificationInput(TypedDict, total=False):
    """A product in a taxon."""

    product_id: UUID
    taxon_id: UUID
    position: int


class PriceInput(TypedDict, total=False):
    """The base price of a variant in a currency."""

    variant_id: UUID
    currency: str
    amount: Decimal
    compare_at_amount: Decimal | None


class PriceListInput(TypedDict, total=False):
    """A price list, its period, and its discount on variants without an entry."""

    name: str
    currency: str
    priority: int
    percent_off: Decimal | None
    starts_at: datetime | None
    ends_at: datetime | None
    active: bool


class PriceListEntryInput(TypedDict, total=False):
    """A variant's price in a list from a minimum quantity."""

    price_list_id: UUID
    variant_id: UUID
    min_quantity: int
    amount: Decimal


class StockLocationInput(TypedDict, total=False):
    """A stock location and its address."""

    name: str
    admin_name: str | None
    default: bool
    address1: str | None
    address2: str | None
    city: str | None
    state_name: str | None
    zipcode: str | None
    phone: str | None
    active: bool
    backorderable_default: bool
    country_id: UUID | None


class StockItemInput(TypedDict, total=False):
    """The stock of a variant at a location; a new count becomes a movement."""

    variant_id: UUID
    stock_location_id: UUID
    count_on_hand: int
    backorderable: bool
    public_metadata: dict[str, Any]
    private_metadata: dict[str, Any]


class StockMovementInput(TypedDict, total=False):
    """A movement of a stock item, or of a variant at a location."""

    stock_item_id: UUID
    quantity: int
    reason: str
    note: str | None
    variant_id: UUID
    stock_location_id: UUID


class TaxonPosition(msgspec.Struct, frozen=True):
    """The new parent of a taxon, and its index among the parent's children."""

    new_parent_id: UUID
    new_position_idx: Annotated[int, Meta(description="Counted from 0; a larger index means last.")]


class TaxonPositionInput(msgspec.Struct, frozen=True):
    """The new position of a taxon."""

    taxon: TaxonPosition
