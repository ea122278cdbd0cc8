"""What a promotion would do to a cart, and why not; nothing is changed by it."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from shop.actions.cart.discounts import OVER_CUSTOMERS_LIMIT, basket_of, deal_of, look, taken_off, why_not_now
from shop.actions.cart.order_state import Checkout, read
from shop.actions.checkout.shipments import sent_as
from shop.actions.context import Context
from shop.models.cart.orders import Order
from shop.models.cart.promotions import PromotionRule
from shop.queries.cart import promotions
from shop.queries.cart.promotions import Facts, Offered
from shop.queries.promotions import pages as promotion_pages
from shop.queries.setup import taxes
from shop.rules.cart.line_items import taxable
from shop.rules.cart.promotion_kinds import CONDITIONS, Basket
from shop.rules.cart.promotions import Deal, Taken, named_goods, promote
from shop.rules.cart.totals import Rate, total_order
from shop.rules.promotions.settings import settled

SPOILED = "it cannot be worked with: set it again"


class Rival(msgspec.Struct, frozen=True):
    """Another promotion, and what it takes off the same thing."""

    promotion_id: UUID
    name: str
    amount: int


class Effect(msgspec.Struct, frozen=True):
    """What it takes off a line, a shipment or the whole; nothing where another one is better."""

    label: str
    of: int
    amount: int
    better: Rival | None = None
    instead_of: Rival | None = None


class Tried(msgspec.Struct, frozen=True):
    """How it would be with a cart. What it takes off is worked out as if it were running, so that it can be tried
    before it begins.
    """

    order: Order
    not_now: str | None
    """Why nobody can use it now, or why this customer cannot."""
    why_not: str | None
    """Why it takes nothing off this cart."""
    conditions: Mapping[UUID, str | None]
    """Of each condition, why it does not hold."""
    effects: Sequence[Effect]
    total_without: int
    total_with: int
    waits: bool
    """For what is known only when the order is sent."""
    is_on: bool
    """It needs no code, or its code is on the cart."""


async def try_on(ctx: Context, promotion_id: UUID, order: Order) -> Tried:
    held = await read(ctx, order)
    looked = await look(ctx, order, held.lines, held.shipments)
    sold = await promotions.list_sold(ctx.db, [line.variant_id for line in held.lines])
    basket = basket_of(order, held.lines, held.shipments, looked.facts, sold)
    (offered,) = await promotions.list_offered(ctx.db, [promotion_id])
    deal, others = deal_of(offered), [each for each in looked.deals if each.id != promotion_id]
    waits = not held.shipments and bool(deal.of_shipments)
    without, along = promote(basket, others), promote(basket, [*others, deal])
    effects = _effects(held, deal, basket, without, along)
    due = await taxes.list_rates(ctx.db, order.ship_address_id)
    conditions = await promotion_pages.list_conditions(ctx.db, promotion_id)
    return Tried(
        order=order,
        not_now=_not_now(offered, looked.facts),
        why_not=_why_not(deal, basket) or (None if effects or waits else _comes_to_nothing(basket)),
        conditions={part.id: _why_condition(part, basket) for part in conditions},
        effects=effects,
        total_without=_total(held, without, due),
        total_with=_total(held, along, due),
        waits=waits,
        is_on=offered.is_automatic or any(code.promotion_id == promotion_id for code in looked.facts.codes),
    )


def _not_now(offered: Offered, facts: Facts) -> str | None:
    why = why_not_now(offered, facts)
    if why is None:
        return None
    # The shopper is told so; here it is about them.
    return "This customer used it as often as they may." if why[1] == OVER_CUSTOMERS_LIMIT else why[1]


def _why_not(deal: Deal, basket: Basket) -> str | None:
    if not (deal.of_lines or deal.of_shipments or deal.of_whole):
        return "it gives nothing: it has no benefit, or a part of it cannot be worked with"
    if not basket.goods:
        return "nothing is in the cart"
    return named_goods(deal, basket)[0]


def _comes_to_nothing(basket: Basket) -> str:
    return f"what it gives comes to nothing with these goods in {basket.currency}"


def _why_condition(part: PromotionRule, basket: Basket) -> str | None:
    found = settled("condition", part.type, part.preferences)
    return SPOILED if found is None else CONDITIONS[found.type].holds(found.settings, basket)[0]


def _effects(
    held: Checkout, deal: Deal, basket: Basket, without: Sequence[Taken], along: Sequence[Taken]
) -> list[Effect]:
    """Where it counts, and where it would if no other promotion were better."""
    labels = _labels(held)
    best = {each.id: each for each in along if each.on != "order"}
    before = {each.id: _rival(each) for each in without if each.on != "order"}
    ours = [each for each in along if each.deal.id == deal.id]
    lost = [each for each in promote(basket, [deal]) if each.id in best and best[each.id].deal.id != deal.id]
    found = [
        *((each.id, Effect(labels[each.id], each.of, each.amount, instead_of=before.get(each.id))) for each in ours),
        *((each.id, Effect(labels[each.id], each.of, each.amount, better=_rival(best[each.id]))) for each in lost),
    ]
    places = {key: place for place, key in enumerate(labels)}
    return [effect for _, effect in sorted(found, key=lambda each: places[each[0]])]


def _rival(taken: Taken) -> Rival:
    return Rival(taken.deal.id, taken.deal.name, taken.amount)


def _labels(held: Checkout) -> dict[UUID | None, str]:
    """In the order in which they are told; the whole has no id."""
    labels: dict[UUID | None, str] = {
        line.id: f"{line.name} ({line.options_text})" if line.options_text else line.name for line in held.lines
    }
    labels |= {sent.id: f"Shipping: {sent.label}" for sent in sent_as(held)}
    return labels | {None: "The whole order"}


def _total(held: Checkout, taken: Sequence[Taken], due: Sequence[Rate]) -> int:
    less = taken_off(held.order, held.lines, held.shipments, taken)
    sent = sent_as(msgspec.structs.replace(held, shipments=less.shipments))
    lines = [taxable(line) for line in less.lines]
    manual_total = held.order.manual_total
    return total_order(lines, sent, due, order_promo_total=less.order_promo_total, manual_total=manual_total).total
