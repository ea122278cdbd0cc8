"""Discount calculation for an order.

    line, shipment   the best single promotion that applies: the largest amount, or the newest of equal ones
    whole order      then every promotion on the whole order, oldest first, each on the remaining amount

Conditions and benefits are defined in `promotion_kinds.py`. Amounts are rounded half up to the currency's smallest
unit, once for each line, shipment or whole order; no amount falls below zero.
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from math import inf
from typing import Any
from uuid import UUID

import msgspec

from shop.base.money import currency_digits
from shop.rules.cart.promotion_kinds import (
    BENEFITS,
    CONDITIONS,
    Basket,
    BasketItem,
    Benefit,
    Condition,
    Exact,
    Level,
    Names,
)


class Part(msgspec.Struct, frozen=True):
    """A condition or a benefit: its kind and its settings."""

    type: str
    settings: Mapping[str, Any]


class Deal(msgspec.Struct, frozen=True):
    """An active promotion, compiled: each condition and benefit is a function with its settings."""

    id: UUID
    name: str
    conditions: Sequence[tuple[Condition, Mapping[str, Any]]]
    of_lines: Sequence[tuple[Benefit, Mapping[str, Any]]]
    of_shipments: Sequence[tuple[Benefit, Mapping[str, Any]]]
    of_whole: Sequence[tuple[Benefit, Mapping[str, Any]]]
    at_most: Exact | None = None
    """The largest share of a line that it can discount; None if it depends on other values."""
    description: str | None = None
    code: str | None = None
    is_any: bool = False
    asks_taxons: bool = False
    """Whether its conditions need the taxons of the goods."""
    public_metadata: Mapping[str, Any] = {}


class Discount(msgspec.Struct, frozen=True):
    """The discount of a promotion on a line, a shipment or the whole order."""

    deal: Deal
    on: Level
    id: UUID | None
    """The id of the line or shipment."""
    of: int
    """The amount before the discount."""
    exact: Exact
    amount: int


def make_deal(
    promotion_id: UUID,
    name: str,
    conditions: Sequence[Part],
    benefits: Iterable[Part],
    *,
    description: str | None = None,
    code: str | None = None,
    is_any: bool = False,
) -> Deal:
    benefits_by_level: dict[Level, list[tuple[Benefit, Mapping[str, Any]]]] = {"line": [], "shipment": [], "order": []}
    at_most: Exact | None = (0, 1)
    for part in benefits:
        kind = BENEFITS[part.type]
        benefits_by_level[kind.level].append((kind.gives, part.settings))
        if kind.level == "line":
            at_most = _sum(at_most, part.settings["percent"]) if at_most and kind.is_share else None
    checks = [(CONDITIONS[part.type].holds, part.settings) for part in conditions]
    of = (benefits_by_level["line"], benefits_by_level["shipment"], benefits_by_level["order"])
    asks_taxons = any("taxons" in CONDITIONS[part.type].settings.values() for part in conditions)
    return Deal(promotion_id, name, checks, *of, at_most, description, code, is_any, asks_taxons)


def find_eligible_goods(deal: Deal, basket: Basket) -> tuple[str | None, Sequence[BasketItem]]:
    """Returns the reason why the promotion does not apply to the basket, or None, and the goods it applies to."""
    reasons: list[str] = []
    names: Names = None
    for holds, settings in deal.conditions:
        reason, about = holds(settings, basket)
        if reason is None:
            names = about if names is None else names if about is None else _combine_names(deal, names, about)
        elif not deal.is_any:
            return reason, ()
        else:
            reasons.append(reason)
    if reasons and len(reasons) == len(deal.conditions):
        return "; ".join(dict.fromkeys(reasons)), ()
    goods = basket.promotable if names is None else [good for good in basket.promotable if good.place in names]
    return (None if goods or not basket.goods else "it is limited to other products"), goods


def _combine_names(deal: Deal, names: frozenset[int], about: frozenset[int]) -> frozenset[int]:
    return names | about if deal.is_any else names & about


def calculate_discounts(basket: Basket, deals: Sequence[Deal]) -> list[Discount]:
    """Returns the discounts, at most one for each line and shipment; omits zero amounts."""
    lines = [(good.id, good.amount) for good in basket.goods]
    of_lines = _best("line", lines, basket, [(deal, deal.of_lines) for deal in deals if deal.of_lines])
    of_shipments = _best(
        "shipment", basket.shipments, basket, [(deal, deal.of_shipments) for deal in deals if deal.of_shipments]
    )
    left = sum(good.amount for good in basket.promotable) - sum(discount.amount for discount in of_lines)
    of_whole: list[Discount] = []
    for deal in sorted((deal for deal in deals if deal.of_whole), key=lambda deal: deal.id):
        reason, goods = find_eligible_goods(deal, basket)
        for gives, settings in deal.of_whole if reason is None else ():
            for _, exact in gives(settings, basket, goods, left):
                amount = min(left, _round_half_up(exact))
                if amount > 0:
                    of_whole.append(Discount(deal, "order", None, left, exact, amount))
                    left -= amount
    return [*of_lines, *of_shipments, *of_whole]


def _best(
    level: Level,
    targets: Sequence[tuple[UUID, int]],
    basket: Basket,
    offers: Sequence[tuple[Deal, Sequence[tuple[Benefit, Mapping[str, Any]]]]],
) -> list[Discount]:
    """Returns the largest discount for each target, or the newest of equal ones. A shop may have many promotions, so
    those with the largest possible share come first, and the loop stops when no other can be better.
    """
    best: list[tuple[int, Deal, Exact] | None] = [None] * len(targets)
    for deal, benefits in sorted(offers, key=_share, reverse=True):
        if (
            level == "line"
            and deal.at_most
            and all(
                current and current[0] > _round_half_up((of * deal.at_most[0], deal.at_most[1]))
                for current, (_, of) in zip(best, targets, strict=True)
            )
        ):
            break
        reason, goods = find_eligible_goods(deal, basket)
        for index, exact in _sum_benefits(benefits, basket, goods) if reason is None else ():
            amount, current = min(_round_half_up(exact), targets[index][1]), best[index]
            if amount and (
                current is None or amount > current[0] or (amount == current[0] and deal.id > current[1].id)
            ):
                best[index] = amount, deal, exact
    return [
        Discount(current[1], level, target, of, current[2], current[0])
        for current, (target, of) in zip(best, targets, strict=True)
        if current
    ]


def _share(offer: tuple[Deal, Any]) -> float:
    at_most = offer[0].at_most
    return inf if at_most is None else at_most[0] / at_most[1]


def _sum_benefits(
    benefits: Sequence[tuple[Benefit, Mapping[str, Any]]], basket: Basket, goods: Sequence[BasketItem]
) -> Iterable[tuple[int, Exact]]:
    """Sums the benefits of one promotion."""
    if len(benefits) == 1:
        gives, settings = benefits[0]
        return gives(settings, basket, goods, 0)
    totals: dict[int, Exact] = {}
    for gives, settings in benefits:
        for index, exact in gives(settings, basket, goods, 0):
            totals[index] = _sum(totals.get(index, (0, 1)), exact)
    return totals.items()


def _sum(one: Exact, other: Exact) -> Exact:
    return one[0] * other[1] + other[0] * one[1], one[1] * other[1]


def _round_half_up(exact: Exact) -> int:
    return (2 * exact[0] + exact[1]) // (2 * exact[1])


def summarize_discounts(discounts: Sequence[Discount], currency: str) -> dict[str, Any]:
    """Returns the discounts as stored with the order: each promotion once, with its amounts and their rounding."""
    entries: dict[str, Any] = {}
    for each in discounts:
        deal = each.deal
        new_entry: dict[str, Any] = {
            "name": deal.name,
            "description": deal.description,
            "code": deal.code,
            "amount": 0,
            "parts": [],
        }
        if deal.public_metadata:
            new_entry["public_metadata"] = deal.public_metadata
        entry = entries.setdefault(str(deal.id), new_entry)
        entry["amount"] -= each.amount
        part: dict[str, Any] = {"on": each.on, "of": each.of, "amount": -each.amount}
        if each.id:
            part["id"] = str(each.id)
        if each.exact[0] % each.exact[1]:
            exact = (-Decimal(each.exact[0]) / each.exact[1]).scaleb(-currency_digits(currency))
            part["exact"] = f"{round(exact, 6).normalize():f}"
        entry["parts"].append(part)
    return entries
