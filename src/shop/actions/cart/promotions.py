"""Cart discounts from automatic promotions and coupon codes."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Generic, TypeVar
from uuid import UUID

import msgspec

from shop.actions.context import CachedPromotions, Context
from shop.base.email import read_email
from shop.models.cart.orders import LineItem, Order
from shop.models.cart.promotions import Promotion
from shop.models.cart.quotes import Quote
from shop.models.checkout.shipments import Shipment
from shop.queries.cart import promotions as queries
from shop.queries.cart.promotions import PromotableVariant, PromotionFacts, PromotionWithParts
from shop.queries.customers import users
from shop.rules.cart.free_shipping import FreeShippingOffer
from shop.rules.cart.free_shipping import find_free_shipping as find_offer
from shop.rules.cart.promotion_kinds import Basket, BasketItem, fill_basket
from shop.rules.cart.promotions import (
    CompiledPromotion,
    Discount,
    build_promotion,
    calculate_discounts,
    summarize_discounts,
)
from shop.rules.promotions.settings import parse_part

L = TypeVar("L", bound=LineItem)
D = TypeVar("D", bound=LineItem | Shipment)
OVER_CUSTOMERS_LIMIT = "You have already used it the maximum number of times."


class DiscountedCart(msgspec.Struct, Generic[L], frozen=True):
    """Lines and shipments with their discounts, and the discount on the whole order."""

    lines: Sequence[L]
    shipments: Sequence[Shipment]
    order_promo_total: int = 0
    promoted: Mapping[str, object] = {}

    @property
    def columns(self) -> dict[str, object]:
        return {"order_promo_total": self.order_promo_total, "promoted": self.promoted}


class PromotionContext(msgspec.Struct, frozen=True):
    """The basket that promotions evaluate, with the promotions that apply to it."""

    basket: Basket
    facts: PromotionFacts
    promotions: Sequence[CompiledPromotion]


async def find_advertised_promotion(ctx: Context, promotion_id: UUID | None) -> Promotion | None:
    """Returns the promotion to announce: this one while it is running, or else the oldest one that is advertised."""
    return await queries.find_advertised(ctx.db, promotion_id)


async def customer_key(ctx: Context, order: Order) -> str | None:
    """Returns the normalized e-mail that per-customer limits count, so that spelling variants share one limit. For a
    user it is the account's address, because a cart accepts any address.
    """
    owner = await users.find_user(ctx.db, order.user_id) if order.user_id else None
    address = owner.email if owner else order.email
    email = read_email(address) if address else None
    return email.budget_key if email else None


async def apply_promotions(
    ctx: Context,
    order: Order,
    lines: Sequence[L],
    shipments: Sequence[Shipment] = (),
    *,
    quotes: Mapping[UUID, Quote] | None = None,
    facts: PromotionFacts | None = None,
    without: frozenset[UUID] = frozenset(),
) -> DiscountedCart[L]:
    """Applies current promotions. Pass `quotes` and `facts` to avoid reading them again; `without` excludes promotions
    that are used up.
    """
    if not lines:
        return DiscountedCart(lines, shipments)
    promotion_context = await load_promotion_context(ctx, order, lines, shipments, quotes, facts)
    promotions = [promotion for promotion in promotion_context.promotions if promotion.id not in without]
    discounts = calculate_discounts(promotion_context.basket, promotions) if promotions else []
    return apply_discounts(order, lines, shipments, discounts)


def apply_discounts(
    order: Order, lines: Sequence[L], shipments: Sequence[Shipment], discounts: Sequence[Discount]
) -> DiscountedCart[L]:
    """Returns the lines and shipments with these discounts only."""
    if not discounts:
        # Most carts have none: nothing needs to be looked up for their lines.
        lines = [_with_discount(each, None) if each.promotion_id or each.promo_total else each for each in lines]
        return DiscountedCart(lines, [_with_discount(shipment, None) for shipment in shipments])
    line_discounts = {each.id: each for each in discounts if each.level == "line"}
    shipment_discounts = {each.id: each for each in discounts if each.level == "shipment"}
    return DiscountedCart(
        [_with_discount(line, line_discounts.get(line.id)) for line in lines],
        [_with_discount(shipment, shipment_discounts.get(shipment.id)) for shipment in shipments],
        -sum(each.amount for each in discounts if each.level == "order"),
        summarize_discounts(discounts, order.currency),
    )


def _with_discount(record: D, discount: Discount | None) -> D:
    if discount is None and record.promotion_id is None and not record.promo_total:
        return record
    promotion_id, promo_total = (discount.promotion.id, -discount.amount) if discount else (None, 0)
    if record.promotion_id == promotion_id and record.promo_total == promo_total:
        return record
    return msgspec.structs.replace(record, promotion_id=promotion_id, promo_total=promo_total)


async def load_promotion_context(
    ctx: Context,
    order: Order,
    lines: Sequence[LineItem],
    shipments: Sequence[Shipment],
    quotes: Mapping[UUID, Quote] | None = None,
    facts: PromotionFacts | None = None,
) -> PromotionContext:
    facts = facts or await queries.find_facts(ctx.db, order.id, order.user_id)
    automatic = await _load_automatic(ctx, facts)
    promotions = [
        *automatic.without_limits,
        *(
            compiled_promotion
            for promotion, compiled_promotion in automatic.with_limits
            if unavailable_reason(promotion, facts) is None
        ),
    ]
    if facts.codes:
        # A promotion that became automatic after its code was applied counts once.
        promotion_ids = {each.id for each in promotions}
        by_code = {
            each.promotion_id: each
            for each in facts.codes
            if not each.is_used and each.promotion_id not in promotion_ids
        }
        for each in await queries.list_promotions_with_parts(ctx.db, list(by_code)):
            if unavailable_reason(each, facts) is None:
                promotions.append(compile_promotion(msgspec.structs.replace(each, code=by_code[each.id].code)))
    if not promotions:
        return PromotionContext(fill_basket(order.currency, []), facts, promotions)
    variants = await _list_variants(ctx, lines, promotions, quotes)
    return PromotionContext(build_basket(order, lines, shipments, facts, variants), facts, promotions)


async def find_free_shipping(
    ctx: Context, order: Order, lines: Sequence[LineItem], quotes: Mapping[UUID, Quote] | None = None
) -> FreeShippingOffer | None:
    """Returns the free shipping that the cart has or can reach by its item total."""
    if not lines:
        return None
    promotion_context = await load_promotion_context(ctx, order, lines, (), quotes)
    return find_offer(promotion_context.basket, promotion_context.promotions)


async def _list_variants(
    ctx: Context,
    lines: Sequence[LineItem],
    promotions: Sequence[CompiledPromotion],
    quotes: Mapping[UUID, Quote] | None,
) -> Mapping[UUID, PromotableVariant]:
    with_taxons = any(promotion.needs_taxons for promotion in promotions)
    if quotes is not None and not with_taxons:
        return {
            each.variant_id: PromotableVariant(each.variant_id, each.product_id, each.is_promotionable)
            for each in quotes.values()
        }
    return await queries.list_promotable_variants(ctx.db, [line.variant_id for line in lines], with_taxons=with_taxons)


def build_basket(
    order: Order,
    lines: Iterable[LineItem],
    shipments: Iterable[Shipment],
    facts: PromotionFacts,
    variants: Mapping[UUID, PromotableVariant],
) -> Basket:
    items = []
    for index, line in enumerate(lines):
        variant, price = variants.get(line.variant_id), line.price or 0
        product = variant.product_id.int if variant else None
        taxons = frozenset([each.int for each in variant.taxon_ids]) if variant else frozenset()
        is_promotionable = variant is not None and variant.is_promotionable
        amount = price * line.quantity
        items.append(BasketItem(line.id, index, product, taxons, price, line.quantity, amount, is_promotionable))
    costs = [(shipment.id, shipment.cost) for shipment in shipments]
    groups = frozenset(each.int for each in facts.group_ids)
    # A used promotion implies an order. None for guests: otherwise, entering an address would reveal whether it has
    # orders.
    has_ordered = None if order.user_id is None else facts.has_ordered or bool(facts.uses)
    return fill_basket(order.currency, items, shipments=costs, groups=groups, has_ordered=has_ordered)


async def _load_automatic(ctx: Context, facts: PromotionFacts) -> CachedPromotions:
    """Returns automatic promotions, cached until one changes: a shop may have many, and every cart needs them."""
    if ctx.shared.automatic_promotions.version != facts.version:
        without_limits, with_limits = [], []
        for promotion in await queries.list_automatic(ctx.db):
            limits = (promotion.starts_at, promotion.expires_at, promotion.usage_limit, promotion.customer_limit)
            if any(limit is not None for limit in limits):
                with_limits.append((promotion, compile_promotion(promotion)))
            else:
                without_limits.append(compile_promotion(promotion))
        ctx.shared.automatic_promotions = CachedPromotions(facts.version, without_limits, with_limits)
    return ctx.shared.automatic_promotions


def unavailable_reason(promotion: PromotionWithParts, facts: PromotionFacts) -> tuple[str, str] | None:
    """Returns the code and sentence saying why the promotion is unavailable, to everyone or to this customer."""
    if promotion.starts_at and promotion.starts_at > facts.now:
        return "coupon_not_eligible", f"It begins on {_format_time(promotion.starts_at)}."
    if promotion.expires_at and promotion.expires_at <= facts.now:
        return "coupon_expired", f"It ended on {_format_time(promotion.expires_at)}."
    if promotion.usage_limit is not None and promotion.uses >= promotion.usage_limit:
        return "coupon_used_up", "It has reached its usage limit."
    if promotion.customer_limit is not None and facts.uses.get(promotion.id, 0) >= promotion.customer_limit:
        return "coupon_used_up", OVER_CUSTOMERS_LIMIT
    return None


def _format_time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M UTC")


def compile_promotion(promotion: PromotionWithParts) -> CompiledPromotion:
    """Compiles a promotion. An invalid rule or action disables the whole promotion."""
    conditions = [parse_part("condition", kind, settings) for kind, settings in promotion.rules]
    benefits = [parse_part("benefit", kind, settings) for kind, settings in promotion.actions]
    is_valid = None not in conditions and None not in benefits
    compiled_promotion = build_promotion(
        promotion.id,
        promotion.name,
        [each for each in conditions if each],
        [each for each in benefits if each] if is_valid else [],
        description=promotion.description,
        code=promotion.code,
        matches_any=promotion.match_policy == "any",
    )
    return msgspec.structs.replace(compiled_promotion, public_metadata=promotion.public_metadata)
