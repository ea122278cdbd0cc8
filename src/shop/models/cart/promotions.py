"""Promotions with their rules and actions, and batches of coupon codes."""

from datetime import datetime
from typing import Any
from uuid import UUID

from shop.db.rows import Row, check, index, key, refers, table, unique


class PromotionCategory(Row, frozen=True, kw_only=True):
    """A category of promotions; it has no effect on discounts."""

    id: UUID
    name: str
    code: str | None = None
    created_at: datetime
    updated_at: datetime


class Promotion(Row, frozen=True, kw_only=True):
    """A promotion: automatic, or activated by its own code or a code of a batch."""

    id: UUID
    name: str
    description: str | None = None
    code: str | None = None
    """Normalized for lookups: lower case, trimmed."""
    is_automatic: bool = False
    match_policy: str = "all"
    """Whether `all` or `any` of its rules must match."""
    usage_limit: int | None = None
    customer_limit: int | None = None
    """Maximum number of orders per customer."""
    uses: int = 0
    """The number of uses, maintained only if there is a limit. Without one, orders do not wait for this row."""
    advertise: bool = False
    path: str | None = None
    starts_at: datetime | None = None
    expires_at: datetime | None = None
    promotion_category_id: UUID | None = None
    public_metadata: dict[str, Any] = {}  # noqa: RUF012  msgspec copies it.
    private_metadata: dict[str, Any] = {}  # noqa: RUF012
    created_at: datetime
    updated_at: datetime


class PromotionRule(Row, frozen=True, kw_only=True):
    """A condition; `rules/cart/promotion_kinds.py` defines the types and their `preferences`."""

    id: UUID
    promotion_id: UUID
    type: str
    preferences: dict[str, Any] = {}  # noqa: RUF012
    created_at: datetime
    updated_at: datetime


class PromotionAction(Row, frozen=True, kw_only=True):
    """A benefit; `rules/cart/promotion_kinds.py` defines the types and their `preferences`."""

    id: UUID
    promotion_id: UUID
    type: str
    position: int = 0
    preferences: dict[str, Any] = {}  # noqa: RUF012
    created_at: datetime
    updated_at: datetime


class CouponBatch(Row, frozen=True, kw_only=True):
    """A batch of coupon codes, each valid for one order."""

    id: UUID
    promotion_id: UUID
    name: str
    prefix: str = ""
    codes_count: int
    created_at: datetime
    updated_at: datetime


class PromotionVersion(Row, frozen=True, kw_only=True):
    """A version that triggers increment with every change of promotions, so that they can be cached."""

    id: int
    version: int = 0


promotion_categories = table("promotion_categories", PromotionCategory, key("id"), unique("name"))
promotions = table(
    "promotions",
    Promotion,
    key("id"),
    refers("promotion_category_id", promotion_categories, on_delete="set null"),
    index("uq_promotions_code", "code", where="code is not null", is_unique=True),
    index("ix_promotions_automatic", "id", where="is_automatic"),
    index("ix_promotions_promotion_category_id", "promotion_category_id", where="promotion_category_id is not null"),
    check("match_policy_is_known", "match_policy in ('all', 'any')"),
    check("limits_are_positive", "usage_limit > 0 and customer_limit > 0"),
    check("uses_fit", "uses >= 0"),
    check("ends_after_start", "expires_at > starts_at"),
    check("automatic_has_no_code", "not is_automatic or code is null"),
)
promotion_rules = table(
    "promotion_rules",
    PromotionRule,
    key("id"),
    refers("promotion_id", promotions, on_delete="cascade"),
    index("ix_promotion_rules_promotion_id", "promotion_id", "id"),
)
promotion_actions = table(
    "promotion_actions",
    PromotionAction,
    key("id"),
    refers("promotion_id", promotions, on_delete="cascade"),
    index("ix_promotion_actions_promotion_id", "promotion_id", "id"),
)
coupon_batches = table(
    "coupon_batches",
    CouponBatch,
    key("id"),
    refers("promotion_id", promotions, on_delete="cascade"),
    index("ix_coupon_batches_promotion_id", "promotion_id", "id"),
    check("codes_are_some", "codes_count > 0"),
)
promotion_versions = table("promotion_versions", PromotionVersion, key("id"))
