"""Products, variants, option types and values, and properties."""

from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from shop.db.rows import Row, check, index, key, refers, search_index, table, unique
from shop.models.setup.taxes import shipping_categories, tax_categories

STATUSES = ("draft", "active", "archived")


class OptionType(Row, frozen=True, kw_only=True):
    """An attribute by which variants differ: `size`, displayed as "Size"."""

    id: UUID
    name: str
    presentation: str
    position: int = 0
    filterable: bool = True
    public_metadata: dict[str, Any] = {}  # noqa: RUF012  msgspec copies it.
    private_metadata: dict[str, Any] = {}  # noqa: RUF012
    created_at: datetime
    updated_at: datetime


class OptionValue(Row, frozen=True, kw_only=True):
    """A value of an option type: `xl`, displayed as "Extra large"."""

    id: UUID
    option_type_id: UUID
    name: str
    presentation: str
    position: int = 0
    public_metadata: dict[str, Any] = {}  # noqa: RUF012
    private_metadata: dict[str, Any] = {}  # noqa: RUF012
    created_at: datetime
    updated_at: datetime


class Product(Row, frozen=True, kw_only=True):
    """A product. Its prices and stock belong to its variants."""

    id: UUID
    name: str
    slug: str
    description: str | None = None
    status: str = "draft"
    available_on: datetime | None = None
    """Visible from this time on; always if `None`."""
    make_active_at: datetime | None = None
    discontinue_on: datetime | None = None
    meta_title: str | None = None
    meta_description: str | None = None
    meta_keywords: str | None = None
    promotionable: bool = True
    tags: list[str] = []  # noqa: RUF012
    tax_category_id: UUID | None = None
    shipping_category_id: UUID | None = None
    """`None` means the default category."""
    public_metadata: dict[str, Any] = {}  # noqa: RUF012
    private_metadata: dict[str, Any] = {}  # noqa: RUF012
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None = None


class ProductSlug(Row, frozen=True, kw_only=True):
    """A former slug of a product; links to it work until another product uses it."""

    slug: str
    product_id: UUID
    created_at: datetime


class ProductOptionType(Row, frozen=True, kw_only=True):
    """An option type that the variants of a product differ by."""

    id: UUID
    product_id: UUID
    option_type_id: UUID
    position: int = 0
    created_at: datetime
    updated_at: datetime


class Variant(Row, frozen=True, kw_only=True):
    """A variant. Every product has one master, which can be bought only if there are no other variants."""

    id: UUID
    product_id: UUID
    is_master: bool = False
    sku: str = ""
    barcode: str | None = None
    weight: Decimal | None = None
    height: Decimal | None = None
    width: Decimal | None = None
    depth: Decimal | None = None
    position: int = 0
    track_inventory: bool = True
    discontinue_on: datetime | None = None
    cost_price: int | None = None
    cost_currency: str | None = None
    tax_category_id: UUID | None = None
    public_metadata: dict[str, Any] = {}  # noqa: RUF012
    private_metadata: dict[str, Any] = {}  # noqa: RUF012
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None = None


class VariantOptionValue(Row, frozen=True, kw_only=True):
    """An option value of a variant."""

    id: UUID
    variant_id: UUID
    option_value_id: UUID
    created_at: datetime
    updated_at: datetime


class Property(Row, frozen=True, kw_only=True):
    """A property of products: `material`, displayed as "Material"."""

    id: UUID
    name: str
    presentation: str
    filterable: bool = True
    created_at: datetime
    updated_at: datetime


class ProductProperty(Row, frozen=True, kw_only=True):
    """The value of a property for one product."""

    id: UUID
    product_id: UUID
    property_id: UUID
    value: str
    filter_param: str
    """The value as used in URLs."""
    facet_id: UUID
    """Identifies the property and value; the same for all products that have it."""
    show_property: bool = True
    position: int = 0
    created_at: datetime
    updated_at: datetime


option_types = table("option_types", OptionType, key("id"), unique("name"))
option_values = table(
    "option_values",
    OptionValue,
    key("id"),
    refers("option_type_id", option_types, on_delete="cascade"),
    unique("option_type_id", "name"),
)
products = table(
    "products",
    Product,
    key("id"),
    refers("tax_category_id", tax_categories),
    refers("shipping_category_id", shipping_categories),
    check("status_is_known", "status in ('draft', 'active', 'archived')"),
    index("uq_products_slug", "slug", where="deleted_at is null", is_unique=True),
    index("ix_products_name", "name", "id"),
    index("ix_products_created_at", "created_at", "id"),
    index("ix_products_updated_at", "updated_at", "id"),
    index("ix_products_available_on", "available_on", "id"),
    index("ix_products_tax_category_id", "tax_category_id", where="tax_category_id is not null"),
    index("ix_products_shipping_category_id", "shipping_category_id", where="shipping_category_id is not null"),
    search_index("ix_products_tags", "tags"),
    index("ix_products_make_active_at", "make_active_at", where="make_active_at is not null and status = 'draft'"),
)
product_slugs = table(
    "product_slugs",
    ProductSlug,
    key("slug"),
    refers("product_id", products, on_delete="cascade"),
    index("ix_product_slugs_product_id", "product_id"),
)
product_option_types = table(
    "product_option_types",
    ProductOptionType,
    key("id"),
    refers("product_id", products, on_delete="cascade"),
    refers("option_type_id", option_types),
    unique("product_id", "option_type_id"),
    index("ix_product_option_types_option_type_id", "option_type_id"),
)
variants = table(
    "variants",
    Variant,
    key("id"),
    refers("product_id", products, on_delete="cascade"),
    refers("tax_category_id", tax_categories),
    index("uq_variants_master", "product_id", where="is_master", is_unique=True),
    index("uq_variants_sku", "sku", where="sku <> '' and deleted_at is null", is_unique=True),
    index("ix_variants_product_id", "product_id", "position"),
    index("ix_variants_created_at", "created_at", "id"),
    index("ix_variants_tax_category_id", "tax_category_id", where="tax_category_id is not null"),
    check("cost_not_negative", "cost_price >= 0"),
)
variant_option_values = table(
    "variant_option_values",
    VariantOptionValue,
    key("id"),
    refers("variant_id", variants, on_delete="cascade"),
    refers("option_value_id", option_values),
    unique("variant_id", "option_value_id"),
    index("ix_variant_option_values_option_value_id", "option_value_id"),
)
properties = table("properties", Property, key("id"), unique("name"))
product_properties = table(
    "product_properties",
    ProductProperty,
    key("id"),
    refers("product_id", products, on_delete="cascade"),
    refers("property_id", properties),
    unique("product_id", "property_id"),
    index("ix_product_properties_property_id", "property_id", "filter_param"),
    index("ix_product_properties_facet_id", "facet_id", "id"),
)
