"""Previews the effect of a promotion on a cart without changing anything."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from shop.actions.cart.discounts import (
    OVER_CUSTOMERS_LIMIT,
    apply_discounts,
    build_basket,
    compile_promotion,
    load_promotion_context,
    unavailable_reason,
)
from shop.actions.cart.order_state import Checkout, load_checkout
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
from shop.rules.cart.promotions import Deal, Discount, calculate_discounts, find_eligible_goods
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
    of: int
    amount: int
    better: Rival | None = None
    instead_of: Rival | None = None


class PromotionPreview(msgspec.Struct, frozen=True):
    """The effect of a promotion on a cart, calculated as if it were active, to preview it before it starts."""

    order: Order
    not_now: str | None
    """Why it is not available now, to anyone or to this customer."""
    why_not: str | None
    """Why it gives no discount on this cart."""
    conditions: Mapping[UUID, str | None]
    """The reason why each condition fails; None if it holds."""
    effects: Sequence[Effect]
    total_without: int
    total_with: int
    waits: bool
    """Whether the discount depends on shipments that do not exist yet."""
    is_on: bool
    """Whether it is automatic, or its code is on the cart."""


async def preview_promotion(ctx: Context, promotion_id: UUID, order: Order) -> PromotionPreview:
    checkout = await load_checkout(ctx, order)
    context = await load_promotion_context(ctx, order, checkout.lines, checkout.shipments)
    variants = await promotions.list_promotable_variants(ctx.db, [line.variant_id for line in checkout.lines])
    basket = build_basket(order, checkout.lines, checkout.shipments, context.facts, variants)
    (promotion,) = await promotions.list_promotions_with_parts(ctx.db, [promotion_id])
    deal, others = compile_promotion(promotion), [each for each in context.deals if each.id != promotion_id]
    waits = not checkout.shipments and bool(deal.of_shipments)
    discounts_without, discounts_with = (
        calculate_discounts(basket, others),
        calculate_discounts(basket, [*others, deal]),
    )
    effects = _effects(checkout, deal, basket, discounts_without, discounts_with)
    due = await taxes.list_rates(ctx.db, order.ship_address_id)
    conditions = await promotion_pages.list_conditions(ctx.db, promotion_id)
    return PromotionPreview(
        order=order,
        not_now=_unavailable_reason(promotion, context.facts),
        why_not=_no_effect_reason(deal, basket) or (None if effects or waits else _zero_amount_reason(basket)),
        conditions={part.id: _condition_failure(part, basket) for part in conditions},
        effects=effects,
        total_without=_total(checkout, discounts_without, due),
        total_with=_total(checkout, discounts_with, due),
        waits=waits,
        is_on=promotion.is_automatic or any(code.promotion_id == promotion_id for code in context.facts.codes),
    )


def _unavailable_reason(promotion: PromotionWithParts, facts: PromotionFacts) -> str | None:
    reason = unavailable_reason(promotion, facts)
    if reason is None:
        return None
    # The message for shoppers is in the second person; this one is for operators.
    return "This customer has reached the usage limit." if reason[1] == OVER_CUSTOMERS_LIMIT else reason[1]


def _no_effect_reason(deal: Deal, basket: Basket) -> str | None:
    if not (deal.of_lines or deal.of_shipments or deal.of_whole):
        return "it has no valid discount"
    if not basket.goods:
        return "the cart is empty"
    return find_eligible_goods(deal, basket)[0]


def _zero_amount_reason(basket: Basket) -> str:
    return f"its discount for these items is 0 in {basket.currency}"


def _condition_failure(part: PromotionRule, basket: Basket) -> str | None:
    condition = parse_part("condition", part.type, part.preferences)
    return (
        INVALID_SETTINGS_ERROR if condition is None else CONDITIONS[condition.type].holds(condition.settings, basket)[0]
    )


def _effects(
    checkout: Checkout,
    deal: Deal,
    basket: Basket,
    discounts_without: Sequence[Discount],
    discounts_with: Sequence[Discount],
) -> list[Effect]:
    """Returns the discounts that apply, and those that lose to a better promotion."""
    labels = _labels(checkout)
    best = {each.id: each for each in discounts_with if each.on != "order"}
    before = {each.id: _rival(each) for each in discounts_without if each.on != "order"}
    own_discounts = [each for each in discounts_with if each.deal.id == deal.id]
    outbid_discounts = [
        each for each in calculate_discounts(basket, [deal]) if each.id in best and best[each.id].deal.id != deal.id
    ]
    keyed_effects = [
        *(
            (each.id, Effect(labels[each.id], each.of, each.amount, instead_of=before.get(each.id)))
            for each in own_discounts
        ),
        *(
            (each.id, Effect(labels[each.id], each.of, each.amount, better=_rival(best[each.id])))
            for each in outbid_discounts
        ),
    ]
    positions = {key: position for position, key in enumerate(labels)}
    return [effect for _, effect in sorted(keyed_effects, key=lambda each: positions[each[0]])]


def _rival(discount: Discount) -> Rival:
    return Rival(discount.deal.id, discount.deal.name, discount.amount)


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
    manual_total = checkout.order.manual_total
    return total_order(
        lines, shipment_taxables, due, order_promo_total=discounted_order.order_promo_total, manual_total=manual_total
    ).total
