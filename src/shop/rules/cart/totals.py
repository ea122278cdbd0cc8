"""Order totals: lines, shipments, discounts, taxes and manual adjustments.

    line       amount = price x quantity;  discounted amount = amount + promotion
    taxes      included: discounted amount - discounted amount / (1 + the sum of the rates)
               added: each rate x discounted amount
    order      item_total + ship_total + adjustment_total = total
    manual     manual adjustments do not change taxes, and reduce the total to zero at most

Amounts are rounded half up to the currency's smallest unit, with exact integer arithmetic. Included tax is the
discounted amount less the rounded pre-tax amount, so that their sum is exact; it is not added again.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec


class Rate(msgspec.Struct, frozen=True):
    """A tax rate that applies at the order's address."""

    id: UUID
    name: str
    amount: Decimal
    included_in_price: bool
    tax_category_id: UUID


class Taxable(msgspec.Struct, frozen=True):
    """A cart line or a shipment cost: an amount with its discount and tax category."""

    id: UUID
    label: str
    price: int
    quantity: int = 1
    promo_total: int = 0
    tax_category_id: UUID | None = None


class Amounts(msgspec.Struct, frozen=True):
    """The calculated amounts of a line or shipment."""

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
    """The calculated totals of an order, with their calculation steps."""

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
        """The totals as columns of the order's row."""
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
    applied_promotions: Mapping[str, Any] | None = None,
) -> Totals:
    """Calculates the totals. Discounts on lines and shipments lower their taxes; discounts on the whole order do not.
    Calculation steps are included only with `applied_promotions`, as stored with the order.
    """
    steps: list[Mapping[str, Any]] = []
    recorder = None if applied_promotions is None else _Steps(steps, applied_promotions)
    of_lines = [_amounts("line", line, rates, recorder) for line in lines]
    of_shipments = [_amounts("shipment", shipment, rates, recorder) for shipment in shipments]
    every = [*of_lines, *of_shipments]
    item_total = sum(amounts.amount for amounts in of_lines)
    ship_total = sum(amounts.amount for amounts in of_shipments)
    adjustment_total = sum(amounts.adjustment_total for amounts in every) + order_promo_total
    manual = max(manual_total, -(item_total + ship_total + adjustment_total))
    adjustment_total += manual
    total = item_total + ship_total + adjustment_total
    if recorder is not None:
        recorder.promotions("order", None, {})
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
        promo_total=sum(amounts.promo_total for amounts in every) + order_promo_total,
        order_promo_total=order_promo_total,
        included_tax_total=sum(amounts.included_tax_total for amounts in every),
        additional_tax_total=sum(amounts.additional_tax_total for amounts in every),
        pre_tax_item_amount=sum(amounts.pre_tax_amount for amounts in of_lines),
        pre_tax_total=sum(amounts.pre_tax_amount for amounts in every),
        total=total,
        steps=steps,
    )


class _Steps:
    """Records the calculation steps of a total, in order."""

    def __init__(self, steps: list[Mapping[str, Any]], applied_promotions: Mapping[str, Any]) -> None:
        self.steps = steps
        self._promoted = applied_promotions

    def promotions(self, on: str, of_id: UUID | None, labels: Mapping[str, Any]) -> None:
        for promotion_id, entry in self._promoted.items():
            for part in entry["parts"]:
                if part["on"] == on and part.get("id") == (None if of_id is None else str(of_id)):
                    rounding = {"exact": part["exact"], "rounding": "half up"} if "exact" in part else {}
                    source = {"promotion_id": promotion_id, "promotion": entry["name"], "code": entry["code"]}
                    amounts = {"of": part["of"], "amount": part["amount"]}
                    self.steps.append({"step": "promotion", "on": on, **labels, **source, **rounding, **amounts})


def tax_on(taxable: Taxable, rates: Sequence[Rate]) -> int:
    """Returns the total tax on one taxable, included or added."""
    amounts = _amounts("shipment", taxable, rates)
    return amounts.included_tax_total + amounts.additional_tax_total


def _amounts(what: str, taxable: Taxable, rates: Sequence[Rate], recorder: _Steps | None = None) -> Amounts:
    amount = taxable.price * taxable.quantity
    discounted_amount = amount + taxable.promo_total
    due = [rate for rate in rates if rate.tax_category_id == taxable.tax_category_id]
    within = [rate for rate in due if rate.included_in_price]
    pre_tax = (
        _without(discounted_amount, sum((rate.amount for rate in within), Decimal(0))) if within else discounted_amount
    )
    added_taxes = [(rate, _share(discounted_amount, rate.amount)) for rate in due if not rate.included_in_price]
    additional = sum(tax for _, tax in added_taxes)
    if recorder is not None:
        labels, steps = {"id": taxable.id, "label": taxable.label}, recorder.steps
        steps.append({"step": what, **labels, "price": taxable.price, "quantity": taxable.quantity, "amount": amount})
        recorder.promotions(what, taxable.id, labels)
        if within:
            tax_entries = [{"id": rate.id, "name": rate.name, "rate": rate.amount} for rate in within]
            steps.append(
                {
                    "step": "included_tax",
                    "on": what,
                    **labels,
                    "of": discounted_amount,
                    "taxes": tax_entries,
                    "amount": discounted_amount - pre_tax,
                }
            )
        for rate, tax in added_taxes:
            tax_entries = [{"id": rate.id, "name": rate.name, "rate": rate.amount}]
            steps.append(
                {
                    "step": "added_tax",
                    "on": what,
                    **labels,
                    "of": discounted_amount,
                    "taxes": tax_entries,
                    "amount": tax,
                }
            )
    return Amounts(
        id=taxable.id,
        amount=amount,
        promo_total=taxable.promo_total,
        adjustment_total=taxable.promo_total + additional,
        additional_tax_total=additional,
        included_tax_total=discounted_amount - pre_tax,
        pre_tax_amount=pre_tax,
    )


def _share(amount: int, rate: Decimal) -> int:
    """Returns `amount` times `rate`, rounded half up."""
    part, whole = rate.as_integer_ratio()
    return (2 * amount * part + whole) // (2 * whole)


def _without(amount: int, rate: Decimal) -> int:
    """Returns `amount` without an included `rate`, rounded half up."""
    part, whole = rate.as_integer_ratio()
    return (2 * amount * whole + whole + part) // (2 * (whole + part))
