"""What promotions take off an order.

    a line, a shipment   the best single promotion of those that name it: the largest amount, of equals the newest
    the whole            after these every promotion of the whole, the oldest first, each of what is left

What holds for one and what it gives is of a kind (`promotion_kinds.py`). Half up to the smallest unit of the currency,
once for each line, shipment or whole; nothing falls below zero.
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from math import inf
from typing import Any
from uuid import UUID

import msgspec

from shop.base.money import currency_digits
from shop.rules.cart.promotion_kinds import BENEFITS, CONDITIONS, Basket, Benefit, Condition, Exact, Good, Level, Names


class Part(msgspec.Struct, frozen=True):
    """A condition or a benefit: its kind, and what is settled for it."""

    type: str
    settings: Mapping[str, Any]


class Deal(msgspec.Struct, frozen=True):
    """A promotion that is running, with its parts made ready: each a function and what is settled for it."""

    id: UUID
    name: str
    conditions: Sequence[tuple[Condition, Mapping[str, Any]]]
    of_lines: Sequence[tuple[Benefit, Mapping[str, Any]]]
    of_shipments: Sequence[tuple[Benefit, Mapping[str, Any]]]
    of_whole: Sequence[tuple[Benefit, Mapping[str, Any]]]
    at_most: Exact | None = None
    """The largest share of a line that it can take off; none where that depends on more."""
    description: str | None = None
    code: str | None = None
    is_any: bool = False
    asks_taxons: bool = False
    """Whether it must be known in which taxons goods stand."""
    public_metadata: Mapping[str, Any] = {}


class Taken(msgspec.Struct, frozen=True):
    """What a promotion takes off a line, a shipment or the whole."""

    deal: Deal
    on: Level
    id: UUID | None
    """Of the line or the shipment."""
    of: int
    """The amount it was taken off."""
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
    given: dict[Level, list[tuple[Benefit, Mapping[str, Any]]]] = {"line": [], "shipment": [], "order": []}
    at_most: Exact | None = (0, 1)
    for part in benefits:
        kind = BENEFITS[part.type]
        given[kind.level].append((kind.gives, part.settings))
        if kind.level == "line":
            at_most = _sum(at_most, part.settings["percent"]) if at_most and kind.is_share else None
    asked = [(CONDITIONS[part.type].holds, part.settings) for part in conditions]
    of = (given["line"], given["shipment"], given["order"])
    asks_taxons = any("taxons" in CONDITIONS[part.type].settings.values() for part in conditions)
    return Deal(promotion_id, name, asked, *of, at_most, description, code, is_any, asks_taxons)


def named_goods(deal: Deal, basket: Basket) -> tuple[str | None, Sequence[Good]]:
    """Why it does not count for this basket, or none; and the goods it is about."""
    whys: list[str] = []
    names: Names = None
    for holds, settings in deal.conditions:
        why, about = holds(settings, basket)
        if why is None:
            names = about if names is None else names if about is None else _joined(deal, names, about)
        elif not deal.is_any:
            return why, ()
        else:
            whys.append(why)
    if whys and len(whys) == len(deal.conditions):
        return "; ".join(dict.fromkeys(whys)), ()
    goods = basket.promotable if names is None else [good for good in basket.promotable if good.place in names]
    return (None if goods or not basket.goods else "it is for other products"), goods


def _joined(deal: Deal, names: frozenset[int], about: frozenset[int]) -> frozenset[int]:
    return names | about if deal.is_any else names & about


def promote(basket: Basket, deals: Sequence[Deal]) -> list[Taken]:
    """What is taken off, each line and each shipment once; nothing that comes to nothing."""
    lines = [(good.id, good.amount) for good in basket.goods]
    of_lines = _best("line", lines, basket, [(deal, deal.of_lines) for deal in deals if deal.of_lines])
    of_shipments = _best(
        "shipment", basket.shipments, basket, [(deal, deal.of_shipments) for deal in deals if deal.of_shipments]
    )
    left = sum(good.amount for good in basket.promotable) - sum(taken.amount for taken in of_lines)
    of_whole: list[Taken] = []
    for deal in sorted((deal for deal in deals if deal.of_whole), key=lambda deal: deal.id):
        why, goods = named_goods(deal, basket)
        for gives, settings in deal.of_whole if why is None else ():
            for _, exact in gives(settings, basket, goods, left):
                amount = min(left, _rounded(exact))
                if amount > 0:
                    of_whole.append(Taken(deal, "order", None, left, exact, amount))
                    left -= amount
    return [*of_lines, *of_shipments, *of_whole]


def _best(
    level: Level,
    targets: Sequence[tuple[UUID, int]],
    basket: Basket,
    offers: Sequence[tuple[Deal, Sequence[tuple[Benefit, Mapping[str, Any]]]]],
) -> list[Taken]:
    """The largest amount for each, and of equals the newest promotion. A shop may have many, and every cart asks for
    the best: those that can give the largest share are tried first, until the rest can give less than was found.
    """
    best: list[tuple[int, Deal, Exact] | None] = [None] * len(targets)
    for deal, benefits in sorted(offers, key=_share, reverse=True):
        if (
            level == "line"
            and deal.at_most
            and all(
                found and found[0] > _rounded((of * deal.at_most[0], deal.at_most[1]))
                for found, (_, of) in zip(best, targets, strict=True)
            )
        ):
            break
        why, goods = named_goods(deal, basket)
        for place, exact in _given(benefits, basket, goods) if why is None else ():
            amount, found = min(_rounded(exact), targets[place][1]), best[place]
            if amount and (found is None or amount > found[0] or (amount == found[0] and deal.id > found[1].id)):
                best[place] = amount, deal, exact
    return [
        Taken(found[1], level, target, of, found[2], found[0])
        for found, (target, of) in zip(best, targets, strict=True)
        if found
    ]


def _share(offer: tuple[Deal, Any]) -> float:
    at_most = offer[0].at_most
    return inf if at_most is None else at_most[0] / at_most[1]


def _given(
    benefits: Sequence[tuple[Benefit, Mapping[str, Any]]], basket: Basket, goods: Sequence[Good]
) -> Iterable[tuple[int, Exact]]:
    """What several benefits of one promotion give is added up."""
    if len(benefits) == 1:
        gives, settings = benefits[0]
        return gives(settings, basket, goods, 0)
    found: dict[int, Exact] = {}
    for gives, settings in benefits:
        for place, exact in gives(settings, basket, goods, 0):
            found[place] = _sum(found.get(place, (0, 1)), exact)
    return found.items()


def _sum(one: Exact, other: Exact) -> Exact:
    return one[0] * other[1] + other[0] * one[1], one[1] * other[1]


def _rounded(exact: Exact) -> int:
    return (2 * exact[0] + exact[1]) // (2 * exact[1])


def shown(taken: Sequence[Taken], currency: str) -> dict[str, Any]:
    """As it is kept with the order: each promotion once, with all that it took off and how that was rounded."""
    found: dict[str, Any] = {}
    for each in taken:
        deal = each.deal
        told: dict[str, Any] = {
            "name": deal.name,
            "description": deal.description,
            "code": deal.code,
            "amount": 0,
            "parts": [],
        }
        if deal.public_metadata:
            told["public_metadata"] = deal.public_metadata
        entry = found.setdefault(str(deal.id), told)
        entry["amount"] -= each.amount
        part: dict[str, Any] = {"on": each.on, "of": each.of, "amount": -each.amount}
        if each.id:
            part["id"] = str(each.id)
        if each.exact[0] % each.exact[1]:
            exact = (-Decimal(each.exact[0]) / each.exact[1]).scaleb(-currency_digits(currency))
            part["exact"] = f"{round(exact, 6).normalize():f}"
        entry["parts"].append(part)
    return found
