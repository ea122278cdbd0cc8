"""The kinds that goods fall into: those that are taxed alike, and those that are sent alike."""

from datetime import datetime
from uuid import UUID

from shop.db.rows import Row, index, key, table, unique


class TaxCategory(Row, frozen=True, kw_only=True):
    """A kind of goods that is taxed alike."""

    id: UUID
    name: str
    description: str | None = None
    tax_code: str | None = None
    is_default: bool = False
    created_at: datetime
    updated_at: datetime


class ShippingCategory(Row, frozen=True, kw_only=True):
    """A kind of goods that is sent alike."""

    id: UUID
    name: str
    description: str | None = None
    created_at: datetime
    updated_at: datetime


DEFAULT_SHIPPING_CATEGORY = UUID("00000000-0000-7000-8000-000000000001")
"""Made by migration: a product of which nothing else was said is of it."""

tax_categories = table(
    "tax_categories",
    TaxCategory,
    key("id"),
    unique("name"),
    index("ix_tax_categories_created_at", "created_at", "id"),
)
shipping_categories = table("shipping_categories", ShippingCategory, key("id"), unique("name"))
