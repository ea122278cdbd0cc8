"""Platform resources of the catalog: products, variants, options, properties."""

from decimal import Decimal
from typing import Any

from shop.actions.catalog import resources
from shop.base.money import currency_digits, plain_decimal, wire_decimal
from shop.jsonapi.resource import RenderContext, computed, many, money, one, resource
from shop.models.catalog.inputs import ProductInput, ProductPropertyInput, VariantInput
from shop.models.catalog.products import OptionType, OptionValue, ProductProperty, Property
from shop.models.catalog.storefront import PlatformProduct, PlatformVariant
from shop.platform.collection import Collection, kinds

_METADATA = ("public_metadata", "private_metadata")
_STAMPS = ("created_at", "updated_at")
_SIZES = ("weight", "height", "width", "depth")


def decimal_text(name: str) -> Any:
    """Declares a decimal as text like `1.5` or `2.0`, for weights and dimensions."""

    def read(row: Any, _context: RenderContext) -> str | None:
        value: Decimal | None = getattr(row, name)
        return None if value is None else plain_decimal(value)

    return computed(name, read, str | None)


def _cost_price(variant: PlatformVariant, _context: RenderContext) -> str | None:
    if variant.cost_price is None or variant.cost_currency is None:
        return None
    return wire_decimal(variant.cost_price, currency_digits(variant.cost_currency))


def _purchasable(row: Any, _context: RenderContext) -> bool:
    return bool(row.purchasable)


PRODUCT = resource(
    "product",
    PlatformProduct,
    attributes=[
        "name",
        "slug",
        "description",
        "status",
        "available_on",
        "make_active_at",
        "discontinue_on",
        "meta_title",
        "meta_description",
        "meta_keywords",
        "promotionable",
        "tags",
        "sku",
        *_STAMPS,
        "deleted_at",
        *_METADATA,
        computed("purchasable", _purchasable, bool),
        "in_stock",
        "backorderable",
        "available",
        "currency",
        money("price"),
        money("compare_at_price"),
    ],
    relations=[
        one("tax_category", "tax_category"),
        one("shipping_category", "shipping_category"),
        one("primary_variant", "variant"),
        one("default_variant", "variant"),
        many("variants", "variant"),
        many("option_types", "option_type"),
        many("product_properties", "product_property"),
        many("taxons", "taxon"),
        many("images", "image"),
    ],
)
PRODUCTS = Collection(
    path="products",
    access="products",
    resource=PRODUCT,
    actions=resources.PRODUCT,
    writable=kinds(ProductInput),
    required=("name",),
    filters=("name", "description", "slug", "status", "available_on", "discontinue_on", "sku"),
    sorted_as={"number": "sku"},
    via={"master": [("primary_variant",)]},
    sorts=("name", "slug", "available_on", "make_active_at", "price", "sku", "position"),
    find_by=("id", "slug"),
)

VARIANT = resource(
    "variant",
    PlatformVariant,
    attributes=[
        "name",
        "sku",
        "barcode",
        *(decimal_text(name) for name in _SIZES),
        "is_master",
        "position",
        "track_inventory",
        "discontinue_on",
        computed("cost_price", _cost_price, str | None),
        "cost_currency",
        "options_text",
        "total_on_hand",
        computed("purchasable", _purchasable, bool),
        "in_stock",
        "backorderable",
        "available",
        *_STAMPS,
        "deleted_at",
        *_METADATA,
        "currency",
        money("price"),
        money("compare_at_price"),
    ],
    relations=[
        one("product", "product"),
        one("tax_category", "tax_category"),
        many("prices", "price"),
        many("images", "image"),
        many("option_values", "option_value"),
        many("stock_items", "stock_item"),
        many("stock_locations", "stock_location"),
    ],
)
VARIANTS = Collection(
    path="variants",
    access="products",
    resource=VARIANT,
    actions=resources.VARIANT,
    writable=kinds(VariantInput),
    required=("product_id",),
    create_only=("product_id",),
    filters=("sku", "barcode", *_SIZES, "is_master", "discontinue_on", "track_inventory", "product_id"),
    sorts=("sku", "position"),
)

OPTION_TYPE = resource(
    "option_type",
    OptionType,
    attributes=["name", "presentation", "position", "filterable", *_STAMPS, *_METADATA],
    relations=[many("option_values", "option_value")],
)
OPTION_TYPES = Collection(
    path="option_types",
    access="products",
    resource=OPTION_TYPE,
    actions=resources.OPTION_TYPE,
    writable=kinds(OptionType, "name", "presentation", "position", "filterable", *_METADATA),
    required=("name", "presentation"),
    filters=("name", "presentation", "filterable"),
    order="position",
)
OPTION_VALUE = resource(
    "option_value",
    OptionValue,
    attributes=["name", "presentation", "position", *_STAMPS, *_METADATA],
    relations=[one("option_type", "option_type")],
)
OPTION_VALUES = Collection(
    path="option_values",
    access="products",
    resource=OPTION_VALUE,
    actions=resources.OPTION_VALUE,
    writable=kinds(OptionValue, "option_type_id", "name", "presentation", "position", *_METADATA),
    required=("option_type_id", "name", "presentation"),
    create_only=("option_type_id",),
    filters=("name", "presentation", "option_type_id"),
    order="position",
)

PROPERTY = resource("property", Property, attributes=["name", "presentation", "filterable", *_STAMPS])
PROPERTIES = Collection(
    path="properties",
    access="products",
    resource=PROPERTY,
    actions=resources.PROPERTY,
    writable=kinds(Property, "name", "presentation", "filterable"),
    required=("name", "presentation"),
    filters=("name", "presentation", "filterable"),
    order="name",
)
PRODUCT_PROPERTY = resource(
    "product_property",
    ProductProperty,
    attributes=["value", "filter_param", "show_property", "position", *_STAMPS],
    relations=[one("product", "product"), one("property", "property")],
)
PRODUCT_PROPERTIES = Collection(
    path="product_properties",
    access="products",
    resource=PRODUCT_PROPERTY,
    actions=resources.PRODUCT_PROPERTY,
    writable=kinds(ProductPropertyInput),
    required=("product_id", "property_id", "value"),
    create_only=("product_id", "property_id"),
    filters=("value", "filter_param", "product_id", "property_id"),
)
