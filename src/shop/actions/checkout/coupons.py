"""Applies coupon codes to a cart and removes them; a code that gives no discount is rejected with the reason."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

import msgspec

from shop.actions import rate_limits
from shop.actions.cart.access import require_owner
from shop.actions.cart.orders import Checkout
from shop.actions.cart.promotions import build_basket, compile_promotion, unavailable_reason
from shop.actions.checkout.shipments import recalculate
from shop.actions.checkout.steps import lock_open_checkout
from shop.actions.context import Context
from shop.base.errors import Invalid
from shop.base.ids import new_id
from shop.models.cart.orders import Order
from shop.models.checkout.coupons import order_promotions
from shop.queries import writes
from shop.queries.cart import promotions as queries
from shop.queries.cart.promotions import PromotionFacts, PromotionWithParts
from shop.rules.cart.promotion_kinds import BENEFITS, CUSTOMER_CONDITIONS
from shop.rules.cart.promotions import calculate_discounts, find_eligible_items

MAX_CODE_LENGTH = 100
REFUSALS = (
    "coupon_unknown",
    "coupon_expired",
    "coupon_used_up",
    "coupon_not_eligible",
    "coupon_already_applied",
    "coupon_worse_than_present",
)
"""Error codes for a rejected coupon code."""


def read_code(text: str) -> str:
    """Normalizes a code as stored: without surrounding whitespace, in lower case."""
    return text.strip().lower()


def _coupon_error(code: str, sentence: str) -> Invalid:
    return Invalid({"coupon_code": [sentence]}, sentence, code=code)


@asynccontextmanager
async def count_unknown_codes(ctx: Context) -> AsyncIterator[None]:
    """Counts unknown codes against the rate limit. Wraps the transaction, so that the count survives its rollback."""
    rate_limits.check_coupon_block(ctx)
    try:
        yield
    except Invalid as error:
        if error.code == "coupon_unknown":
            await rate_limits.record_unknown_coupon(ctx)
        raise


async def apply_code(ctx: Context, text: str, order_id: UUID | None = None) -> Checkout:
    async with count_unknown_codes(ctx), ctx.transaction() as idempotency:
        checkout = await lock_open_checkout(ctx, order_id)
        if not idempotency.existing_id:
            checkout = await apply_coupon(ctx, checkout, read_code(text))
            idempotency.record(checkout.order.id)
        return checkout


async def list_codes(ctx: Context, order: Order) -> list[str]:
    """Returns the codes on a cart that the caller may see, also those that give a discount only later."""
    return [each.code for each in await queries.list_codes(ctx.db, order.id)]


async def remove_code(ctx: Context, text: str | None) -> Checkout:
    """Removes one code, or all codes."""
    async with ctx.transaction() as idempotency:
        checkout = await lock_open_checkout(ctx)
        if idempotency.existing_id:
            return checkout
        idempotency.record(checkout.order.id)
        if not await queries.delete_order_codes(ctx.db, checkout.order.id, None if text is None else read_code(text)):
            raise _coupon_error(
                "coupon_unknown", "This code is not applied to the cart." if text else "The cart has no coupon code."
            )
        return await recalculate(ctx, msgspec.structs.replace(checkout, promotion_facts=None))


async def apply_coupon(ctx: Context, checkout: Checkout, code: str) -> Checkout:
    order = checkout.order
    coupon = await queries.find_of_code(ctx.db, code) if 0 < len(code) <= MAX_CODE_LENGTH and "\0" not in code else None
    if coupon is None:
        raise _coupon_error("coupon_unknown", "This code does not exist.")
    promotion_id, coupon_code_id = coupon
    facts = await queries.find_facts(ctx.db, order.id, order.user_id)
    if any(present.promotion_id == promotion_id for present in facts.codes):
        raise _coupon_error("coupon_already_applied", "This code is already applied.")
    (promotion,) = await queries.list_promotions_with_parts(ctx.db, [promotion_id])
    if _depends_on_customer(promotion):
        # The response would reveal the owner's purchases or customer groups to the holder of an order token.
        require_owner(ctx, order)
    await _check(ctx, checkout, promotion, facts)
    fields = {
        "order_id": order.id,
        "promotion_id": promotion_id,
        "coupon_code_id": coupon_code_id,
        "code": code,
    }
    await writes.insert_record(ctx.db, order_promotions, new_id(), fields)
    if coupon_code_id and any(present.is_used for present in await queries.list_codes(ctx.db, order.id)):
        raise _coupon_error("coupon_used_up", "This code was already used.")
    new_checkout = await recalculate(ctx, msgspec.structs.replace(checkout, promotion_facts=None))
    if str(promotion_id) not in new_checkout.order.promoted and not _awaits_shipments(promotion, new_checkout):
        raise _coupon_error("coupon_worse_than_present", "The cart already has a better discount.")
    return new_checkout


def _depends_on_customer(promotion: PromotionWithParts) -> bool:
    return promotion.customer_limit is not None or any(kind in CUSTOMER_CONDITIONS for kind, _ in promotion.rules)


def _awaits_shipments(promotion: PromotionWithParts, checkout: Checkout) -> bool:
    """Returns whether the promotion discounts shipping and the order has no shipments yet."""
    kinds = {BENEFITS[kind].level for kind, _ in promotion.actions if kind in BENEFITS}
    return "shipment" in kinds and not checkout.shipments


async def _check(ctx: Context, checkout: Checkout, promotion: PromotionWithParts, facts: PromotionFacts) -> None:
    """Raises an error if the code gives no discount; reasons that the customer cannot change are checked first."""
    reason_parts = unavailable_reason(promotion, facts)
    if reason_parts:
        raise _coupon_error(*reason_parts)
    if not checkout.lines:
        raise _coupon_error("coupon_not_eligible", "Add an item to the cart first.")
    variants = await queries.list_promotable_variants(ctx.db, [line.variant_id for line in checkout.lines])
    basket = build_basket(checkout.order, checkout.lines, checkout.shipments, facts, variants)
    compiled_promotion = compile_promotion(promotion)
    reason, _ = find_eligible_items(compiled_promotion, basket)
    if reason:
        raise _coupon_error("coupon_not_eligible", f"This code does not apply: {reason}.")
    discounts = calculate_discounts(
        msgspec.structs.replace(basket, shipments=basket.shipments or [(promotion.id, 1)]), [compiled_promotion]
    )
    if not discounts:
        raise _coupon_error("coupon_not_eligible", f"This code gives no discount in {checkout.order.currency}.")
