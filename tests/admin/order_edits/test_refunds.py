"""Operators refund items of an order, and cancel items that were not shipped."""

import re
from typing import Any
from uuid import UUID

import httpx2
import pytest

from shop.models.checkout.payments import STORE_CREDIT_METHOD
from tests.accounts import sign_in
from tests.admin.catalog_forms import error_messages, redirect_path, saved_message, unique_word
from tests.admin.dashboard import Dashboard, backdate_session, events
from tests.admin.order_builders import ORDERS, buy, shipment_of, text_of
from tests.admin.order_edits.forms import amounts, find_problems, line_ids, read_forms
from tests.builders import Make
from tests.checkout_builders import Buyer, CheckoutSetup, SignedInBuyer, new_checkout_setup, on_hand
from tests.concurrency import run_concurrently
from tests.db.processes import until
from tests.promotion_builders import create_promotion, for_products
from tests.shopper import Answer


async def preview(dashboard: Dashboard, path: str, **fields: str) -> tuple[httpx2.Response, dict[str, str]]:
    """The preview, and the fields of the form that confirms it."""
    answer = await dashboard.post(path, **{"reason": "damaged", "reason_text": "", "do": "preview", **fields})
    assert answer.status_code == 200, error_messages(answer)
    return answer, read_forms(answer.text, path)[0]


async def wait_for_mail(http: httpx2.AsyncClient, email: str, text: str) -> str:
    """The text of the mail to this address that contains `text`."""

    async def find() -> list[str]:
        mails = (await http.get("/mailbox.json", params={"to": email})).json()
        return [str(mail["text"]) for mail in mails if text in mail["text"]]

    await until(find)
    return (await find())[0]


async def refunded(db: Any, order: Answer) -> list[tuple[Any, ...]]:
    rows = await db.fetch("select amount, reason, state from refunds where order_id = $1 order by id", UUID(order.id))
    return [tuple(row) for row in rows]


async def test_shipped_units_are_refunded_and_return_to_the_stock(
    dashboard: Dashboard, buyer: Buyer, db: Any, database_url: str
) -> None:
    order, variant = await buy(buyer, quantity=3, name="Teapot")
    saved_message(await dashboard.post(f"{await shipment_of(db, order)}/ship"))
    path, line = f"{ORDERS}/{order['number']}/refund", (await line_ids(db, order))[variant]
    fields = {f"quantity[{line}]": "2", f"restock[{line}]": "1", "shipping": "1.50", "reason_text": "Chipped"}

    page, form = await preview(dashboard, path, **fields)
    assert (await refunded(db, order), await on_hand(db, variant)) == ([], 7)
    assert "Refund $21.50? 2 \u00d7 Teapot back in stock $20.00" in text_of(page.text)
    assert saved_message(await dashboard.post(path, **form, do="refund")) == "refunded"

    assert await refunded(db, order) == [(2150, "Damaged or defective: Chipped", "completed")]
    assert await on_hand(db, variant) == 9
    assert await amounts(db, order) == (3000, 0, 500, 3500, "paid")
    assert ("order_refund", "done") in await events(db, actor=dashboard.id, subject=UUID(order.id))
    assert "2 of 3" in text_of((await dashboard.get(path)).text)
    again = await dashboard.post(path, **{f"quantity[{line}]": "2", "reason": "damaged", "do": "preview"})
    assert error_messages(again) == ["Teapot: at most 1 can be refunded."]
    assert await find_problems(database_url, db, order) == {}


async def test_units_include_their_share_of_discounts_and_tax(
    dashboard: Dashboard, buyer: Buyer, make: Make, db: Any
) -> None:
    buyer.checkout_setup = setup = await new_checkout_setup(make)
    category = (await make.new("tax_categories", "tax_category", name=unique_word())).id
    rate_fields = {"name": "Levy", "zone_id": setup.zone, "tax_category_id": category}
    await make.new("tax_rates", "tax_rate", **rate_fields, amount="0.10")
    mug, cup = [await setup.product(tax_category_id=category) for _ in range(2)]
    await create_promotion(make, ("amount_off_order", {"amounts": {"USD": "1.00"}}), conditions=[for_products(mug)])
    await buyer.ready((mug, 3), (cup, 1))
    order = await buyer.complete()
    path, lines = f"{ORDERS}/{order['number']}/refund", await line_ids(db, order)

    prices = []
    for _ in range(3):
        _, form = await preview(dashboard, path, **{f"quantity[{lines[mug.variant_id]}]": "1"})
        saved_message(await dashboard.post(path, **form, do="refund"))
        prices.append((await refunded(db, order))[-1][0])

    # Three mugs cost 33.00 with tax, less 0.75 of the discount of 1.00 on 44.00.
    assert (sum(prices), max(prices) - min(prices)) == (3225, 0)


async def test_several_payments_are_refunded_together(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    order, _ = await buy(buyer)
    payment = await db.fetchrow("select * from payments where order_id = $1", UUID(order.id))
    # A second captured payment, as after an edit that the customer paid for.
    await db.execute(
        """insert into payments (id, order_id, payment_method_id, source_id, number, state, amount, captured_amount,
            response_code, created_at, updated_at)
        select gen_random_uuid(), order_id, payment_method_id, source_id, number || 'B', state, 1000, 1000,
            response_code || 'B', now(), now() from payments where id = $1""",
        payment["id"],
    )
    path = f"{ORDERS}/{order['number']}/refund"

    page, form = await preview(dashboard, path, other="30")
    answer = await dashboard.post(path, **form, do="refund")

    assert "To Card" in text_of(page.text)
    assert saved_message(answer) == "refunded"
    assert [amount for amount, _, _ in await refunded(db, order)] == [2500, 500]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "Enter what to refund."),
        ({"other": "25.01"}, "The refund is more than what was paid and not refunded yet."),
        ({"other": "-1"}, "Other amount must be a number like 19.99."),
        ({"other": "9" * 30}, "Other amount"),
        ({"shipping": "5.01"}, "Refund of shipping is more than the shipping costs that are not refunded yet."),
        ({"quantity": "3"}, "Teapot: at most 2 can be refunded."),
        ({"quantity": "x"}, "Quantity must"),
        (
            {"quantity": "1", "restock": "1"},
            "Teapot: 0 shipped units can return to the stock. Cancel the others instead.",
        ),
        ({"other": "1", "reason": "other"}, "Explanation is required."),
        ({"other": "1", "reason": "<b>"}, "Reason is not a valid choice."),
        ({"other": "1", "reason_text": "x" * 206}, "Explanation must be one line of at most 205 characters."),
    ],
)
async def test_invalid_refunds_are_refused(
    dashboard: Dashboard, unchanged_order: tuple[Answer, str], db: Any, fields: dict[str, str], message: str
) -> None:
    order, variant = unchanged_order
    line = (await line_ids(db, order))[variant]
    names = {"quantity": f"quantity[{line}]", "restock": f"restock[{line}]"}
    form = {"reason": "damaged", **{names.get(name, name): text for name, text in fields.items()}}

    answer = await dashboard.post(f"{ORDERS}/{order['number']}/refund", **form, do="preview")

    assert answer.status_code == 422
    assert any(text.startswith(message) for text in error_messages(answer)), error_messages(answer)
    assert await refunded(db, order) == []


async def test_a_refund_by_line_requires_a_fresh_session(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    order, _ = await buy(buyer)
    path = f"{ORDERS}/{order['number']}/refund"
    await backdate_session(db, dashboard, "authenticated_at", "11 minutes")

    assert redirect_path(await dashboard.get(path)) == "/admin/confirm"
    assert (await dashboard.post(path, other="5", reason="damaged", do="refund")).status_code == 401
    assert await refunded(db, order) == []


async def test_of_two_operators_who_refund_at_once_one_sees_the_other_refund(
    dashboard: Dashboard, other_dashboard: Dashboard, buyer: Buyer, db: Any, database_url: str
) -> None:
    order, variant = await buy(buyer, name="Teapot")
    path, line = f"{ORDERS}/{order['number']}/refund", (await line_ids(db, order))[variant]
    requests = []
    for each in (dashboard, other_dashboard):
        _, form = await preview(each, path, **{f"quantity[{line}]": "1"})
        requests.append(each.post(path, **form, do="refund"))

    answers: list[Any] = await run_concurrently(db, "orders", UUID(order.id), *requests)

    assert sorted(answer.status_code for answer in answers) == [303, 409]
    loser = text_of(next(answer for answer in answers if answer.status_code == 409).text)
    assert "Nothing was refunded: check the new preview." in loser
    assert re.search(rf"(?:{dashboard.email}|{other_dashboard.email}) refunded \$10\.00 \(.* UTC\)\.", loser)
    assert "1 of 2" in loser
    assert len(await refunded(db, order)) == 1
    assert await find_problems(database_url, db, order) == {}


async def test_canceled_items_leave_the_order_and_are_refunded_next(
    dashboard: Dashboard, buyer: Buyer, db: Any, database_url: str
) -> None:
    order, variant = await buy(buyer, quantity=3, name="Teapot")
    path, line = f"{ORDERS}/{order['number']}/cancel-items", (await line_ids(db, order))[variant]

    page, form = await preview(dashboard, path, **{f"cancel[{line}]": "2", "reason": "out_of_stock"})
    assert "Teapot 3 \u2192 1 $10.00 $10.00" in text_of(page.text)
    answer = await dashboard.post(path, **form, do="save")

    assert redirect_path(answer) == f"{ORDERS}/{order['number']}/refund"
    assert await amounts(db, order) == (1000, 0, 500, 1500, "credit_owed")
    assert await on_hand(db, variant) == 9
    assert ("order_cancel_items", "done") in await events(db, actor=dashboard.id, subject=UUID(order.id))
    refund_path = redirect_path(answer)
    refund_page = (await dashboard.get(refund_path)).text
    assert read_forms(refund_page, refund_path)[-1]["other"] == "20.00"
    _, refund_form = await preview(dashboard, refund_path, other="20.00")
    saved_message(await dashboard.post(refund_path, **refund_form, do="refund"))
    assert (await amounts(db, order))[4] == "paid"
    assert await find_problems(database_url, db, order) == {}


async def test_canceled_items_that_are_damaged_or_lost_do_not_return_to_the_stock(
    dashboard: Dashboard, buyer: Buyer, db: Any, database_url: str
) -> None:
    order, variant = await buy(buyer, quantity=3, name="Teapot")
    path, line = f"{ORDERS}/{order['number']}/cancel-items", (await line_ids(db, order))[variant]
    fields = {f"cancel[{line}]": "2", f"lost[{line}]": "1", "reason": "damaged"}

    page, form = await preview(dashboard, path, **fields)
    assert "2 \u00d7 Teapot: damaged or lost, not back in stock" in text_of(page.text)
    changed = await dashboard.post(path, **{name: form[name] for name in form if name != f"lost[{line}]"}, do="save")
    redirect_path(await dashboard.post(path, **form, do="save"))

    assert changed.status_code == 409
    assert await on_hand(db, variant) == 7
    movements = await db.fetch(
        """select m.quantity, m.reason, m.note = $2 from stock_movements m join stock_items s on s.id = m.stock_item_id
        where s.variant_id = $1 order by m.id desc limit 2""",
        UUID(variant),
        order["number"],
    )
    assert sorted(map(tuple, movements)) == [(-2, "damaged", False), (2, "returned", True)]
    assert await find_problems(database_url, db, order) == {}


async def test_shipped_and_all_items_cannot_be_canceled(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    order, variant = await buy(buyer, name="Teapot")
    path, line = f"{ORDERS}/{order['number']}/cancel-items", (await line_ids(db, order))[variant]
    fields = {f"cancel[{line}]": "2", "reason": "customer", "do": "preview"}

    everything = await dashboard.post(path, **fields)
    saved_message(await dashboard.post(f"{await shipment_of(db, order)}/ship"))
    shipped = await dashboard.post(path, **fields)

    assert error_messages(everything) == ["An order needs at least one item. Cancel the order instead."]
    assert error_messages(shipped) == ["Teapot: at most 0 can be canceled."]
    assert "/cancel-items" not in (await dashboard.get(f"{ORDERS}/{order['number']}")).text


@pytest.fixture
async def member_buyer(http: httpx2.AsyncClient, checkout_setup: CheckoutSetup) -> SignedInBuyer:
    return SignedInBuyer(http, checkout_setup, await sign_in(http))


async def credit_of(db: Any, order: Answer) -> list[tuple[Any, ...]]:
    """The ledger entries of the order's customer."""
    query = """select e.action, e.amount, e.user_total_amount, e.order_id = o.id, e.reason from store_credit_events e
        join orders o on o.user_id = e.user_id where o.id = $1 order by e.id"""
    return [tuple(row) for row in await db.fetch(query, UUID(order.id))]


async def test_a_refund_can_be_store_credit_of_the_customer(
    dashboard: Dashboard, member_buyer: SignedInBuyer, db: Any, database_url: str
) -> None:
    order, variant = await buy(member_buyer, quantity=3, name="Teapot")
    path, line = f"{ORDERS}/{order['number']}/refund", (await line_ids(db, order))[variant]

    page, form = await preview(dashboard, path, **{f"quantity[{line}]": "1", "destination": "store_credit"})
    assert "To store credit, instead of Card" in text_of(page.text)
    assert "cannot be undone, and store credit cannot be turned into money here" in text_of(page.text)
    assert saved_message(await dashboard.post(path, **form, do="refund")) == "refunded"

    assert await refunded(db, order) == [(1000, "Damaged or defective", "completed")]
    reason = f"Refund of order {order['number']}: Damaged or defective"
    assert await credit_of(db, order) == [("granted", 1000, 1000, True, reason)]
    attempts = await db.fetch("select act from payment_attempts where order_id = $1", UUID(order.id))
    assert [row["act"] for row in attempts] == ["purchase"], "no provider is called"
    assert await amounts(db, order) == (3000, 0, 500, 3500, "paid")
    assert ("order_refund", "done") in await events(db, actor=dashboard.id, subject=UUID(order.id))
    types = "select type from events where subject_id = any(select store_credit_id from refunds where order_id = $1)"
    assert [row["type"] for row in await db.fetch(types, UUID(order.id))] == ["store_credit.created"]
    assert "$10.00 completed store credit" in text_of((await dashboard.get(f"{ORDERS}/{order['number']}")).text)
    # The rest can be money.
    _, form = await preview(dashboard, path, **{f"quantity[{line}]": "2", "destination": "payment"})
    assert saved_message(await dashboard.post(path, **form, do="refund")) == "refunded"
    assert [row[0] for row in await refunded(db, order)] == [1000, 2000]
    assert await find_problems(database_url, db, order) == {}


async def test_the_figures_and_the_mail_of_store_credit_name_it(
    dashboard: Dashboard, http: httpx2.AsyncClient, member_buyer: SignedInBuyer, db: Any
) -> None:
    order, _ = await buy(member_buyer)
    path = f"{ORDERS}/{order['number']}/refund"
    reason = unique_word()
    fields = {"other": "7", "reason": "other", "reason_text": reason, "destination": "store_credit"}
    _, form = await preview(dashboard, path, **fields)
    saved_message(await dashboard.post(path, **form, do="refund"))

    mail = await wait_for_mail(http, "ada@example.org", f"refunded $7.00 of your order {order['number']}")
    assert "as store credit, which you can use for your next order." in mail

    query = "select payment_method_id, amount from refund_days where reason = $1"
    await until(lambda: db.fetchrow(query, reason))
    assert tuple(await db.fetchrow(query, reason)) == (STORE_CREDIT_METHOD, 700)


async def test_a_guest_gets_no_store_credit(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    order, _ = await buy(buyer)
    path = f"{ORDERS}/{order['number']}/refund"
    fields = {"other": "1", "reason": "damaged", "destination": "store_credit", "do": "preview"}

    answer = await dashboard.post(path, **fields)
    unknown = await dashboard.post(path, **{**fields, "destination": "x"})

    assert 'name="destination"' not in (await dashboard.get(path)).text
    assert answer.status_code == 422
    assert "Store credit needs a customer with an account" in error_messages(answer)[0]
    assert unknown.status_code == 422
    assert await refunded(db, order) == []


async def test_store_credit_and_money_for_the_same_units_make_one_refund(
    dashboard: Dashboard, other_dashboard: Dashboard, member_buyer: SignedInBuyer, db: Any, database_url: str
) -> None:
    order, variant = await buy(member_buyer)
    path, line = f"{ORDERS}/{order['number']}/refund", (await line_ids(db, order))[variant]
    requests = []
    for each, destination in ((dashboard, "store_credit"), (other_dashboard, "payment")):
        _, form = await preview(each, path, **{f"quantity[{line}]": "2", "destination": destination})
        requests.append(each.post(path, **form, do="refund"))

    answers: list[Any] = await run_concurrently(db, "orders", UUID(order.id), *requests)

    assert sorted(answer.status_code for answer in answers) in ([303, 409], [303, 422])
    assert len(await refunded(db, order)) == 1
    assert await find_problems(database_url, db, order) == {}


async def test_store_credit_waits_for_a_refund_whose_outcome_is_unknown(
    dashboard: Dashboard, member_buyer: SignedInBuyer, db: Any
) -> None:
    order, _ = await buy(member_buyer)
    path = f"{ORDERS}/{order['number']}/refund"
    _, form = await preview(dashboard, path, other="25", destination="store_credit")
    await db.execute(
        """insert into payment_attempts (id, order_id, payment_id, act, amount, outcome, actor_kind, created_at)
        select gen_random_uuid(), order_id, id, 'refund', 2500, 'unknown', 'nobody', now()
        from payments where order_id = $1""",
        UUID(order.id),
    )

    answer = await dashboard.post(path, **form, do="refund")

    assert answer.status_code == 409
    assert await credit_of(db, order) == []
    await db.execute("delete from payment_attempts where order_id = $1 and outcome = 'unknown'", UUID(order.id))
