"""Invoices and credit notes: issued once, with gapless numbers, and never changed."""

import asyncio
from typing import Any
from uuid import UUID

import httpx2
import pytest

from shop.queries.operations.verify import _CHECKS
from tests.admin.catalog_forms import error_messages
from tests.admin.dashboard import UNKNOWN_ID, Dashboard, events
from tests.admin.documents.builders import (
    buy_and_issue,
    find_gaps,
    new_series,
    numbers_of,
    path_of,
    pdf_text,
    save_settings,
)
from tests.admin.order_builders import ORDERS, buy, payment_of, refund_payment, text_of
from tests.checkout_builders import Buyer, CheckoutSetup
from tests.concurrency import wait_for_locks


async def refund(dashboard: Dashboard, db: Any, order: Any, amount: str) -> str:
    answer = await refund_payment(dashboard, await payment_of(db, order), amount=amount)
    assert answer.status_code == 303
    query = "select id from refunds where order_id = $1 order by id desc limit 1"
    return str(await db.fetchval(query, UUID(order.id)))


async def test_an_order_has_no_invoice_until_an_operator_issues_it(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    series = await new_series(dashboard)
    order, _ = await buy(buyer)
    path = f"{path_of(order)}/invoice"

    before = await dashboard.get(path)
    missing_pdf = await dashboard.get(f"{path}.pdf")
    answer = await dashboard.post(path)

    assert "Issue the invoice?" in before.text
    assert missing_pdf.status_code == 404
    assert (answer.status_code, answer.headers["location"]) == (303, path)
    assert await numbers_of(db, order) == [f"{series}1"]
    text = text_of((await dashboard.get(path)).text)
    assert f"Invoice {series}1" in text
    assert "Lantern & Loam GmbH Hauptstraße 5 10115 Berlin Germany help@lantern.example VAT ID: DE123456789" in text
    assert "Bill to Ada Lovelace 1 Main Street Springfield, IL 62701 United States" in text
    assert "Shipping Post 1 $5.00 No tax $5.00 Total $25.00" in text
    assert "No tax $25.00 $0.00 $25.00 Total $25.00 $0.00 $25.00" in text


async def test_issuing_again_returns_the_same_invoice(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    series = await new_series(dashboard)
    order = await buy_and_issue(dashboard, buyer)

    answer = await dashboard.post(f"{path_of(order)}/invoice")

    assert answer.status_code == 303
    assert await numbers_of(db, order) == [f"{series}1"]
    assert await db.fetchval("select last_number from invoice_counters where series = $1", series) == 1


async def test_two_operators_who_issue_at_the_same_time_get_one_number(
    dashboard: Dashboard, other_dashboard: Dashboard, buyer: Buyer, db: Any
) -> None:
    series = await new_series(dashboard)
    order, _ = await buy(buyer)
    await asyncio.gather(dashboard.csrf(), other_dashboard.csrf())
    async with db.transaction():
        await db.execute("select 1 from orders where id = $1 for update", UUID(order.id))
        tasks = [asyncio.create_task(each.post(f"{path_of(order)}/invoice")) for each in (dashboard, other_dashboard)]
        await wait_for_locks(db, 2)
    answers = await asyncio.gather(*tasks)

    assert [answer.status_code for answer in answers] == [303, 303]
    assert await numbers_of(db, order) == [f"{series}1"]
    assert await db.fetchval("select last_number from invoice_counters where series = $1", series) == 1


async def test_numbers_have_no_gap_when_transactions_fail(
    dashboard: Dashboard, http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    """Another transaction takes the next number and is rolled back while four invoices wait for theirs."""
    series = await new_series(dashboard)
    orders = [(await buy(Buyer(http, checkout_setup)))[0] for _ in range(5)]
    await dashboard.post(f"{path_of(orders[0])}/invoice")
    transaction = db.transaction()
    await transaction.start()
    await db.execute("update invoice_counters set last_number = last_number + 1 where series = $1", series)
    tasks = [asyncio.create_task(dashboard.post(f"{path_of(order)}/invoice")) for order in orders[1:]]
    await wait_for_locks(db, 4)
    await transaction.rollback()
    answers = await asyncio.gather(*tasks)

    assert [answer.status_code for answer in answers] == [303] * 4
    numbers = [number for order in orders for number in await numbers_of(db, order)]
    assert sorted(numbers) == [f"{series}{number}" for number in range(1, 6)]
    assert await find_gaps(db) == []


async def test_a_number_that_cannot_be_stored_is_not_spent(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    """The invoice of another order has this number already, so that the insertion fails after the count."""
    series = await new_series(dashboard)
    first = await buy_and_issue(dashboard, buyer)
    await db.execute("update invoices set number = $1 where number = $2", f"{series}2", f"{series}1")
    buyer.order_token = None
    second, _ = await buy(buyer)

    answer = await dashboard.post(f"{path_of(second)}/invoice")

    assert answer.status_code == 500
    assert await db.fetchval("select last_number from invoice_counters where series = $1", series) == 1
    await db.execute("update invoices set number = $1 where order_id = $2", f"{series}1", UUID(first.id))
    await dashboard.post(f"{path_of(second)}/invoice")
    assert await numbers_of(db, second) == [f"{series}2"]


async def test_the_consistency_checks_find_a_gap(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    series = await new_series(dashboard)
    await buy_and_issue(dashboard, buyer)
    check = _CHECKS["invoice numbers"]

    async def list_findings() -> list[tuple[str, str]]:
        rows = [tuple(row) for row in await db.fetch(check.sql, *check.constants.values())]
        return [row for row in rows if row[0] == series]

    assert await list_findings() == []
    transaction = db.transaction()
    await transaction.start()
    await db.execute("update invoice_counters set last_number = 3 where series = $1", series)
    assert await list_findings() == [(series, "counts 3 numbers, but the number of its documents is 1")]
    await transaction.rollback()


async def test_completing_an_order_takes_no_number(buyer: Buyer, db: Any) -> None:
    before = await db.fetchval("select coalesce(sum(last_number), 0) from invoice_counters")

    order, _ = await buy(buyer)

    assert await numbers_of(db, order) == []
    assert await db.fetchval("select coalesce(sum(last_number), 0) from invoice_counters") == before


async def test_an_invoice_never_changes(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    await new_series(dashboard)
    order = await buy_and_issue(dashboard, buyer)
    before = (await dashboard.get(f"{path_of(order)}/invoice.pdf")).content
    await save_settings(dashboard, legal_name="Another name", city="Hamburg")
    await db.execute("update line_items set name = 'Renamed' where order_id = $1", UUID(order.id))

    text = (await dashboard.get(f"{path_of(order)}/invoice")).text

    assert "Lantern &amp; Loam GmbH" in text
    assert "Berlin" in text
    assert "Renamed" not in text
    assert (await dashboard.get(f"{path_of(order)}/invoice.pdf")).content == before


async def test_issuing_is_an_event_with_an_audit_entry_and_a_timeline_entry(
    dashboard: Dashboard, buyer: Buyer, db: Any
) -> None:
    series = await new_series(dashboard)
    order = await buy_and_issue(dashboard, buyer)
    refund_id = await refund(dashboard, db, order, "5")
    await dashboard.post(f"{path_of(order)}/credit-notes", refund_id=refund_id)

    rows = await db.fetch(
        "select e.type, e.row from events e join invoices i on i.id = e.subject_id where i.order_id = $1 order by e.id",
        UUID(order.id),
    )
    assert [row["type"] for row in rows] == ["invoice.created", "credit_note.created"]
    assert "Lovelace" not in rows[0]["row"]
    audit_events = await events(db, subject=UUID(order.id))
    assert [each for each in audit_events if "issue" in each[0]] == [
        ("invoice_issue", "done"),
        ("credit_note_issue", "done"),
    ]
    text = text_of((await dashboard.get(path_of(order))).text)
    assert f"{dashboard.email} issued invoice {series}1" in text
    assert f"{dashboard.email} issued credit note C{series}1 for $5.00" in text


async def test_a_credit_note_refers_to_its_invoice(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    series = await new_series(dashboard)
    order = await buy_and_issue(dashboard, buyer)
    refund_id = await refund(dashboard, db, order, "10")
    assert "Issue credit note for $10.00" in (await dashboard.get(path_of(order))).text

    answer = await dashboard.post(f"{path_of(order)}/credit-notes", refund_id=refund_id)
    again = await dashboard.post(f"{path_of(order)}/credit-notes", refund_id=refund_id)

    path = f"{path_of(order)}/credit-notes/C{series}1"
    assert answer.headers["location"] == again.headers["location"] == path
    text = text_of((await dashboard.get(path)).text)
    assert f"For invoice {series}1" in text
    assert f"Refund of invoice {series}1 Chipped" in text
    assert "Total $10.00 $0.00 $10.00" in text
    pdf = await dashboard.get(f"{path}.pdf")
    assert f"For invoice {series}1" in pdf_text(pdf.content)
    assert "Issue credit note" not in (await dashboard.get(path_of(order))).text
    assert await find_gaps(db) == []


async def test_a_canceled_order_gets_a_credit_note_for_what_was_not_refunded(
    dashboard: Dashboard, buyer: Buyer, db: Any
) -> None:
    """A check that never came is void: there is no refund."""
    await new_series(dashboard)
    order = await buy_and_issue(dashboard, buyer, pays="check")
    early = await dashboard.post(f"{path_of(order)}/credit-notes", refund_id="")
    assert (await dashboard.post(f"{path_of(order)}/cancel")).status_code == 303

    answer = await dashboard.post(f"{path_of(order)}/credit-notes", refund_id="")

    assert (early.status_code, error_messages(early)) == (422, ["Nothing of the invoice is left to credit for this."])
    assert answer.status_code == 303
    assert "Total $25.00 $0.00 $25.00" in text_of((await dashboard.get(answer.headers["location"])).text)


async def test_the_refund_of_a_canceled_order_is_its_credit_note(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    await new_series(dashboard)
    order = await buy_and_issue(dashboard, buyer)
    assert (await dashboard.post(f"{path_of(order)}/cancel")).status_code == 303
    page = (await dashboard.get(path_of(order))).text

    refund_id = await db.fetchval("select id from refunds where order_id = $1", UUID(order.id))
    await dashboard.post(f"{path_of(order)}/credit-notes", refund_id=str(refund_id))
    second = await dashboard.post(f"{path_of(order)}/credit-notes", refund_id="")

    assert page.count("Issue credit note for") == 1
    assert len(await numbers_of(db, order, "credit_note")) == 1
    assert second.status_code == 422


async def test_the_question_about_a_credit_note_warns_of_a_missing_address(
    dashboard: Dashboard, buyer: Buyer, db: Any
) -> None:
    await new_series(dashboard)
    order = await buy_and_issue(dashboard, buyer)
    path = f"{path_of(order)}/credit-notes?refund_id={await refund(dashboard, db, order, '10')}"

    with_address = text_of((await dashboard.get(path)).text)
    await save_settings(dashboard, address1="")
    without_address = text_of((await dashboard.get(path)).text)
    await save_settings(dashboard)

    assert "Reason: Chipped. The credit note gets the next number and cannot be changed later." in with_address
    warning = "Your shop\u2019s address is missing. Add it in the settings"
    assert [warning in text for text in (with_address, without_address)] == [False, True]


async def test_orders_without_a_right_to_a_document_are_refused(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    order, _ = await buy(buyer, pays="check")
    await dashboard.post(f"{path_of(order)}/cancel")
    buyer.order_token = None
    cart = await buyer.post("/cart")

    canceled = await dashboard.post(f"{path_of(order)}/invoice")
    no_invoice = await dashboard.post(f"{path_of(order)}/credit-notes", refund_id="")

    assert (canceled.status_code, error_messages(canceled)) == (
        422,
        ["The order is canceled, so that it needs no invoice."],
    )
    assert error_messages(no_invoice) == ["The order has no invoice that could be corrected."]
    for name in ("invoice", "invoice.pdf", "packing-slip", "packing-slip.pdf", "credit-notes/x", "credit-notes/x.pdf"):
        assert (await dashboard.get(f"{ORDERS}/{cart['number']}/{name}")).status_code == 404
        assert (await dashboard.get(f"{ORDERS}/{UNKNOWN_ID}/{name}")).status_code == 404
    assert await numbers_of(db, order) == []


async def test_a_credit_note_of_another_order_is_404(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    series = await new_series(dashboard)
    order = await buy_and_issue(dashboard, buyer)
    refund_id = await refund(dashboard, db, order, "5")
    await dashboard.post(f"{path_of(order)}/credit-notes", refund_id=refund_id)
    buyer.order_token = None
    other = await buy_and_issue(dashboard, buyer)

    assert (await dashboard.get(f"{path_of(order)}/credit-notes/C{series}1")).status_code == 200
    assert (await dashboard.get(f"{path_of(other)}/credit-notes/C{series}1")).status_code == 404
    foreign_refund = await dashboard.post(f"{path_of(other)}/credit-notes", refund_id=refund_id)
    assert foreign_refund.status_code == 422


@pytest.mark.parametrize(
    ("included", "rows"), [(True, "VAT 20% $16.67 $3.33 $20.00"), (False, "VAT 20% $20.00 $4.00 $24.00")]
)
async def test_the_tax_table_is_by_rate(dashboard: Dashboard, buyer: Buyer, db: Any, included: bool, rows: str) -> None:
    setup = buyer.checkout_setup
    category = (await setup.make.new("tax_categories", "tax_category", name=f"Books {included}")).id
    fields = {"name": "VAT", "amount": "0.2", "included_in_price": included, "zone_id": setup.zone}
    await setup.make.new("tax_rates", "tax_rate", tax_category_id=category, **fields)
    order = await buy_and_issue(dashboard, buyer, tax_category_id=category)

    text = text_of((await dashboard.get(f"{path_of(order)}/invoice")).text)

    assert rows in text
    assert "No tax $5.00 $0.00 $5.00" in text
    total = await db.fetchval("select total from orders where id = $1", UUID(order.id))
    assert f"${total / 100:.2f}" == ("$25.00" if included else "$29.00")
    assert text.endswith(f"${total / 100:.2f}")
