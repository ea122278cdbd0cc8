"""What promotions take off an order.

    a line, a shipment   the best single promotion of those that name it: the largest amount, of equals the newest
    the whole            after these every promotion of the whole, the oldest first, each of what is left

What holds for a promotion and what it gives are tables of kinds: a new kind is one function and one row. Half up to the
smallest unit of the currency, once for each line, shipment or whole; nothing falls below zero.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID

import msgspec

from shop.base.money import currency_digits, wire_decimal

Exact = tuple[int, int]
"""Minor units before they are rounded, as numerator and denominator."""
Level = Literal["line", "shipment", "order"]
WHOLE = UUID(int=0)
"""Stands for the order where a benefit names what it takes something off."""


class Good(msgspec.Struct, frozen=True):
    """A line of a cart, as promotions look at it."""

    id: UUID
    product_id: UUID | None
    taxon_ids: frozenset[UUID]
    """Those it stands in, and those above them."""
    price: int
    quantity: int
    is_promotionable: bool = True

    @property
    def amount(self) -> int:
        return self.price * self.quantity


class Basket(msgspec.Struct, frozen=True):
    """A cart and whose it is, as promotions look at them."""

    currency: str
    goods: Sequence[Good]
    shipments: Mapping[UUID, int] = {}
    """What each costs to send."""
    group_ids: frozenset[UUID] = frozenset()
    has_ordered: bool = False

    @property
    def amount(self) -> int:
        return sum(good.amount for good in self.goods)


class Part(msgspec.Struct, frozen=True):
    """A condition or a benefit: its kind, and what is settled for it."""

    type: str
    settings: Mapping[str, Any]


class Deal(msgspec.Struct, frozen=True):
    """A promotion that is running, with its parts."""

    id: UUID
    name: str
    conditions: Sequence[Part]
    benefits: Sequence[Part]
    description: str | None = None
    code: str | None = None
    is_any: bool = False


class Taken(msgspec.Struct, frozen=True):
    """What a promotion takes off a line, a shipment or the whole."""

    deal: Deal
    on: Level
    id: UUID
    of: int
    """The amount it was taken off."""
    exact: Exact
    amount: int


Names = frozenset[UUID] | None
"""The goods that a condition is about; none where it is about all of them."""
Condition = Callable[[Mapping[str, Any], Basket], tuple[str | None, Names]]
Benefit = Callable[[Mapping[str, Any], Basket, Sequence[Good], int], Mapping[UUID, Exact]]


class ConditionKind(msgspec.Struct, frozen=True):
    """`settings` says what must be settled, and as what: ids of `products`, `taxons` or `groups`, `amounts` by their
    currency, a `percent`, a `count`.
    """

    label: str
    settings: Mapping[str, str]
    holds: Condition


class BenefitKind(msgspec.Struct, frozen=True):
    """The same for what is given: exact amounts by the ids of what they are taken off."""

    label: str
    settings: Mapping[str, str]
    level: Level
    gives: Benefit


def _of_products(settings: Mapping[str, Any], basket: Basket) -> tuple[str | None, Names]:
    wanted = settings["product_ids"]
    found = frozenset(good.id for good in basket.goods if good.product_id in wanted)
    return (None if found else "none of its products is in the cart"), found


def _of_taxons(settings: Mapping[str, Any], basket: Basket) -> tuple[str | None, Names]:
    wanted = settings["taxon_ids"]
    found = frozenset(good.id for good in basket.goods if not wanted.isdisjoint(good.taxon_ids))
    return (None if found else "nothing of its categories is in the cart"), found


def _of_groups(settings: Mapping[str, Any], basket: Basket) -> tuple[str | None, Names]:
    return (None if settings["group_ids"] & basket.group_ids else "it is for a group of customers"), None


def _first_order(_settings: Mapping[str, Any], basket: Basket) -> tuple[str | None, Names]:
    return ("it is for a first order" if basket.has_ordered else None), None


def _minimum(settings: Mapping[str, Any], basket: Basket) -> tuple[str | None, Names]:
    least = settings["amounts"].get(basket.currency)
    if least is None:
        return f"it does not count in {basket.currency}", None
    if basket.amount >= least:
        return None, None
    return f"it needs goods for at least {_told(least, basket.currency)}", None


def _percent_off_lines(
    settings: Mapping[str, Any], _basket: Basket, goods: Sequence[Good], _left: int
) -> Mapping[UUID, Exact]:
    part, whole = settings["percent"]
    return {good.id: (good.amount * part, whole) for good in goods}


def _amount_off_pieces(
    settings: Mapping[str, Any], basket: Basket, goods: Sequence[Good], _left: int
) -> Mapping[UUID, Exact]:
    off = settings["amounts"].get(basket.currency, 0)
    return {good.id: (min(off, good.price) * good.quantity, 1) for good in goods}


def _buy_some_get_some(
    settings: Mapping[str, Any], _basket: Basket, goods: Sequence[Good], _left: int
) -> Mapping[UUID, Exact]:
    """Of as many groups as there are whole ones, the cheapest pieces."""
    part, whole = settings["percent"]
    given = sum(good.quantity for good in goods) // (settings["buy"] + settings["get"]) * settings["get"]
    found: dict[UUID, Exact] = {}
    for good in sorted(goods, key=lambda good: (good.price, good.id)):
        pieces = min(given, good.quantity)
        given -= pieces
        found[good.id] = (good.price * pieces * part, whole)
    return found


def _free_shipping(
    _settings: Mapping[str, Any], basket: Basket, _goods: Sequence[Good], _left: int
) -> Mapping[UUID, Exact]:
    return {shipment_id: (cost, 1) for shipment_id, cost in basket.shipments.items()}


def _percent_off_order(
    settings: Mapping[str, Any], _basket: Basket, _goods: Sequence[Good], left: int
) -> Mapping[UUID, Exact]:
    part, whole = settings["percent"]
    return {WHOLE: (left * part, whole)}


def _amount_off_order(
    settings: Mapping[str, Any], basket: Basket, _goods: Sequence[Good], left: int
) -> Mapping[UUID, Exact]:
    return {WHOLE: (min(left, settings["amounts"].get(basket.currency, 0)), 1)}


CONDITIONS: Mapping[str, ConditionKind] = {
    "product": ConditionKind("Certain products", {"product_ids": "products"}, _of_products),
    "taxon": ConditionKind("Products of certain categories", {"taxon_ids": "taxons"}, _of_taxons),
    "customer_group": ConditionKind("Customers of certain groups", {"group_ids": "groups"}, _of_groups),
    "first_order": ConditionKind("A customer's first order", {}, _first_order),
    "item_total": ConditionKind("Goods for at least", {"amounts": "amounts"}, _minimum),
}
BENEFITS: Mapping[str, BenefitKind] = {
    "percent_off_items": BenefitKind("Percent off each line", {"percent": "percent"}, "line", _percent_off_lines),
    "amount_off_items": BenefitKind("An amount off each piece", {"amounts": "amounts"}, "line", _amount_off_pieces),
    "buy_some_get_some": BenefitKind(
        "Buy some, get some", {"buy": "count", "get": "count", "percent": "percent"}, "line", _buy_some_get_some
    ),
    "free_shipping": BenefitKind("Free shipping", {}, "shipment", _free_shipping),
    "percent_off_order": BenefitKind("Percent off the whole", {"percent": "percent"}, "order", _percent_off_order),
    "amount_off_order": BenefitKind("An amount off the whole", {"amounts": "amounts"}, "order", _amount_off_order),
}


def named_goods(deal: Deal, basket: Basket) -> tuple[str | None, Sequence[Good]]:
    """Why it does not count for this basket, or none; and the goods it is about."""
    whys: list[str] = []
    names: Names = None
    for condition in deal.conditions:
        why, about = CONDITIONS[condition.type].holds(condition.settings, basket)
        if why is None:
            names = about if names is None else names if about is None else _joined(deal, names, about)
        elif not deal.is_any:
            return why, ()
        else:
            whys.append(why)
    if whys and len(whys) == len(deal.conditions):
        return "; ".join(dict.fromkeys(whys)), ()
    goods = [good for good in basket.goods if good.is_promotionable and (names is None or good.id in names)]
    return (None if goods or not basket.goods else "it is for other products"), goods


def _joined(deal: Deal, names: frozenset[UUID], about: frozenset[UUID]) -> frozenset[UUID]:
    return names | about if deal.is_any else names & about


def promote(basket: Basket, deals: Iterable[Deal]) -> list[Taken]:
    """What is taken off, each line and each shipment once; nothing that comes to nothing."""
    standing = [
        (deal, goods)
        for deal in deals
        for why, goods in [named_goods(deal, basket)]
        if why is None and (goods or basket.shipments)
    ]
    of_lines = _best("line", {good.id: good.amount for good in basket.goods}, basket, standing)
    of_shipments = _best("shipment", basket.shipments, basket, standing)
    left = sum(good.amount for good in basket.goods if good.is_promotionable) - sum(taken.amount for taken in of_lines)
    of_whole: list[Taken] = []
    for deal, goods in sorted(standing, key=lambda each: each[0].id):
        for benefit in deal.benefits:
            kind = BENEFITS[benefit.type]
            exact = kind.gives(benefit.settings, basket, goods, left).get(WHOLE) if kind.level == "order" else None
            if exact and (amount := min(left, _rounded(exact))) > 0:
                of_whole.append(Taken(deal, "order", WHOLE, left, exact, amount))
                left -= amount
    return [*of_lines, *of_shipments, *of_whole]


def _best(
    level: Level,
    amounts: Mapping[UUID, int],
    basket: Basket,
    standing: Sequence[tuple[Deal, Sequence[Good]]],
) -> list[Taken]:
    best: dict[UUID, Taken] = {}
    for deal, goods in standing:
        given: dict[UUID, Exact] = {}
        for benefit in deal.benefits:
            kind = BENEFITS[benefit.type]
            if kind.level == level:
                for found, exact in kind.gives(benefit.settings, basket, goods, 0).items():
                    given[found] = _sum(given[found], exact) if found in given else exact
        for found, exact in given.items():
            amount, present = min(amounts[found], _rounded(exact)), best.get(found)
            if amount > 0 and (present is None or (amount, deal.id) > (present.amount, present.deal.id)):
                best[found] = Taken(deal, level, found, amounts[found], exact, amount)
    return list(best.values())


def _sum(one: Exact, other: Exact) -> Exact:
    return one[0] * other[1] + other[0] * one[1], one[1] * other[1]


def _rounded(exact: Exact) -> int:
    return (2 * exact[0] + exact[1]) // (2 * exact[1])


def _told(minor: int, currency: str) -> str:
    return f"{wire_decimal(minor, currency_digits(currency))} {currency}"


def shown(taken: Sequence[Taken], currency: str) -> dict[str, Any]:
    """As it is kept with the order: each promotion once, with all that it took off and how that was rounded."""
    found: dict[str, Any] = {}
    for each in taken:
        deal = each.deal
        entry = found.setdefault(
            str(deal.id),
            {"name": deal.name, "description": deal.description, "code": deal.code, "amount": 0, "parts": []},
        )
        entry["amount"] -= each.amount
        part: dict[str, Any] = {"on": each.on, "of": each.of, "amount": -each.amount}
        if each.on != "order":
            part["id"] = str(each.id)
        if each.exact[0] % each.exact[1]:
            exact = (-Decimal(each.exact[0]) / each.exact[1]).scaleb(-currency_digits(currency))
            part["exact"] = f"{round(exact, 6).normalize():f}"
        entry["parts"].append(part)
    return found
