"""What is taken off a cart by the promotions that run, and by the codes that were typed in."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

import msgspec

from shop.actions.context import Context, KeptDeals
from shop.base.email import read_email
from shop.models.cart.orders import LineItem, Order
from shop.models.cart.quotes import Quote
from shop.models.checkout.shipments import Shipment
from shop.queries.cart import promotions as queries
from shop.queries.cart.promotions import Facts, Offered, Sold
from shop.queries.customers import users
from shop.rules.cart.promotion_kinds import Basket, Good, fill_basket
from shop.rules.cart.promotions import Deal, Taken, make_deal, promote, shown
from shop.rules.promotions.settings import settled

L = TypeVar("L", bound=LineItem)
OVER_CUSTOMERS_LIMIT = "You used it as often as you may."


class Discounted(msgspec.Struct, frozen=True):
    """Lines and shipments with what is taken off each; and what is taken off the whole."""

    lines: Sequence[Any]
    shipments: Sequence[Shipment]
    order_promo_total: int = 0
    promoted: Mapping[str, Any] = {}

    @property
    def columns(self) -> dict[str, Any]:
        return {"order_promo_total": self.order_promo_total, "promoted": self.promoted}


class Looked(msgspec.Struct, frozen=True):
    """A cart as promotions look at it, with those that run for it."""

    basket: Basket
    facts: Facts
    deals: Sequence[Deal]


async def customer_key(ctx: Context, order: Order) -> str | None:
    """Who buys, however the address is written: a limit for each customer would else be one for each spelling. Of a
    user it is the account's address, because any address can be typed into a cart.
    """
    owner = await users.find_user(ctx.db, order.user_id) if order.user_id else None
    address = owner.email if owner else order.email
    email = read_email(address) if address else None
    return email.budget_key if email else None


async def discounted(
    ctx: Context,
    order: Order,
    lines: Sequence[L],
    shipments: Sequence[Shipment] = (),
    *,
    quotes: Mapping[UUID, Quote] | None = None,
    without: frozenset[UUID] = frozenset(),
) -> Discounted:
    """With what is taken off now. Where the goods were quoted they need not be read again; `without` names promotions
    that are known to be used up.
    """
    if not lines:
        return Discounted(lines, shipments)
    looked = await look(ctx, order, lines, shipments, quotes)
    deals = [deal for deal in looked.deals if deal.id not in without]
    return taken_off(order, lines, shipments, promote(looked.basket, deals))


def taken_off(order: Order, lines: Sequence[L], shipments: Sequence[Shipment], taken: Sequence[Taken]) -> Discounted:
    """With just that less."""
    of_lines = {each.id: each for each in taken if each.on == "line"}
    of_shipments = {each.id: each for each in taken if each.on == "shipment"}
    return Discounted(
        [_less(line, of_lines.get(line.id)) for line in lines],
        [_less(shipment, of_shipments.get(shipment.id)) for shipment in shipments],
        -sum(each.amount for each in taken if each.on == "order"),
        shown(taken, order.currency),
    )


def _less(record: Any, taken: Taken | None) -> Any:
    promotion_id, off = (taken.deal.id, -taken.amount) if taken else (None, 0)
    if record.promotion_id == promotion_id and record.promo_total == off:
        return record
    return msgspec.structs.replace(record, promotion_id=promotion_id, promo_total=off)


async def look(
    ctx: Context,
    order: Order,
    lines: Sequence[LineItem],
    shipments: Sequence[Shipment],
    quotes: Mapping[UUID, Quote] | None = None,
) -> Looked:
    facts = await queries.find_facts(ctx.db, order.id, order.user_id)
    kept = await _automatic(ctx, facts)
    found = [*kept.always, *(deal for offered, deal in kept.at_times if why_not_now(offered, facts) is None)]
    if facts.codes:
        # One that became automatic after its code was typed in counts once.
        known = {each.id for each in found}
        by_code = {
            each.promotion_id: each for each in facts.codes if not each.is_used and each.promotion_id not in known
        }
        for each in await queries.list_offered(ctx.db, list(by_code)):
            if why_not_now(each, facts) is None:
                found.append(deal_of(msgspec.structs.replace(each, code=by_code[each.id].code)))
    sold = await _sold(ctx, lines, found, quotes) if found else {}
    return Looked(basket_of(order, lines, shipments, facts, sold), facts, found)


async def _sold(
    ctx: Context, lines: Sequence[LineItem], deals: Sequence[Deal], quotes: Mapping[UUID, Quote] | None
) -> Mapping[UUID, Sold]:
    with_taxons = any(deal.asks_taxons for deal in deals)
    if quotes is not None and not with_taxons:
        return {
            each.variant_id: Sold(each.variant_id, each.product_id, each.is_promotionable) for each in quotes.values()
        }
    return await queries.list_sold(ctx.db, [line.variant_id for line in lines], with_taxons=with_taxons)


def basket_of(
    order: Order,
    lines: Iterable[LineItem],
    shipments: Iterable[Shipment],
    facts: Facts,
    sold: Mapping[UUID, Sold],
) -> Basket:
    goods = []
    for place, line in enumerate(lines):
        known, price = sold.get(line.variant_id), line.price or 0
        product = known.product_id.int if known else None
        taxons = frozenset([each.int for each in known.taxon_ids]) if known else frozenset()
        is_promotionable = known is not None and known.is_promotionable
        amount = price * line.quantity
        goods.append(Good(line.id, place, product, taxons, price, line.quantity, amount, is_promotionable))
    costs = [(shipment.id, shipment.cost) for shipment in shipments]
    groups = frozenset(each.int for each in facts.group_ids)
    # Whoever used a promotion has ordered. A guest could type any address, and learn whether it has bought here.
    has_ordered = None if order.user_id is None else facts.has_ordered or bool(facts.uses)
    return fill_basket(order.currency, goods, shipments=costs, groups=groups, has_ordered=has_ordered)


async def _automatic(ctx: Context, facts: Facts) -> KeptDeals:
    """Read anew after any change, and else kept: a shop may have many, and every cart asks for them."""
    if ctx.shared.deals.version != facts.version:
        always, at_times = [], []
        for offered in await queries.list_automatic(ctx.db):
            limits = (offered.starts_at, offered.expires_at, offered.usage_limit, offered.customer_limit)
            if any(limit is not None for limit in limits):
                at_times.append((offered, deal_of(offered)))
            else:
                always.append(deal_of(offered))
        ctx.shared.deals = KeptDeals(facts.version, always, at_times)
    return ctx.shared.deals


def why_not_now(promotion: Offered, facts: Facts) -> tuple[str, str] | None:
    """Why nobody, or this customer, can use it now: code and sentence."""
    if promotion.starts_at and promotion.starts_at > facts.now:
        return "coupon_not_eligible", f"It begins on {_day(promotion.starts_at)}."
    if promotion.expires_at and promotion.expires_at <= facts.now:
        return "coupon_expired", f"It ended on {_day(promotion.expires_at)}."
    if promotion.usage_limit is not None and promotion.uses >= promotion.usage_limit:
        return "coupon_used_up", "It was used as often as it may be."
    if promotion.customer_limit is not None and facts.uses.get(promotion.id, 0) >= promotion.customer_limit:
        return "coupon_used_up", OVER_CUSTOMERS_LIMIT
    return None


def _day(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M UTC")


def deal_of(promotion: Offered) -> Deal:
    """What cannot be worked with makes a promotion that gives nothing, and not one that gives it to all."""
    conditions = [settled("condition", kind, given) for kind, given in promotion.rules]
    benefits = [settled("benefit", kind, given) for kind, given in promotion.actions]
    is_whole = None not in conditions and None not in benefits
    deal = make_deal(
        promotion.id,
        promotion.name,
        [each for each in conditions if each],
        [each for each in benefits if each] if is_whole else [],
        description=promotion.description,
        code=promotion.code,
        is_any=promotion.match_policy == "any",
    )
    return msgspec.structs.replace(deal, public_metadata=promotion.public_metadata)
