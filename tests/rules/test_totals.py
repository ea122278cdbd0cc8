"""Totals of orders, exact to the smallest unit, compared with a slow and obvious model in fractions."""

from decimal import Decimal
from fractions import Fraction
from math import floor
from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from shop.rules.cart.totals import COLUMNS, Rate, Taxable, Totals, total_order

BOOKS, FOOD = UUID(int=1), UUID(int=2)


def rate(amount: str, category: UUID = BOOKS, *, included: bool = False) -> Rate:
    return Rate(UUID(int=99), f"Tax of {amount}", Decimal(amount), included, category)


def line(price: int, quantity: int = 1, *, promo: int = 0, category: UUID | None = BOOKS, number: int = 10) -> Taxable:
    return Taxable(UUID(int=number), "A line", price, quantity, promo, category)


def half_up(value: Fraction) -> int:
    return floor(value + Fraction(1, 2))


def model(lines: list[Taxable], shipments: list[Taxable], rates: list[Rate], order_discount: int = 0) -> dict[str, Any]:
    """Computes each sum separately."""
    totals: dict[str, Any] = dict.fromkeys(COLUMNS, 0)
    for taxable in [*lines, *shipments]:
        amount = taxable.price * taxable.quantity
        left = amount + taxable.promo_total
        due = [each for each in rates if each.tax_category_id == taxable.tax_category_id]
        within = sum((Fraction(each.amount) for each in due if each.included_in_price), Fraction(0))
        before = half_up(Fraction(left) / (1 + within))
        on_top = sum(half_up(left * Fraction(each.amount)) for each in due if not each.included_in_price)
        totals["item_total" if taxable in lines else "ship_total"] += amount
        totals["promo_total"] += taxable.promo_total
        totals["adjustment_total"] += taxable.promo_total + on_top
        totals["additional_tax_total"] += on_top
        totals["included_tax_total"] += left - before
        totals["pre_tax_total"] += before
        if taxable in lines:
            totals["item_count"] += taxable.quantity
            totals["pre_tax_item_amount"] += before
    totals["promo_total"] -= order_discount
    totals["order_promo_total"] = -order_discount
    totals["adjustment_total"] -= order_discount
    totals["total"] = totals["item_total"] + totals["ship_total"] + totals["adjustment_total"]
    return totals


@st.composite
def taxables(draw: Any, offset: int) -> list[Taxable]:
    def one(number: int) -> Taxable:
        price, quantity = draw(st.integers(0, 10**9)), draw(st.integers(1, 50))
        promo = -draw(st.integers(0, price * quantity))
        category = draw(st.sampled_from([None, BOOKS, FOOD]))
        return line(price, quantity, promo=promo, category=category, number=offset + number)

    return [one(number) for number in range(draw(st.integers(0, 5)))]


shares = st.decimals(min_value=0, max_value=1, places=5)
some_rates = st.lists(
    st.builds(Rate, st.just(UUID(int=99)), st.just("Tax"), shares, st.booleans(), st.sampled_from([BOOKS, FOOD])),
    max_size=4,
)


@given(taxables(100), taxables(200), some_rates)
def test_totals_agree_with_the_model(lines: list[Taxable], shipments: list[Taxable], rates: list[Rate]) -> None:
    totals = total_order(lines, shipments, rates)

    assert totals.columns == model(lines, shipments, rates)
    assert totals.total >= 0
    assert all(each.total >= 0 for each in [*totals.lines, *totals.shipments])
    assert all(
        each.pre_tax_amount + each.included_tax_total == each.amount + each.promo_total
        for each in [*totals.lines, *totals.shipments]
    )


@given(taxables(100), taxables(200), some_rates)
def test_the_explained_steps_add_up_to_the_total(
    lines: list[Taxable], shipments: list[Taxable], rates: list[Rate]
) -> None:
    parts = [
        {"on": on, "id": str(each.id), "of": each.price * each.quantity, "amount": each.promo_total}
        for on, taxables in (("line", lines), ("shipment", shipments))
        for each in taxables
    ]
    promotions = {"1": {"name": "A sale", "code": None, "amount": 0, "parts": parts}}
    totals = total_order(lines, shipments, rates, applied_promotions=promotions)

    kinds = {"line", "shipment", "promotion", "added_tax"}
    assert sum(step["amount"] for step in totals.steps if step["step"] in kinds) == totals.total
    assert totals.steps[-1] == {"step": "total", "amount": totals.total}
    assert sum(step["amount"] for step in totals.steps if step["step"] == "included_tax") == totals.included_tax_total


def main_totals(totals: Totals) -> tuple[int, ...]:
    return totals.item_total, totals.ship_total, totals.promo_total, totals.adjustment_total, totals.total


def test_a_ten_percent_coupon_on_one_line_item_with_shipping() -> None:
    """The worked example: a line of 10.00, shipping of 100.00."""
    shipment = line(10_000, category=None, number=20)

    assert main_totals(total_order([line(1_000, promo=-100)], [shipment], [])) == (1_000, 10_000, -100, -100, 10_900)
    assert total_order([line(1_000, promo=-100)], [shipment], []).lines[0].total == 900
    assert main_totals(total_order([line(1_000)], [shipment], [])) == (1_000, 10_000, 0, 0, 11_000)


def test_free_shipping_discounts_the_cost_of_the_shipment() -> None:
    totals = total_order([line(1_000)], [line(500, promo=-500, category=None, number=20)], [])

    assert (totals.promo_total, totals.total, totals.shipments[0].total) == (-500, 1_000, 0)


def test_included_tax_is_part_of_the_price_and_added_tax_is_not() -> None:
    within = total_order([line(11_900)], [], [rate("0.19", included=True)])
    on_top = total_order([line(10_000)], [], [rate("0.19")])

    assert (within.total, within.included_tax_total, within.pre_tax_total, within.adjustment_total) == (
        11_900,
        1_900,
        10_000,
        0,
    )
    assert (on_top.total, on_top.additional_tax_total, on_top.adjustment_total) == (11_900, 1_900, 1_900)


def test_halves_are_rounded_up_in_every_currency() -> None:
    # 5 % of 0.50, of 10 yen and of 0.010 dinars: the smallest unit is 1 in each.
    assert total_order([line(50)], [], [rate("0.05")]).additional_tax_total == 3
    assert total_order([line(10)], [], [rate("0.05")]).additional_tax_total == 1
    assert total_order([line(9)], [], [rate("0.05")]).additional_tax_total == 0


def test_each_tax_category_has_its_own_taxes() -> None:
    totals = total_order(
        [line(1_000), line(1_000, category=FOOD, number=11), line(1_000, category=None, number=12)],
        [],
        [rate("0.2"), rate("0.1", FOOD), rate("0.05")],
    )

    assert [each.additional_tax_total for each in totals.lines] == [250, 100, 0]
