"""Coupon codes, the promotions and promotion uses of orders, and adjustments."""

from datetime import datetime
from uuid import UUID

from shop.db.rows import Row, check, index, key, refers, table, unique
from shop.models.access.users import users
from shop.models.cart.orders import orders
from shop.models.cart.promotions import coupon_batches, promotions


class CouponCode(Row, frozen=True, kw_only=True):
    """A code of a batch; `order_id` is the order that used it, which may be archived."""

    id: UUID
    batch_id: UUID
    promotion_id: UUID
    code: str
    order_id: UUID | None = None
    used_at: datetime | None = None
    created_at: datetime


class OrderPromotion(Row, frozen=True, kw_only=True):
    """A code entered by the shopper; it stays on the cart without a discount while its rules do not match."""

    id: UUID
    order_id: UUID
    promotion_id: UUID
    coupon_code_id: UUID | None = None
    code: str
    created_at: datetime


class PromotionUse(Row, frozen=True, kw_only=True):
    """The use of a promotion by an order: inserted at completion, deleted on cancellation."""

    id: UUID
    promotion_id: UUID
    order_id: UUID
    user_id: UUID | None = None
    email: str | None = None
    """The normalized address of a guest."""
    coupon_code_id: UUID | None = None
    created_at: datetime


class Adjustment(Row, frozen=True, kw_only=True):
    """A tax or promotion amount of a completed order, for a line item, a shipment or the whole order; or a manual
    adjustment.
    """

    id: UUID
    order_id: UUID
    adjustable_type: str
    adjustable_id: UUID
    source_type: str | None = None
    """`None` for a manual adjustment."""
    source_id: UUID | None = None
    label: str
    amount: int
    included: bool = False
    """Whether the amount is included in the price, not added to it."""
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
