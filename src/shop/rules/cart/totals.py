"""Order totals: lines, shipments, discounts, taxes and manual adjustments.

    line       amount = price x quantity;  discounted amount = amount + promotion
    taxes      included: discounted amount - discounted amount / (1 + the sum of the rates)
               added: each rate x discounted amount
    order      item_total + ship_total + adjustment_total = total
    discounts  those of lines and shipments lower their taxes; those of promotions on the whole order do not
    manual     reduce the total to zero at most. Discounts of drafts are divided among lines and shipments, and lower
               the amounts that taxes are calculated from; other manual adjustments do not change taxes

Amounts are rounded half up to the currency's smallest unit, with exact integer arithmetic. Included tax is the
discounted amount less the rounded pre-tax amount, so that their sum is exact; it is not added again.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from operator import attrgetter
from typing import Any
from uuid import UUID

import msgspec

from shop.models.cart.orders import PricedLine


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


_NO_ID = UUID(int=0)
_read_amounts = attrgetter(*Amounts.__struct_fields__[1:])


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
    manual_shares: Mapping[str, int] = {},
    applied_promotions: Mapping[str, Any] | None = None,
) -> Totals:
    """Calculates the totals, with steps if there are `applied_promotions`. Shares are by id of lines and shipments."""
    steps: list[Mapping[str, Any]] = []
    recorder = None if applied_promotions is None else _Steps(steps, applied_promotions)
    line_amounts = [_amounts("line", line, rates, recorder, manual_shares) for line in lines]
    shipment_amounts = [_amounts("shipment", shipment, rates, recorder, manual_shares) for shipment in shipments]
    items, shipping = _sum_amounts(line_amounts), _sum_amounts(shipment_amounts)
    item_count = sum([line.quantity for line in lines])
    totals, manual = _add_up(items, shipping, item_count, order_promo_total, manual_total)
    if recorder is not None:
        recorder.add_totals(manual, totals.item_total, totals.ship_total, totals.adjustment_total)
    return msgspec.structs.replace(totals, lines=line_amounts, shipments=shipment_amounts, steps=steps)


def total_untaxed(lines: Sequence[PricedLine], *, order_promo_total: int, manual_total: int) -> Totals:
    """Calculates the totals of lines without taxes or shipments, and not the amounts of each line."""
    amount = sum([(line.price or 0) * line.quantity for line in lines])
    promo_total = sum([line.promo_total for line in lines])
    items = Amounts(_NO_ID, amount, promo_total, promo_total, 0, 0, amount + promo_total)
    item_count = sum([line.quantity for line in lines])
    return _add_up(items, _sum_amounts(()), item_count, order_promo_total, manual_total)[0]


def _add_up(
    items: Amounts, shipping: Amounts, item_count: int, order_promo_total: int, manual_total: int
) -> tuple[Totals, int]:
    """Returns the totals without the amounts that they are the sums of, and the manual adjustment that counts."""
    item_total, ship_total = items.amount, shipping.amount
    adjustment_total = items.adjustment_total + shipping.adjustment_total + order_promo_total
    manual = max(manual_total, -(item_total + ship_total + adjustment_total))
    adjustment_total += manual
    totals = Totals(
        lines=(),
        shipments=(),
        item_count=item_count,
        item_total=item_total,
        ship_total=ship_total,
        adjustment_total=adjustment_total,
        promo_total=items.promo_total + shipping.promo_total + order_promo_total,
        order_promo_total=order_promo_total,
        included_tax_total=items.included_tax_total + shipping.included_tax_total,
        additional_tax_total=items.additional_tax_total + shipping.additional_tax_total,
        pre_tax_item_amount=items.pre_tax_amount,
        pre_tax_total=items.pre_tax_amount + shipping.pre_tax_amount,
        total=item_total + ship_total + adjustment_total,
    )
    return totals, manual


def _sum_amounts(all_amounts: Sequence[Amounts]) -> Amounts:
    """Returns the sums of the amounts of all lines or shipments."""
    columns = zip(*map(_read_amounts, all_amounts), strict=True)
    return Amounts(_NO_ID, *(map(sum, columns) if all_amounts else [0] * 6))


class _Steps:
    """Records the calculation steps of a total, in order."""

    def __init__(self, steps: list[Mapping[str, Any]], applied_promotions: Mapping[str, Any]) -> None:
        self.steps = steps
        self._applied_promotions = applied_promotions

    def add_promotions(self, level: str, record_id: UUID | None, labels: Mapping[str, Any]) -> None:
        for promotion_id, entry in self._applied_promotions.items():
            for part in entry["parts"]:
                if part["on"] == level and part.get("id") == (None if record_id is None else str(record_id)):
                    rounding = {"exact": part["exact"], "rounding": "half up"} if "exact" in part else {}
                    source = {"promotion_id": promotion_id, "promotion": entry["name"], "code": entry["code"]}
                    amounts = {"of": part["of"], "amount": part["amount"]}
                    self.steps.append({"step": "promotion", "on": level, **labels, **source, **rounding, **amounts})

    def add_taxable(
        self,
        level: str,
        taxable: Taxable,
        amounts: Amounts,
        included_rates: Sequence[Rate],
        added_taxes: Sequence[tuple[Rate, int]],
    ) -> None:
        """Records the amount of a line or shipment, its promotions and its taxes."""
        labels: dict[str, Any] = {"id": taxable.id, "label": taxable.label}
        price = {"price": taxable.price, "quantity": taxable.quantity, "amount": amounts.amount}
        self.steps.append({"step": level, **labels, **price})
        self.add_promotions(level, taxable.id, labels)
        base: dict[str, Any] = {"on": level, **labels, "of": amounts.pre_tax_amount + amounts.included_tax_total}
        if included_rates:
            taxes = [_describe_rate(rate) for rate in included_rates]
            self.steps.append({"step": "included_tax", **base, "taxes": taxes, "amount": amounts.included_tax_total})
        for rate, tax in added_taxes:
            self.steps.append({"step": "added_tax", **base, "taxes": [_describe_rate(rate)], "amount": tax})

    def add_totals(self, manual: int, item_total: int, ship_total: int, adjustment_total: int) -> None:
        """Records the promotions and manual adjustments of the whole order, and its totals."""
        self.add_promotions("order", None, {})
        self.steps += [{"step": "manual", "on": "order", "amount": manual}] if manual else []
        self.steps += [
            {"step": "item_total", "amount": item_total},
            {"step": "ship_total", "amount": ship_total},
            {"step": "adjustment_total", "amount": adjustment_total},
            {"step": "total", "amount": item_total + ship_total + adjustment_total},
        ]


def _describe_rate(rate: Rate) -> dict[str, Any]:
    return {"id": rate.id, "name": rate.name, "rate": rate.amount}


def tax_on(taxable: Taxable, rates: Sequence[Rate]) -> int:
    """Returns the total tax on one taxable, included or added."""
    amounts = _amounts("shipment", taxable, rates)
    return amounts.included_tax_total + amounts.additional_tax_total


def spread_manual(manual_total: int, lines: Sequence[Taxable], shipments: Sequence[Taxable]) -> dict[str, int]:
    """Divides a manual discount among the lines in proportion to their discounted amounts, and what exceeds them among
    the shipments; returns the shares by id.
    """
    shares: dict[str, int] = {}
    left = min(manual_total, 0)
    for taxables in (lines, shipments):
        whole = sum(_amount_after_promotions(each) for each in taxables)
        part, amount_sum, share_sum = max(left, -whole), 0, 0
        left -= part
        for each in taxables:
            amount_sum += _amount_after_promotions(each)
            share = -((-2 * part * amount_sum + whole) // (2 * whole)) - share_sum if whole else 0
            share_sum += share
            shares |= {str(each.id): share} if share else {}
    return shares


def _amount_after_promotions(taxable: Taxable) -> int:
    """Returns the amount of a taxable after its promotions."""
    return taxable.price * taxable.quantity + taxable.promo_total


def _amounts(
    level: str,
    taxable: Taxable,
    rates: Sequence[Rate],
    recorder: _Steps | None = None,
    manual_shares: Mapping[str, int] = {},
) -> Amounts:
    amount = taxable.price * taxable.quantity
    discounted_amount = amount + taxable.promo_total
    if not (rates or manual_shares or recorder):
        promo_total = taxable.promo_total
        return Amounts(taxable.id, amount, promo_total, promo_total, 0, 0, discounted_amount)
    if manual_shares:
        discounted_amount = max(discounted_amount + manual_shares.get(str(taxable.id), 0), 0)
    due = [rate for rate in rates if rate.tax_category_id == taxable.tax_category_id]
    included_rates = [rate for rate in due if rate.included_in_price]
    pre_tax = discounted_amount
    if included_rates:
        pre_tax = _without(discounted_amount, sum((rate.amount for rate in included_rates), Decimal(0)))
    added_taxes = [(rate, _share(discounted_amount, rate.amount)) for rate in due if not rate.included_in_price]
    additional = sum(tax for _, tax in added_taxes)
    amounts = Amounts(
        id=taxable.id,
        amount=amount,
        promo_total=taxable.promo_total,
        adjustment_total=taxable.promo_total + additional,
        additional_tax_total=additional,
        included_tax_total=discounted_amount - pre_tax,
        pre_tax_amount=pre_tax,
    )
    if recorder is not None:
        recorder.add_taxable(level, taxable, amounts, included_rates, added_taxes)
    return amounts


def _share(amount: int, rate: Decimal) -> int:
    """Returns `amount` times `rate`, rounded half up."""
    part, whole = rate.as_integer_ratio()
    return (2 * amount * part + whole) // (2 * whole)


def _without(amount: int, rate: Decimal) -> int:
    """Returns `amount` without an included `rate`, rounded half up."""
    part, whole = rate.as_integer_ratio()
    return (2 * amount * whole + whole + part) // (2 * (whole + part))
