"""Tax categories and shipping categories."""

from datetime import datetime
from uuid import UUID

from shop.db.rows import Row, index, key, table, unique


class TaxCategory(Row, frozen=True, kw_only=True):
    """A category of goods with the same tax rates."""

    id: UUID
    name: str
    description: str | None = None
    tax_code: str | None = None
    is_default: bool = False
    created_at: datetime
    updated_at: datetime


class ShippingCategory(Row, frozen=True, kw_only=True):
    """A category of goods with the same shipping methods."""

    id: UUID
    name: str
    description: str | None = None
    created_at: datetime
    updated_at: datetime


DEFAULT_SHIPPING_CATEGORY = UUID("00000000-0000-7000-8000-000000000001")
"""The default category of products; created by migration."""

tax_categories = table(
    "tax_categories",
    TaxCategory,
    key("id"),
    unique("name"),
    index("ix_tax_categories_created_at", "created_at", "id"),
    index("uq_tax_categories_is_default", "is_default", where="is_default", is_unique=True),
)
shipping_categories = table("shipping_categories", ShippingCategory, key("id"), unique("name"))
