"""What taxes are worked out from: the categories that goods fall into."""

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


tax_categories = table(
    "tax_categories",
    TaxCategory,
    key("id"),
    unique("name"),
    index("ix_tax_categories_created_at", "created_at", "id"),
)
