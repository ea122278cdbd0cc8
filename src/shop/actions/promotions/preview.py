"""Previews the effect of a promotion on a cart without changing anything."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from shop.actions.cart.orders import Checkout, load_checkout
from shop.actions.cart.promotions import (
    OVER_CUSTOMERS_LIMIT,
    apply_discounts,
    build_basket,
    compile_promotion,
    load_promotion_context,
    unavailable_reason,
)
from shop.actions.checkout.shipments import build_shipment_taxables
from shop.actions.context import Context
from shop.models.cart.orders import Order
from shop.models.cart.promotions import PromotionRule
from shop.queries.cart import promotions
from shop.queries.cart.promotions import PromotionFacts, PromotionWithParts
from shop.queries.promotions import pages as promotion_pages
from shop.queries.setup import taxes
from shop.rules.cart.line_items import taxable
from shop.rules.cart.promotion_kinds import CONDITIONS, Basket
from shop.rules.cart.promotions import CompiledPromotion, Discount, calculate_discounts, find_eligible_items
from shop.rules.cart.totals import Rate, total_order
from shop.rules.promotions.settings import parse_part

INVALID_SETTINGS_ERROR = "it is invalid; edit it"


class Rival(msgspec.Struct, frozen=True):
    """Another promotion and its discount on the same item."""

    promotion_id: UUID
    name: str
    amount: int


class Effect(msgspec.Struct, frozen=True):
    """The discount on a line, a shipment or the whole order; `better` is set if another promotion wins."""

    label: str
    base_amount: int
    amount: int
    better: Rival | None = None
    instead_of: Rival | None = None


class PromotionPreview(msgspec.Struct, frozen=True):
    """The effect of a promotion on a cart, calculated as if it were active, to preview it before it starts."""

    order: Order
    unavailable_reason: str | None
    """Why it is not available now, to anyone or to this customer."""
    no_effect_reason: str | None
    """Why it gives no discount on this cart."""
    conditions: Mapping[UUID, str | None]
    """The reason why each condition fails; None if it holds."""
    effects: Sequence[Effect]
    total_without: int
    total_with: int
    awaits_shipments: bool
    """Whether the discount depends on shipments that do not exist yet."""
    is_applied: bool
    """Whether it is automatic, or its code is on the cart."""


async def preview_promotion(ctx: Context, promotion_id: UUID, order: Order) -> PromotionPreview:
    checkout = await load_checkout(ctx, order)
    promotion_context = await load_promotion_context(ctx, order, checkout.lines, checkout.shipments)
    variants = await promotions.list_promotable_variants(ctx.db, [line.variant_id for line in checkout.lines])
    basket = build_basket(order, checkout.lines, checkout.shipments, promotion_context.facts, variants)
    (stored_promotion,) = await promotions.list_promotions_with_parts(ctx.db, [promotion_id])
    promotion = compile_promotion(stored_promotion)
    others = [each for each in promotion_context.promotions if each.id != promotion_id]
    awaits_shipments = not checkout.shipments and bool(promotion.shipment_benefits)
    discounts_without, discounts_with = (
        calculate_discounts(basket, others),
        calculate_discounts(basket, [*others, promotion]),
    )
    effects = _effects(checkout, promotion, basket, discounts_without, discounts_with)
    due = await taxes.list_rates(ctx.db, order.ship_address_id)
    conditions = await promotion_pages.list_conditions(ctx.db, promotion_id)
    return PromotionPreview(
        order=order,
        unavailable_reason=_unavailable_reason(stored_promotion, promotion_context.facts),
        no_effect_reason=_no_effect_reason(promotion, basket)
        or (None if effects or awaits_shipments else _zero_amount_reason(basket)),
        conditions={part.id: _condition_failure(part, basket) for part in conditions},
        effects=effects,
        total_without=_total(checkout, discounts_without, due),
        total_with=_total(checkout, discounts_with, due),
        awaits_shipments=awaits_shipments,
        is_applied=stored_promotion.is_automatic
        or any(code.promotion_id == promotion_id for code in promotion_context.facts.codes),
    )


def _unavailable_reason(promotion: PromotionWithParts, facts: PromotionFacts) -> str | None:
    reason = unavailable_reason(promotion, facts)
    if reason is None:
        return None
    # The message for shoppers is in the second person; this one is for operators.
    return "This customer has reached the usage limit." if reason[1] == OVER_CUSTOMERS_LIMIT else reason[1]


def _no_effect_reason(promotion: CompiledPromotion, basket: Basket) -> str | None:
    if not (promotion.line_benefits or promotion.shipment_benefits or promotion.order_benefits):
        return "it has no valid discount"
    if not basket.items:
        return "the cart is empty"
    return find_eligible_items(promotion, basket)[0]


def _zero_amount_reason(basket: Basket) -> str:
    return f"its discount for these items is 0 in {basket.currency}"


def _condition_failure(part: PromotionRule, basket: Basket) -> str | None:
    condition = parse_part("condition", part.type, part.preferences)
    return (
        INVALID_SETTINGS_ERROR if condition is None else CONDITIONS[condition.type].check(condition.settings, basket)[0]
    )


def _effects(
    checkout: Checkout,
    promotion: CompiledPromotion,
    basket: Basket,
    discounts_without: Sequence[Discount],
    discounts_with: Sequence[Discount],
) -> list[Effect]:
    """Returns the discounts that apply, and those that lose to a better promotion."""
    labels = _labels(checkout)
    best = {each.id: each for each in discounts_with if each.level != "order"}
    before = {each.id: _rival(each) for each in discounts_without if each.level != "order"}
    own_discounts = [each for each in discounts_with if each.promotion.id == promotion.id]
    outbid_discounts = [
        each
        for each in calculate_discounts(basket, [promotion])
        if each.id in best and best[each.id].promotion.id != promotion.id
    ]
    keyed_effects = [
        *(
            (each.id, Effect(labels[each.id], each.base_amount, each.amount, instead_of=before.get(each.id)))
            for each in own_discounts
        ),
        *(
            (each.id, Effect(labels[each.id], each.base_amount, each.amount, better=_rival(best[each.id])))
            for each in outbid_discounts
        ),
    ]
    positions = {key: position for position, key in enumerate(labels)}
    return [effect for _, effect in sorted(keyed_effects, key=lambda each: positions[each[0]])]


def _rival(discount: Discount) -> Rival:
    return Rival(discount.promotion.id, discount.promotion.name, discount.amount)


def _labels(checkout: Checkout) -> dict[UUID | None, str]:
    """Returns the labels by id in display order; the key of the whole order is None."""
    labels: dict[UUID | None, str] = {
        line.id: f"{line.name} ({line.options_text})" if line.options_text else line.name for line in checkout.lines
    }
    labels |= {shipment.id: f"Shipping: {shipment.label}" for shipment in build_shipment_taxables(checkout)}
    return labels | {None: "The whole order"}


def _total(checkout: Checkout, discounts: Sequence[Discount], due: Sequence[Rate]) -> int:
    discounted_order = apply_discounts(checkout.order, checkout.lines, checkout.shipments, discounts)
    shipment_taxables = build_shipment_taxables(msgspec.structs.replace(checkout, shipments=discounted_order.shipments))
    lines = [taxable(line) for line in discounted_order.lines]
    order = checkout.order
    return total_order(
        lines,
        shipment_taxables,
        due,
        order_promo_total=discounted_order.order_promo_total,
        manual_total=order.manual_total,
        manual_shares=order.manual_shares,
    ).total
