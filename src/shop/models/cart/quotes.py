"""What the shop offers for what somebody wants to buy, as it is now."""

from decimal import Decimal
from uuid import UUID

import msgspec


class Quote(msgspec.Struct, frozen=True, kw_only=True):
    """A variant as it can be bought now: at which price for the one who asks, and whether there is enough."""

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
    """The product is to be seen, and this variant of it is still sold."""
    is_deleted: bool
    """The variant, or its product."""
    is_promotionable: bool
    is_tracked: bool
    on_hand: int
    backorderable: bool
    price: int | None
    compare_at_price: int | None
    price_list_id: UUID | None = None

    def can_supply(self, quantity: int) -> bool:
        return not self.is_tracked or self.backorderable or self.on_hand >= quantity

    @property
    def most(self) -> int | None:
        """How many can be had; none is any number."""
        return None if not self.is_tracked or self.backorderable else max(self.on_hand, 0)
