"""How orders use promotions: the codes that were typed in, those of batches, each use, and the rows of what an order
was charged or spared beside its goods.
"""

from datetime import datetime
from uuid import UUID

from shop.db.rows import Row, check, index, key, refers, table, unique
from shop.models.access.users import users
from shop.models.cart.orders import orders
from shop.models.cart.promotions import coupon_batches, promotions


class CouponCode(Row, frozen=True, kw_only=True):
    """A code of a batch; `order_id` is the order that used it up."""

    id: UUID
    batch_id: UUID
    promotion_id: UUID
    code: str
    order_id: UUID | None = None
    used_at: datetime | None = None
    created_at: datetime


class OrderPromotion(Row, frozen=True, kw_only=True):
    """A code that the shopper typed in; while its conditions do not hold it stays on the cart and takes nothing off."""

    id: UUID
    order_id: UUID
    promotion_id: UUID
    coupon_code_id: UUID | None = None
    code: str
    created_at: datetime


class PromotionUse(Row, frozen=True, kw_only=True):
    """An order that had something taken off by a promotion: written when it is completed, gone when it is cancelled."""

    id: UUID
    promotion_id: UUID
    order_id: UUID
    user_id: UUID | None = None
    email: str | None = None
    """Who it was, where nobody had signed in; as it is compared."""
    coupon_code_id: UUID | None = None
    created_at: datetime


class Adjustment(Row, frozen=True, kw_only=True):
    """A tax or a promotion of a completed order, as it was worked out for a line, a shipment or the whole; or what
    somebody added to an order, or took off it, by hand.
    """

    id: UUID
    order_id: UUID
    adjustable_type: str
    adjustable_id: UUID
    source_type: str | None = None
    """None where somebody entered it by hand."""
    source_id: UUID | None = None
    label: str
    amount: int
    included: bool = False
    """In the price already, and not added to it."""
    mandatory: bool = False
    eligible: bool = True
    state: str = "closed"
    created_at: datetime
    updated_at: datetime


coupon_codes = table(
    "coupon_codes",
    CouponCode,
    key("id"),
    refers("batch_id", coupon_batches, on_delete="cascade"),
    refers("promotion_id", promotions, on_delete="cascade"),
    refers("order_id", orders, on_delete="set null"),
    unique("code"),
    index("ix_coupon_codes_batch_id", "batch_id", "id"),
    index("ix_coupon_codes_promotion_id", "promotion_id"),
    index("ix_coupon_codes_order_id", "order_id", where="order_id is not null"),
)
order_promotions = table(
    "order_promotions",
    OrderPromotion,
    key("id"),
    refers("order_id", orders, on_delete="cascade"),
    refers("promotion_id", promotions, on_delete="cascade"),
    refers("coupon_code_id", coupon_codes, on_delete="cascade"),
    unique("order_id", "promotion_id"),
    index("ix_order_promotions_promotion_id", "promotion_id"),
    index("ix_order_promotions_coupon_code_id", "coupon_code_id", where="coupon_code_id is not null"),
)
promotion_uses = table(
    "promotion_uses",
    PromotionUse,
    key("id"),
    refers("promotion_id", promotions),
    refers("order_id", orders, on_delete="cascade"),
    refers("user_id", users, on_delete="set null"),
    refers("coupon_code_id", coupon_codes),
    unique("promotion_id", "order_id"),
    index("ix_promotion_uses_order_id", "order_id"),
    index("ix_promotion_uses_user_id", "user_id", where="user_id is not null"),
    index("ix_promotion_uses_email", "email", where="email is not null"),
    index("ix_promotion_uses_coupon_code_id", "coupon_code_id", where="coupon_code_id is not null"),
)
adjustments = table(
    "adjustments",
    Adjustment,
    key("id"),
    refers("order_id", orders, on_delete="cascade"),
    index("ix_adjustments_order_id", "order_id", "id"),
    index("ix_adjustments_created_at", "created_at", "id"),
    index("ix_adjustments_adjustable_id", "adjustable_id", "id"),
    check("adjustable_is_known", "adjustable_type in ('line_item', 'shipment', 'order')"),
    check("source_is_known", "source_type in ('promotion', 'tax_rate')"),
)
