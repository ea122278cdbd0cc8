"""Platform resources of promotions, coupon codes, adjustments and store credits."""

from datetime import date
from typing import Any

from shop.actions.promotions import resources
from shop.jsonapi.deprecation import Deprecation
from shop.jsonapi.resource import computed, many, money, one, one_of, resource
from shop.models.cart.promotions import CouponBatch, Promotion, PromotionAction, PromotionCategory, PromotionRule
from shop.models.cart.record_inputs import (
    CouponBatchInput,
    PromotionActionInput,
    PromotionInput,
    PromotionRuleInput,
)
from shop.models.checkout.coupons import CouponCode, OrderPromotion
from shop.models.checkout.record_inputs import AdjustmentInput, StoreCreditInput
from shop.models.checkout.store_credit import StoreCreditCategory, StoreCreditEvent, StoreCreditType
from shop.platform.collection import Collection, kinds
from shop.queries.checkout.records import PlatformStoreCredit
from shop.rules.promotions import spree_types

_STAMPS = ("created_at", "updated_at")
_METADATA = ("public_metadata", "private_metadata")
_CATEGORY_FIELDS = ("store_credit_category_id", "store_credit_type_id")
_AMOUNT_LEFT = Deprecation(date(2026, 11, 17), date(2027, 11, 17), "Use amount_remaining.")
_PROMOTION = (
    "name",
    "description",
    "code",
    "is_automatic",
    "match_policy",
    "usage_limit",
    "customer_limit",
    "advertise",
    "path",
    "starts_at",
    "expires_at",
)

PROMOTION_CATEGORY = resource(
    "promotion_category",
    PromotionCategory,
    attributes=["name", "code", *_STAMPS],
    relations=[many("promotions", "promotion")],
)
PROMOTION_CATEGORIES = Collection(
    path="promotion_categories",
    access="promotions",
    resource=PROMOTION_CATEGORY,
    actions=resources.PROMOTION_CATEGORY,
    writable=kinds(PromotionCategory, "name", "code"),
    required=("name",),
    filters=("name", "code"),
    alone=("promotions",),
)
PROMOTION = resource(
    "promotion",
    Promotion,
    attributes=[*_PROMOTION, "uses", *_STAMPS, *_METADATA],
    relations=[
        one("promotion_category", "promotion_category"),
        many("promotion_rules", "promotion_rule"),
        many("promotion_actions", "promotion_action"),
        many("coupon_batches", "coupon_batch"),
    ],
)
PROMOTIONS = Collection(
    path="promotions",
    access="promotions",
    resource=PROMOTION,
    actions=resources.PROMOTION,
    writable=kinds(PromotionInput),
    nested={f"{relation}_attributes": relation for relation in ("promotion_rules", "promotion_actions")},
    translate=spree_types.translate_promotion,
    required=("name",),
    filters=("name", "code", "path", "is_automatic", "starts_at", "expires_at", "promotion_category_id", "advertise"),
)
PROMOTION_RULE = resource(
    "promotion_rule",
    PromotionRule,
    # The code belongs to the promotion, not to a rule.
    attributes=["type", computed("code", lambda _rule, _context: None, str | None), "preferences", *_STAMPS],
    relations=[one("promotion", "promotion")],
)
PROMOTION_RULES = Collection(
    path="promotion_rules",
    access="promotions",
    resource=PROMOTION_RULE,
    actions=resources.PROMOTION_RULE,
    writable=kinds(PromotionRuleInput),
    translate=spree_types.translate_rule,
    required=("promotion_id", "type"),
    create_only=("promotion_id",),
    filters=("promotion_id", "type"),
)
PROMOTION_ACTION = resource(
    "promotion_action",
    PromotionAction,
    attributes=["type", "position", "preferences", *_STAMPS],
    relations=[one("promotion", "promotion")],
)
PROMOTION_ACTIONS = Collection(
    path="promotion_actions",
    access="promotions",
    resource=PROMOTION_ACTION,
    actions=resources.PROMOTION_ACTION,
    # As in Spree, the action may have a calculator; `translate` replaces it by the other fields.
    writable=kinds(PromotionActionInput) | {"calculator_attributes": dict[str, Any]},
    translate=spree_types.translate_action,
    required=("promotion_id", "type"),
    create_only=("promotion_id",),
    filters=("promotion_id", "type"),
)
COUPON_BATCH = resource(
    "coupon_batch",
    CouponBatch,
    attributes=["name", "prefix", "codes_count", *_STAMPS],
    relations=[one("promotion", "promotion")],
)
COUPON_BATCHES = Collection(
    path="coupon_batches",
    access="promotions",
    resource=COUPON_BATCH,
    actions=resources.COUPON_BATCH,
    writable=kinds(CouponBatchInput),
    required=("promotion_id", "name", "codes_count"),
    filters=("promotion_id", "name", "prefix"),
)
COUPON_CODE = resource(
    "coupon_code",
    CouponCode,
    attributes=["code", "used_at", "created_at"],
    relations=[one("batch", "coupon_batch"), one("promotion", "promotion"), one("order", "order")],
)
COUPON_CODES = Collection(
    path="coupon_codes",
    access="promotions",
    resource=COUPON_CODE,
    actions=resources.COUPON_CODE,
    filters=("batch_id", "promotion_id", "order_id", "code", "used_at"),
)
ORDER_PROMOTION = resource(
    "order_promotion",
    OrderPromotion,
    attributes=["code", "created_at"],
    relations=[one("order", "order"), one("promotion", "promotion")],
)
ORDER_PROMOTIONS = Collection(
    path="order_promotions",
    access="orders",
    resource=ORDER_PROMOTION,
    actions=resources.ORDER_PROMOTION,
    filters=("order_id", "promotion_id", "code"),
)
ADJUSTMENT = resource(
    "adjustment",
    resources.PlatformAdjustment,
    attributes=[
        "source_type",
        "source_id",
        "adjustable_type",
        "adjustable_id",
        "label",
        "currency",
        money("amount"),
        "included",
        "mandatory",
        "eligible",
        "state",
        *_STAMPS,
    ],
    relations=[
        one("order", "order"),
        one_of("adjustable", "order", "line_item", "shipment"),
        one_of("source", "promotion", "tax_rate"),
    ],
)
ADJUSTMENTS = Collection(
    path="adjustments",
    access="orders",
    resource=ADJUSTMENT,
    actions=resources.ADJUSTMENT,
    writable=kinds(AdjustmentInput),
    translate=spree_types.translate_adjustment,
    required=("order_id", "label", "amount"),
    create_only=("order_id", "adjustable_type", "adjustable_id"),
    codes={409: ("payment_in_progress",)},
    filters=("order_id", "adjustable_type", "adjustable_id", "source_type", "source_id", "amount", "included"),
)
STORE_CREDIT = resource(
    "store_credit",
    PlatformStoreCredit,
    attributes=[
        "currency",
        money("amount"),
        money("amount_used"),
        money("amount_remaining", "amount_left"),
        money("amount_left"),
        money("amount_authorized"),
        "memo",
        computed("created_by_type", lambda credit, _context: credit.actor_kind),
        *_STAMPS,
        *_METADATA,
    ],
    relations=[
        one("user", "user"),
        one("created_by", "application"),
        one("store_credit_category", "store_credit_category"),
        one("store_credit_type", "store_credit_type"),
        many("store_credit_events", "store_credit_event"),
    ],
    deprecations={"amount_left": _AMOUNT_LEFT, "display_amount_left": _AMOUNT_LEFT},
)
STORE_CREDITS = Collection(
    path="store_credits",
    access="customers",
    resource=STORE_CREDIT,
    actions=resources.STORE_CREDIT,
    writable=kinds(StoreCreditInput),
    aliases={"category_id": "store_credit_category_id", "type_id": "store_credit_type_id"},
    required=("user_id", "currency", "amount", "memo"),
    create_only=("user_id", "currency", "amount"),
    filters=("user_id", "currency", "amount", "amount_used", "memo", "created_by_id", *_CATEGORY_FIELDS),
)
STORE_CREDIT_CATEGORY = resource("store_credit_category", StoreCreditCategory, attributes=["name", *_STAMPS])
STORE_CREDIT_CATEGORIES = Collection(
    path="store_credit_categories",
    access="customers",
    resource=STORE_CREDIT_CATEGORY,
    actions=resources.STORE_CREDIT_CATEGORY,
    writable=kinds(StoreCreditCategory, "name"),
    required=("name",),
    filters=("name",),
)
STORE_CREDIT_TYPE = resource("store_credit_type", StoreCreditType, attributes=["name", "priority", *_STAMPS])
STORE_CREDIT_TYPES = Collection(
    path="store_credit_types",
    access="customers",
    resource=STORE_CREDIT_TYPE,
    actions=resources.STORE_CREDIT_TYPE,
    writable=kinds(StoreCreditType, "name", "priority"),
    required=("name",),
    filters=("name", "priority"),
)
STORE_CREDIT_EVENT = resource(
    "store_credit_event",
    StoreCreditEvent,
    attributes=["action", "currency", money("amount"), money("user_total_amount"), "reason", "created_at"],
    relations=[
        one("store_credit", "store_credit"),
        one("user", "user"),
        one("order", "order"),
        one("payment", "payment"),
    ],
)
STORE_CREDIT_EVENTS = Collection(
    path="store_credit_events",
    access="customers",
    resource=STORE_CREDIT_EVENT,
    actions=resources.STORE_CREDIT_EVENT,
    filters=("store_credit_id", "user_id", "order_id", "payment_id", "currency", "action", "amount"),
)
