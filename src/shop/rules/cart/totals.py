"""What an order costs, in one function.

    line       amount = price x quantity;  discounted = amount + promotion
    taxes      included: what is left of the discounted amount when 1 + the sum of the rates is taken out of it
               added: each rate of the discounted amount
    order      item_total + ship_total + adjustment_total = total
    by hand    what was added or taken off by hand changes no tax, and takes off at most what the rest comes to

Half up to the smallest unit of the currency, in whole numbers: no digit is lost on the way. Included tax is the
discounted amount less the rounded amount before tax, so that the two always add up; it is not added again.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec


class Rate(msgspec.Struct, frozen=True):
    """A tax that is due where the order goes."""

    id: UUID
    name: str
    amount: Decimal
    included_in_price: bool
    tax_category_id: UUID


class Taxable(msgspec.Struct, frozen=True):
    """A line of a cart, or what a shipment costs: an amount, what is taken off it, and the kind it is taxed as."""

    id: UUID
    label: str
    price: int
    quantity: int = 1
    promo_total: int = 0
    tax_category_id: UUID | None = None


class Amounts(msgspec.Struct, frozen=True):
    """What was worked out for a line or a shipment."""

    id: UUID
    amount: int
    promo_total: int
    adjustment_total: int
    additional_tax_total: int
    included_tax_total: int
    pre_tax_amount: int

    @property
    def total(self) -> int:
        return self.amount + self.adjustment_total


class Totals(msgspec.Struct, frozen=True):
    """What was worked out for an order, with the steps that led there."""

    lines: Sequence[Amounts]
    shipments: Sequence[Amounts]
    item_count: int
    item_total: int
    ship_total: int
    adjustment_total: int
    promo_total: int
    order_promo_total: int
    included_tax_total: int
    additional_tax_total: int
    pre_tax_item_amount: int
    pre_tax_total: int
    total: int
    steps: Sequence[Mapping[str, Any]] = ()

    @property
    def columns(self) -> dict[str, int]:
        """As they stand in the order's row."""
        return {name: getattr(self, name) for name in COLUMNS}


COLUMNS = (
    "item_count",
    "item_total",
    "ship_total",
    "adjustment_total",
    "promo_total",
    "order_promo_total",
    "included_tax_total",
    "additional_tax_total",
    "pre_tax_item_amount",
    "pre_tax_total",
    "total",
)


def total_order(
    lines: Sequence[Taxable],
    shipments: Sequence[Taxable],
    rates: Sequence[Rate],
    *,
    order_promo_total: int = 0,
    manual_total: int = 0,
    promoted: Mapping[str, Any] | None = None,
) -> Totals:
    """What is taken off a line or a shipment lowers its taxes; what is taken off the whole does not. To be explained it
    needs the promotions that took it off, as they are kept with the order.
    """
    steps: list[Mapping[str, Any]] = []
    noted = None if promoted is None else _Steps(steps, promoted)
    of_lines = [_amounts("line", line, rates, noted) for line in lines]
    of_shipments = [_amounts("shipment", shipment, rates, noted) for shipment in shipments]
    every = [*of_lines, *of_shipments]
    item_total = sum(found.amount for found in of_lines)
    ship_total = sum(found.amount for found in of_shipments)
    adjustment_total = sum(found.adjustment_total for found in every) + order_promo_total
    manual = max(manual_total, -(item_total + ship_total + adjustment_total))
    adjustment_total += manual
    total = item_total + ship_total + adjustment_total
    if noted is not None:
        noted.promotions("order", None, {})
        steps += [{"step": "manual", "on": "order", "amount": manual}] if manual else []
        steps += [
            {"step": "item_total", "amount": item_total},
            {"step": "ship_total", "amount": ship_total},
            {"step": "adjustment_total", "amount": adjustment_total},
            {"step": "total", "amount": total},
        ]
    return Totals(
        lines=of_lines,
        shipments=of_shipments,
        item_count=sum(line.quantity for line in lines),
        item_total=item_total,
        ship_total=ship_total,
        adjustment_total=adjustment_total,
        promo_total=sum(found.promo_total for found in every) + order_promo_total,
        order_promo_total=order_promo_total,
        included_tax_total=sum(found.included_tax_total for found in every),
        additional_tax_total=sum(found.additional_tax_total for found in every),
        pre_tax_item_amount=sum(found.pre_tax_amount for found in of_lines),
        pre_tax_total=sum(found.pre_tax_amount for found in every),
        total=total,
        steps=steps,
    )


class _Steps:
    """What is told of how a total came about, in its order."""

    def __init__(self, told: list[Mapping[str, Any]], promoted: Mapping[str, Any]) -> None:
        self.told = told
        self._promoted = promoted

    def promotions(self, on: str, of_id: UUID | None, named: Mapping[str, Any]) -> None:
        for promotion_id, entry in self._promoted.items():
            for part in entry["parts"]:
                if part["on"] == on and part.get("id") == (None if of_id is None else str(of_id)):
                    rounding = {"exact": part["exact"], "rounding": "half up"} if "exact" in part else {}
                    given = {"promotion_id": promotion_id, "promotion": entry["name"], "code": entry["code"]}
                    amounts = {"of": part["of"], "amount": part["amount"]}
                    self.told.append({"step": "promotion", "on": on, **named, **given, **rounding, **amounts})


def tax_on(taxable: Taxable, rates: Sequence[Rate]) -> int:
    """What the taxes on one thing come to, in the price or on top of it."""
    found = _amounts("shipment", taxable, rates)
    return found.included_tax_total + found.additional_tax_total


def _amounts(what: str, taxable: Taxable, rates: Sequence[Rate], noted: _Steps | None = None) -> Amounts:
    amount = taxable.price * taxable.quantity
    discounted = amount + taxable.promo_total
    due = [rate for rate in rates if rate.tax_category_id == taxable.tax_category_id]
    within = [rate for rate in due if rate.included_in_price]
    pre_tax = _without(discounted, sum((rate.amount for rate in within), Decimal(0))) if within else discounted
    added = [(rate, _share(discounted, rate.amount)) for rate in due if not rate.included_in_price]
    additional = sum(tax for _, tax in added)
    if noted is not None:
        named, steps = {"id": taxable.id, "label": taxable.label}, noted.told
        steps.append({"step": what, **named, "price": taxable.price, "quantity": taxable.quantity, "amount": amount})
        noted.promotions(what, taxable.id, named)
        if within:
            told = [{"id": rate.id, "name": rate.name, "rate": rate.amount} for rate in within]
            steps.append(
                {
                    "step": "included_tax",
                    "on": what,
                    **named,
                    "of": discounted,
                    "taxes": told,
                    "amount": discounted - pre_tax,
                }
            )
        for rate, tax in added:
            told = [{"id": rate.id, "name": rate.name, "rate": rate.amount}]
            steps.append({"step": "added_tax", "on": what, **named, "of": discounted, "taxes": told, "amount": tax})
    return Amounts(
        id=taxable.id,
        amount=amount,
        promo_total=taxable.promo_total,
        adjustment_total=taxable.promo_total + additional,
        additional_tax_total=additional,
        included_tax_total=discounted - pre_tax,
        pre_tax_amount=pre_tax,
    )


def _share(amount: int, rate: Decimal) -> int:
    """That part of an amount, half up."""
    part, whole = rate.as_integer_ratio()
    return (2 * amount * part + whole) // (2 * whole)


def _without(amount: int, rate: Decimal) -> int:
    """What the amount was before that part of it was put on top, half up."""
    part, whole = rate.as_integer_ratio()
    return (2 * amount * whole + whole + part) // (2 * (whole + part))
