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
    ItemPositions,
    Level,
)


class Part(msgspec.Struct, frozen=True):
    """A condition or a benefit: its kind and its settings."""

    type: str
    settings: Mapping[str, Any]


class CompiledPromotion(msgspec.Struct, frozen=True):
    """An active promotion, compiled: each condition and benefit is a function with its settings."""

    id: UUID
    name: str
    conditions: Sequence[tuple[Condition, Mapping[str, Any]]]
    line_benefits: Sequence[tuple[Benefit, Mapping[str, Any]]]
    shipment_benefits: Sequence[tuple[Benefit, Mapping[str, Any]]]
    order_benefits: Sequence[tuple[Benefit, Mapping[str, Any]]]
    max_share: Exact | None = None
    """The largest share of a line that it can discount; None if it depends on other values."""
    description: str | None = None
    code: str | None = None
    matches_any: bool = False
    needs_taxons: bool = False
    """Whether its conditions need the taxons of the items."""
    public_metadata: Mapping[str, Any] = {}


class Discount(msgspec.Struct, frozen=True):
    """The discount of a promotion on a line, a shipment or the whole order."""

    promotion: CompiledPromotion
    level: Level
    id: UUID | None
    """The id of the line or shipment."""
    base_amount: int
    """The amount before the discount."""
    exact: Exact
    amount: int


def build_promotion(
    promotion_id: UUID,
    name: str,
    conditions: Sequence[Part],
    benefits: Iterable[Part],
    *,
    description: str | None = None,
    code: str | None = None,
    matches_any: bool = False,
) -> CompiledPromotion:
    benefits_by_level: dict[Level, list[tuple[Benefit, Mapping[str, Any]]]] = {"line": [], "shipment": [], "order": []}
    max_share: Exact | None = (0, 1)
    for part in benefits:
        kind = BENEFITS[part.type]
        benefits_by_level[kind.level].append((kind.calculate, part.settings))
        if kind.level == "line":
            max_share = _sum(max_share, part.settings["percent"]) if max_share and kind.is_share else None
    checks = [(CONDITIONS[part.type].check, part.settings) for part in conditions]
    level_benefits = (benefits_by_level["line"], benefits_by_level["shipment"], benefits_by_level["order"])
    needs_taxons = any("taxons" in CONDITIONS[part.type].settings.values() for part in conditions)
    return CompiledPromotion(
        promotion_id, name, checks, *level_benefits, max_share, description, code, matches_any, needs_taxons
    )


def find_eligible_items(promotion: CompiledPromotion, basket: Basket) -> tuple[str | None, Sequence[BasketItem]]:
    """Returns the reason why the promotion does not apply to the basket, or None, and the items that it applies to."""
    reasons: list[str] = []
    eligible: ItemPositions = None
    for check, settings in promotion.conditions:
        reason, positions = check(settings, basket)
        if reason is None:
            if eligible is None:
                eligible = positions
            elif positions is not None:
                eligible = eligible | positions if promotion.matches_any else eligible & positions
        elif not promotion.matches_any:
            return reason, ()
        else:
            reasons.append(reason)
    if reasons and len(reasons) == len(promotion.conditions):
        return "; ".join(dict.fromkeys(reasons)), ()
    items = basket.promotable if eligible is None else [item for item in basket.promotable if item.position in eligible]
    return (None if items or not basket.items else "it is limited to other products"), items


def calculate_discounts(basket: Basket, promotions: Sequence[CompiledPromotion]) -> list[Discount]:
    """Returns the discounts, at most one for each line and shipment; omits zero amounts."""
    lines = [(item.id, item.amount) for item in basket.items]
    line_discounts = _best(
        "line",
        lines,
        basket,
        [(promotion, promotion.line_benefits) for promotion in promotions if promotion.line_benefits],
    )
    shipment_discounts = _best(
        "shipment",
        basket.shipments,
        basket,
        [(promotion, promotion.shipment_benefits) for promotion in promotions if promotion.shipment_benefits],
    )
    remaining = sum(item.amount for item in basket.promotable) - sum(discount.amount for discount in line_discounts)
    order_discounts: list[Discount] = []
    for promotion in sorted(
        (promotion for promotion in promotions if promotion.order_benefits), key=lambda promotion: promotion.id
    ):
        reason, items = find_eligible_items(promotion, basket)
        for calculate, settings in promotion.order_benefits if reason is None else ():
            for _, exact in calculate(settings, basket, items, remaining):
                amount = min(remaining, _round_half_up(exact))
                if amount > 0:
                    order_discounts.append(Discount(promotion, "order", None, remaining, exact, amount))
                    remaining -= amount
    return [*line_discounts, *shipment_discounts, *order_discounts]


def _best(
    level: Level,
    targets: Sequence[tuple[UUID, int]],
    basket: Basket,
    offers: Sequence[tuple[CompiledPromotion, Sequence[tuple[Benefit, Mapping[str, Any]]]]],
) -> list[Discount]:
    """Returns the largest discount for each target, or the newest of equal ones. A shop may have many promotions, so
    those with the largest possible share come first, and the loop stops when no other can be better.
    """
    best: list[tuple[int, CompiledPromotion, Exact] | None] = [None] * len(targets)
    for promotion, benefits in sorted(offers, key=_share, reverse=True):
        if (
            level == "line"
            and promotion.max_share
            and all(
                current and current[0] > _round_half_up((base_amount * promotion.max_share[0], promotion.max_share[1]))
                for current, (_, base_amount) in zip(best, targets, strict=True)
            )
        ):
            break
        reason, items = find_eligible_items(promotion, basket)
        for index, exact in _sum_benefits(benefits, basket, items) if reason is None else ():
            amount, current = min(_round_half_up(exact), targets[index][1]), best[index]
            if amount and (
                current is None or amount > current[0] or (amount == current[0] and promotion.id > current[1].id)
            ):
                best[index] = amount, promotion, exact
    return [
        Discount(current[1], level, target, base_amount, current[2], current[0])
        for current, (target, base_amount) in zip(best, targets, strict=True)
        if current
    ]


def _share(offer: tuple[CompiledPromotion, Any]) -> float:
    max_share = offer[0].max_share
    return inf if max_share is None else max_share[0] / max_share[1]


def _sum_benefits(
    benefits: Sequence[tuple[Benefit, Mapping[str, Any]]], basket: Basket, items: Sequence[BasketItem]
) -> Iterable[tuple[int, Exact]]:
    """Sums the benefits of one promotion."""
    if len(benefits) == 1:
        calculate, settings = benefits[0]
        return calculate(settings, basket, items, 0)
    totals: dict[int, Exact] = {}
    for calculate, settings in benefits:
        for index, exact in calculate(settings, basket, items, 0):
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
        promotion = each.promotion
        new_entry: dict[str, Any] = {
            "name": promotion.name,
            "description": promotion.description,
            "code": promotion.code,
            "amount": 0,
            "parts": [],
        }
        if promotion.public_metadata:
            new_entry["public_metadata"] = promotion.public_metadata
        entry = entries.setdefault(str(promotion.id), new_entry)
        entry["amount"] -= each.amount
        part: dict[str, Any] = {"on": each.level, "of": each.base_amount, "amount": -each.amount}
        if each.id:
            part["id"] = str(each.id)
        if each.exact[0] % each.exact[1]:
            exact = (-Decimal(each.exact[0]) / each.exact[1]).scaleb(-currency_digits(currency))
            part["exact"] = f"{round(exact, 6).normalize():f}"
        entry["parts"].append(part)
    return entries
