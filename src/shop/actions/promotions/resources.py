"""Resources for promotions with their parts and codes, adjustments and store credit."""

from uuid import UUID

from shop.actions.catalog.products import check_currency, price_units
from shop.actions.checkout import store_credit
from shop.actions.context import Context
from shop.actions.customers.account import check_open
from shop.actions.orders import manual_adjustments
from shop.actions.orders import removals as order_removals
from shop.actions.promotions import promotions as promotion_editor
from shop.actions.records import ResourceActions, default_actions
from shop.base.errors import Invalid
from shop.models.access.users import User
from shop.models.cart.promotions import (
    CouponBatch,
    Promotion,
    PromotionAction,
    PromotionCategory,
    PromotionRule,
    coupon_batches,
    promotion_actions,
    promotion_categories,
    promotion_rules,
    promotions,
)
from shop.models.checkout.coupons import (
    Adjustment,
    CouponCode,
    OrderPromotion,
    adjustments,
    coupon_codes,
    order_promotions,
)
from shop.models.checkout.record_inputs import StoreCreditInput
from shop.models.checkout.store_credit import (
    StoreCreditCategory,
    StoreCreditEvent,
    StoreCreditType,
    store_credit_categories,
    store_credit_events,
    store_credit_types,
)
from shop.queries.checkout.records import STORE_CREDITS
from shop.queries.customers.users import lock_user
from shop.queries.records import Records
from shop.queries.setup.methods import currency_of


class PlatformAdjustment(Adjustment, frozen=True, kw_only=True):
    """An adjustment with the currency of its order."""

    currency: str


async def _grant(ctx: Context, values: StoreCreditInput) -> UUID:
    check_currency(ctx, values["currency"])
    user: User | None = await lock_user(ctx.db, values["user_id"])
    if user is None:
        raise Invalid({"user_id": ["is not a customer"]})
    check_open(user)
    amount = price_units(values["amount"], values["currency"], "amount")
    if not amount:
        raise Invalid({"amount": ["must be greater than 0"]})
    return await store_credit.grant_credit(ctx, values, amount)


_categories = Records(table=promotion_categories, row=PromotionCategory)
PROMOTION_CATEGORY = ResourceActions("promotion_category", _categories, **default_actions(_categories))
PROMOTION = ResourceActions(
    "promotion",
    Records(table=promotions, row=Promotion),
    promotion_editor.create_promotion,
    promotion_editor.update_promotion,
    promotion_editor.delete_promotion,
)
_rules = Records(table=promotion_rules, row=PromotionRule)
PROMOTION_RULE = ResourceActions(
    "promotion_rule",
    _rules,
    lambda ctx, values: promotion_editor.create_part(ctx, "condition", values),
    lambda ctx, part_id, values: promotion_editor.update_part(ctx, "condition", part_id, values),
    default_actions(_rules)["delete"],
)
_actions = Records(table=promotion_actions, row=PromotionAction)
PROMOTION_ACTION = ResourceActions(
    "promotion_action",
    _actions,
    lambda ctx, values: promotion_editor.create_part(ctx, "benefit", values),
    lambda ctx, part_id, values: promotion_editor.update_part(ctx, "benefit", part_id, values),
    default_actions(_actions)["delete"],
)
COUPON_BATCH = ResourceActions(
    "coupon_batch",
    Records(table=coupon_batches, row=CouponBatch),
    promotion_editor.create_batch,
    None,
    promotion_editor.delete_batch,
)
COUPON_CODE = ResourceActions("coupon_code", Records(table=coupon_codes, row=CouponCode))
ORDER_PROMOTION = ResourceActions("order_promotion", Records(table=order_promotions, row=OrderPromotion))
ADJUSTMENT = ResourceActions(
    "adjustment",
    Records(
        table=adjustments,
        row=PlatformAdjustment,
        extras={"currency": currency_of(adjustments)},
        amounts=frozenset({"amount"}),
    ),
    manual_adjustments.create_adjustment,
    manual_adjustments.update_adjustment,
    manual_adjustments.delete_adjustment,
    manual_adjustments.lock_order_of_adjustment,
    has_events=False,
)
_credit_categories = Records(table=store_credit_categories, row=StoreCreditCategory)
STORE_CREDIT_CATEGORY = ResourceActions(
    "store_credit_category", _credit_categories, **default_actions(_credit_categories)
)
_credit_types = Records(table=store_credit_types, row=StoreCreditType)
STORE_CREDIT_TYPE = ResourceActions("store_credit_type", _credit_types, **default_actions(_credit_types))
STORE_CREDIT = ResourceActions(
    "store_credit", STORE_CREDITS, _grant, default_actions(STORE_CREDITS)["update"], order_removals.delete_store_credit
)
STORE_CREDIT_EVENT = ResourceActions(
    "store_credit_event",
    Records(
        table=store_credit_events,
        row=StoreCreditEvent,
        amounts=frozenset({"amount", "user_total_amount"}),
    ),
)
