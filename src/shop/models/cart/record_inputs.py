"""Input of platform actions on line items and promotions: the fields that a request may set, each of them optional."""

from datetime import datetime
from typing import Any, TypedDict
from uuid import UUID

import msgspec


class LineItemInput(TypedDict, total=False):
    """A line item of an open order."""

    order_id: UUID
    variant_id: UUID
    quantity: int
    public_metadata: dict[str, Any]
    private_metadata: dict[str, Any]


class PromotionPartInput(msgspec.Struct, frozen=True, omit_defaults=True):
    """A rule or an action of a promotion."""

    type: str
    preferences: dict[str, Any] | None = None


class PromotionActionPartInput(PromotionPartInput, frozen=True, omit_defaults=True):
    """An action of a promotion. As in Spree, a calculator may determine its type and preferences."""

    calculator_attributes: dict[str, Any] | None = None


class PromotionInput(TypedDict, total=False):
    """A promotion; its rules and actions replace the existing ones."""

    name: str
    description: str | None
    code: str | None
    is_automatic: bool
    match_policy: str
    usage_limit: int | None
    customer_limit: int | None
    advertise: bool
    path: str | None
    starts_at: datetime | None
    expires_at: datetime | None
    promotion_category_id: UUID | None
    public_metadata: dict[str, Any]
    private_metadata: dict[str, Any]
    promotion_rules_attributes: list[PromotionPartInput]
    promotion_actions_attributes: list[PromotionActionPartInput]


class PromotionRuleInput(TypedDict, total=False):
    """A rule of a promotion."""

    promotion_id: UUID
    type: str
    preferences: dict[str, Any]


class PromotionActionInput(PromotionRuleInput, total=False):
    """An action of a promotion."""

    position: int


class CouponBatchInput(TypedDict, total=False):
    """A batch of coupon codes."""

    promotion_id: UUID
    name: str
    prefix: str
    codes_count: int
