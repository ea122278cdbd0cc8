"""How a discount of a draft divides among its items and shipments, and the taxes that follow."""

from decimal import Decimal
from uuid import UUID, uuid4

from hypothesis import given
from hypothesis import strategies as st

from shop.rules.cart.totals import Rate, Taxable, spread_manual, total_order

CATEGORY = UUID(int=1)
amounts = st.lists(st.integers(0, 10**6), max_size=6)


def taxables(prices: list[int]) -> list[Taxable]:
    return [Taxable(uuid4(), "Mug", price, tax_category_id=CATEGORY) for price in prices]


@given(amounts, amounts, st.integers(-(10**7), 10))
def test_the_shares_add_up_to_the_discount_as_far_as_there_is_something_to_pay(
    prices: list[int], costs: list[int], manual_total: int
) -> None:
    shares = spread_manual(manual_total, taxables(prices), taxables(costs))

    assert sum(shares.values()) == max(min(manual_total, 0), -sum(prices) - sum(costs))
    assert all(share < 0 for share in shares.values())


@given(amounts, amounts, st.integers(-(10**7), 0), st.booleans())
def test_what_is_left_to_pay_is_what_taxes_are_calculated_from(
    prices: list[int], costs: list[int], manual_total: int, is_included: bool
) -> None:
    lines, shipments = taxables(prices), taxables(costs)
    rates = [Rate(uuid4(), "VAT", Decimal("0.19"), is_included, CATEGORY)]

    totals = total_order(
        lines,
        shipments,
        rates,
        manual_total=manual_total,
        manual_shares=spread_manual(manual_total, lines, shipments),
    )

    paid = max(sum(prices) + sum(costs) + manual_total, 0)
    rounding = len(prices) + len(costs)
    assert abs(totals.pre_tax_total + totals.included_tax_total - paid) <= rounding
    assert abs(totals.total - totals.additional_tax_total - paid) <= rounding
    tax = paid * Decimal("0.19") / (Decimal("1.19") if is_included else 1)
    assert abs(totals.included_tax_total + totals.additional_tax_total - tax) <= rounding
