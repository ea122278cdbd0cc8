"""The tax table of an invoice and the shares of its credit notes, exact to the smallest unit."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shop.models.cart.orders import LineItem
from shop.models.checkout.payments import Refund
from shop.models.checkout.shipments import Shipment
from shop.models.documents.invoices import Invoice, InvoiceAdjustment, TaxRow
from shop.models.setup.documents import DocumentSettings, TaxNumber
from shop.rules.cart.totals import Amounts, Rate, Taxable, total_order
from shop.rules.documents.invoices import build_tax_rows, list_adjustments, list_credits, name_rates, share_tax_rows
from shop.rules.setup.documents import document_errors, format_number, name_series
from tests.rules.test_totals import line, rate, some_rates, taxables

NOW = datetime(2026, 11, 18, tzinfo=UTC)
SUMS = ("promo_total", "adjustment_total", "additional_tax_total", "included_tax_total", "pre_tax_amount")
PROMOTION = "01890000-0000-7000-8000-000000000001"


def line_item(taxable: Taxable, amounts: Amounts) -> LineItem:
    sums = {name: getattr(amounts, name) for name in SUMS}
    return LineItem(
        id=taxable.id,
        order_id=UUID(int=1),
        variant_id=UUID(int=1),
        quantity=taxable.quantity,
        price=taxable.price,
        quoted_at=NOW,
        name="A lamp",
        slug="lamp",
        created_at=NOW,
        updated_at=NOW,
        **sums,
    )


def shipment(taxable: Taxable, amounts: Amounts) -> Shipment:
    sums = {name: getattr(amounts, name) for name in SUMS}
    cost: dict[str, Any] = {"cost": taxable.price * taxable.quantity}
    location: dict[str, Any] = {"stock_location_id": UUID(int=1), "number": "H1", "created_at": NOW, "updated_at": NOW}
    return Shipment(id=taxable.id, order_id=UUID(int=1), **cost, **location, **sums)


@given(taxables(100), taxables(200), some_rates, st.integers(0, 10**6), st.integers(-(10**6), 10**6))
def test_the_tax_table_adds_up_to_the_total(
    lines: list[Taxable], shipments: list[Taxable], rates: list[Rate], discount: int, manual: int
) -> None:
    before = total_order(lines, shipments, rates)
    discount = -min(discount, before.total)
    promotions: dict[str, Any] = {}
    if discount:
        parts = [{"on": "order", "of": before.total, "amount": discount}]
        promotions = {PROMOTION: {"name": "Ten off", "code": None, "parts": parts}}
    totals = total_order(
        lines, shipments, rates, order_promo_total=discount, manual_total=manual, applied_promotions=promotions
    )
    steps = msgspec.to_builtins(totals.steps)
    rows_of_parts: list[LineItem | Shipment] = [
        *(line_item(each, amounts) for each, amounts in zip(lines, totals.lines, strict=True)),
        *(shipment(each, amounts) for each, amounts in zip(shipments, totals.shipments, strict=True)),
    ]

    tax_rows = build_tax_rows(rows_of_parts, name_rates(steps), totals.total)

    assert sum(row.gross for row in tax_rows) == totals.total
    assert sum(row.tax for row in tax_rows) == totals.included_tax_total + totals.additional_tax_total
    assert len({row.label for row in tax_rows}) == len(tax_rows)
    listed_amount = sum(amounts.amount + amounts.promo_total for amounts in [*totals.lines, *totals.shipments])
    rest = totals.total - totals.additional_tax_total - listed_amount
    assert sum(each.amount for each in list_adjustments(steps, rest)) == rest


def test_a_row_names_all_rates_of_its_amounts() -> None:
    rates = [rate("0.05"), rate("0.02")]
    totals = total_order([line(1_000)], [], rates, applied_promotions={})

    names = name_rates(msgspec.to_builtins(totals.steps))

    rows = build_tax_rows([line_item(line(1_000), totals.lines[0])], names, totals.total)
    assert rows == [TaxRow("Tax of 0.05 5% + Tax of 0.02 2%", 1_000, 70)]


def test_taxes_without_frozen_steps_have_no_rate() -> None:
    totals = total_order([line(1_190)], [], [rate("0.19", included=True)])

    rows = build_tax_rows([line_item(line(1_190), totals.lines[0])], {}, totals.total)

    assert rows == [TaxRow("Tax", 1_000, 190)]


def test_adjustments_that_the_steps_do_not_explain_are_one_line() -> None:
    steps = [{"step": "promotion", "on": "order", "promotion": "Ten off", "amount": -100}]

    assert list_adjustments(steps, -100) == [InvoiceAdjustment("Ten off", -100)]
    assert list_adjustments(steps, -150) == [InvoiceAdjustment("Discounts and adjustments", -150)]


@given(
    st.lists(st.tuples(st.integers(0, 10**7), st.integers(0, 10**6)), min_size=1, max_size=5),
    st.lists(st.integers(1, 10**6), max_size=6),
)
def test_the_credit_notes_of_a_whole_invoice_have_its_tax_table(
    amounts: list[tuple[int, int]], refunds: list[int]
) -> None:
    rows = [TaxRow(f"Rate {number}", net, tax) for number, (net, tax) in enumerate(amounts)]
    left, credited = sum(row.gross for row in rows), 0
    sums = {row.label: [0, 0] for row in rows}
    while left:
        amount = min(left, refunds.pop() if refunds else left)
        shares = share_tax_rows(rows, credited, amount)
        assert sum(row.gross for row in shares) == amount
        for row in shares:
            sums[row.label][0] += row.net
            sums[row.label][1] += row.tax
        left, credited = left - amount, credited + amount

    assert sums == {row.label: [row.net, row.tax] for row in rows}


def new_invoice(total: int, refund_id: UUID | None = None, kind: str = "credit_note") -> Invoice:
    return Invoice(
        id=uuid4(),
        order_id=UUID(int=1),
        kind=kind,
        series="A-",
        running_number=1,
        number="A-1",
        refund_id=refund_id,
        currency="USD",
        total=total,
        content={},
        actor_kind="operator",
        issued_at=NOW,
    )


def new_refund(amount: int, state: str = "completed") -> Refund:
    times: dict[str, Any] = {"created_at": NOW, "updated_at": NOW}
    return Refund(
        id=uuid4(), order_id=UUID(int=1), payment_id=UUID(int=1), amount=amount, reason="Chipped", state=state, **times
    )


def test_credits_are_refunds_without_a_note_and_the_rest_of_a_canceled_order() -> None:
    invoice, first, second = new_invoice(1_000, kind="invoice"), new_refund(300), new_refund(200)
    pending, failed = new_refund(100, "pending"), new_refund(100, "failed")
    note = new_invoice(300, first.id)

    def amounts(*refunds: Refund, notes: tuple[Invoice, ...] = (), is_canceled: bool = False) -> list[int]:
        return [each.amount for each in list_credits(invoice, notes, refunds, is_canceled=is_canceled)]

    assert amounts(first, second, failed, pending) == [300, 200]
    assert amounts(first, second, notes=(note,)) == [200]
    assert amounts(first, second, failed, notes=(note,), is_canceled=True) == [200, 500]
    assert amounts(first, pending, notes=(note,), is_canceled=True) == []
    assert amounts(first, notes=(note, new_invoice(700)), is_canceled=True) == []
    assert amounts(new_refund(1_001)) == []


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("invoice_prefix", "A1", "must not end with a digit or {year}; add a hyphen"),
        ("invoice_prefix", "A-{year}", "must not end with a digit or {year}; add a hyphen"),
        ("invoice_prefix", "A/", "must have at most 30 letters, digits, dots, hyphens and underscores, and {year}"),
        ("digits", 0, "must be a number from 1 to 10"),
        ("legal_name", "x" * 121, "must be one line of at most 120 characters"),
        ("city", "a\nb", "must be one line of at most 80 characters"),
        ("email", "nobody", "must be an e-mail address"),
        ("tax_numbers", (TaxNumber("VAT ID", ""),), "must have a name and a number each"),
        ("tax_numbers", (TaxNumber("a", "b"),) * 6, "must be at most 5"),
    ],
)
def test_invalid_settings_are_named(field: str, value: Any, message: str) -> None:
    assert document_errors(DocumentSettings(**{field: value})) == {field: [message]}


@given(st.text("A1-", max_size=3), st.text("A1-", max_size=3), st.integers(1, 200), st.integers(1, 200))
def test_two_series_never_have_the_same_number(prefix: str, other: str, first: int, second: int) -> None:
    is_valid = not document_errors(DocumentSettings(invoice_prefix=prefix, credit_note_prefix=other))
    numbers = [format_number(name_series(prefix, 2026), first, 2), format_number(name_series(other, 2026), second, 3)]

    assert not is_valid or prefix == other or numbers[0] != numbers[1]


def test_a_year_in_the_prefix_starts_a_series() -> None:
    assert format_number(name_series("INV-{year}-", 2026), 42, 5) == "INV-2026-00042"
