"""Quotes: the current price and availability of a variant."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from uuid import UUID

import msgspec

Stocks = Mapping[int, tuple[int, bool]]
"""The stock at all active locations, and whether it can be backordered, by the integer of the variant's id: to hash and
compare those does not run Python code. A variant without stock items is missing.
"""
NO_STOCK = (0, False)


class CatalogMoment(msgspec.Struct, frozen=True):
    """The version of the catalog at a time, by the clock of the database."""

    version: str
    now: datetime


class Quote(msgspec.Struct, frozen=True, kw_only=True):
    """A variant with its current price for the customer and its availability."""

    variant_id: UUID
    product_id: UUID
    name: str
    slug: str
    sku: str
    options_text: str
    tax_category_id: UUID | None
    shipping_category_id: UUID
    weight: Decimal
    is_sold: bool
    """Whether the product is visible and the variant for sale."""
    is_deleted: bool
    """Whether the variant or its product is deleted."""
    is_promotionable: bool
    is_tracked: bool
    on_hand: int
    backorderable: bool
    price: int | None
    compare_at_price: int | None
    price_list_id: UUID | None = None
    changes_at: datetime | None = None
    """When it will begin or cease to be sold by its dates."""

    def can_supply(self, quantity: int) -> bool:
        return not self.is_tracked or self.backorderable or self.on_hand >= quantity

    @property
    def most(self) -> int | None:
        """Returns the quantity available; `None` if unlimited."""
        return None if not self.is_tracked or self.backorderable else max(self.on_hand, 0)
