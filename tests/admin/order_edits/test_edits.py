"""Operators edit placed orders: they see a preview, and save exactly what it shows."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.admin.catalog_forms import error_messages, saved_message, unique_word
from tests.admin.dashboard import Dashboard, events
from tests.admin.drafts.builders import CASH
from tests.admin.order_builders import ORDERS, buy, payment_of, refund_payment, shipment_of, text_of
from tests.admin.order_edits.forms import OrderEditor, amounts, find_problems, line_ids, read_forms
from tests.builders import Make
from tests.checkout_builders import Buyer, new_checkout_setup, on_hand, set_stock
from tests.concurrency import run_concurrently
from tests.promotion_builders import create_promotion, for_products
from tests.shopper import Answer


async def test_a_preview_shows_the_new_totals_and_changes_nothing(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    order, variant = await buy(buyer, name="Teapot")
    editor, line = OrderEditor(dashboard, order), (await line_ids(db, order))[variant]
    query = "select total, item_count, payment_state, explained from orders where id = $1"
    before = await db.fetchrow(query, UUID(order.id))
    await editor.open()

    answer = await editor.preview(**{f"quantity[{line}]": "5"})

    text = text_of(answer.text)
    assert "Teapot 2 \u2192 5 $10.00 $50.00" in text
    assert "Items $20.00 $50.00 Shipping $5.00 $5.00 Total" in text
    assert "Total $25.00 $55.00" in text
    assert "$30.00 will be due. The customer gets an e-mail that asks for it, with a payment link" in text
    assert '<h2 id="preview" tabindex="-1" data-feedback>' in answer.text
    assert "3 \u00d7 Teapot: from" in text
    assert await on_hand(db, variant) == 8
    assert await db.fetchrow(query, UUID(order.id)) == before
    assert ("order_edit", "done") not in await events(db, subject=UUID(order.id))


async def test_a_preview_explains_what_was_refunded_before(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    order, variant = await buy(buyer, quantity=3)
    editor, line = OrderEditor(dashboard, order), (await line_ids(db, order))[variant]
    await refund_payment(dashboard, await payment_of(db, order), amount="11.00")
    await editor.open()

    text = text_of((await editor.preview(**{f"quantity[{line}]": "2"})).text)

    assert "Total $35.00 $25.00 Paid $35.00 $35.00 Refunded -$11.00 -$11.00" in text
    assert "Nothing will be due or owed. $11.00 was refunded before:" in text
    assert "the customer does not pay $1.00 of it again." in text


async def test_saving_applies_the_preview(dashboard: Dashboard, buyer: Buyer, db: Any, database_url: str) -> None:
    order, variant = await buy(buyer)
    editor, line = OrderEditor(dashboard, order), (await line_ids(db, order))[variant]
    await editor.open()
    await editor.preview(**{f"quantity[{line}]": "5"})

    assert saved_message(await editor.save()) == "edited"

    assert await amounts(db, order) == (5000, 0, 500, 5500, "balance_due")
    assert await on_hand(db, variant) == 5
    assert await db.fetchval("select state from shipments where order_id = $1", UUID(order.id)) == "pending"
    page = text_of((await dashboard.get(f"{editor.page}?done=edited")).text)
    assert "Changes saved." in page
    # The customer was told by e-mail.
    assert "Next: $30.00 is due A payment link cannot be sent. The customer got such an e-mail less than" in page
    assert f"{dashboard.email} changed the items" in page
    assert ("order_edit", "done") in await events(db, actor=dashboard.id, subject=UUID(order.id))
    assert await find_problems(database_url, db, order) == {}


async def test_a_smaller_order_owes_a_refund_and_returns_stock(
    dashboard: Dashboard, buyer: Buyer, db: Any, database_url: str
) -> None:
    order, variant = await buy(buyer, quantity=3)
    editor, line = OrderEditor(dashboard, order), (await line_ids(db, order))[variant]
    await editor.open()

    preview = text_of((await editor.preview(**{f"quantity[{line}]": "1"})).text)
    saved_message(await editor.save())

    assert "$20.00 will be owed to the customer." in preview
    assert await amounts(db, order) == (1000, 0, 500, 1500, "credit_owed")
    assert await on_hand(db, variant) == 9
    assert await find_problems(database_url, db, order) == {}


async def test_a_line_is_replaced_by_another_variant(
    dashboard: Dashboard, buyer: Buyer, db: Any, database_url: str
) -> None:
    order, variant = await buy(buyer)
    name = f"Kettle {unique_word()}"
    kettle = await buyer.checkout_setup.product("7.00", name=name)
    editor, line = OrderEditor(dashboard, order), (await line_ids(db, order))[variant]
    await editor.open()
    fields = {**editor.fields, "q": name.lower(), f"quantity[{line}]": "0", "do": "search"}
    results = await dashboard.post(editor.path, **fields)
    assert f"{name} \u2013 10 $7.00" in text_of(results.text)
    editor.fields = read_forms(results.text, editor.path)[-1]
    assert editor.fields[f"quantity[{line}]"] == "0"

    preview = text_of((await editor.preview(**{f"add[{kettle.variant_id}]": "2"})).text)
    saved_message(await editor.save())

    assert f"{name} 0 \u2192 2 $7.00 $14.00" in preview
    assert await amounts(db, order) == (1400, 0, 500, 1900, "credit_owed")
    assert (await on_hand(db, variant), await on_hand(db, kettle.variant_id)) == (10, 8)
    assert list(await line_ids(db, order)) == [kettle.variant_id]
    assert await find_problems(database_url, db, order) == {}


async def test_bought_units_keep_price_discount_and_tax_rate(
    dashboard: Dashboard, buyer: Buyer, make: Make, db: Any, database_url: str
) -> None:
    buyer.checkout_setup = setup = await new_checkout_setup(make)
    category = (await make.new("tax_categories", "tax_category", name=unique_word())).id
    rate_fields = {"name": "Levy", "zone_id": setup.zone, "tax_category_id": category}
    rate = await make.new("tax_rates", "tax_rate", **rate_fields, amount="0.10")
    mug, cup = [await setup.product(tax_category_id=category) for _ in range(2)]
    await create_promotion(make, ("percent_off_items", {"percent": "20"}), conditions=[for_products(mug)])
    await create_promotion(make, ("amount_off_order", {"amounts": {"USD": "3.60"}}), conditions=[for_products(mug)])
    await buyer.ready((mug, 2), (cup, 2))
    order = await buyer.complete()
    # Items 40.00, discounts -4.00 and -3.60, taxes 10 % of 36.00, shipping 5.00.
    assert await amounts(db, order) == (4000, -760, 500, 4100, "paid")
    await make.change("tax_rates", rate.id, "tax_rate", amount="0.50")
    await db.execute("update prices set amount = 9900 where variant_id = $1", UUID(mug.variant_id))
    editor, lines = OrderEditor(dashboard, order), await line_ids(db, order)
    await editor.open()

    quantities = {f"quantity[{lines[mug.variant_id]}]": "1", f"quantity[{lines[cup.variant_id]}]": "3"}
    await editor.preview(**quantities)
    saved_message(await editor.save())

    # The discount of the order falls with the mug that is gone, by 8.00 of 36.00; the added cup does not raise it.
    assert await amounts(db, order) == (4000, -200 - 280, 500, 4000 - 480 + 380 + 500, "balance_due")
    assert await find_problems(database_url, db, order) == {}


async def test_shipped_units_cannot_be_removed(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    order, variant = await buy(buyer, name="Teapot")
    saved_message(await dashboard.post(f"{await shipment_of(db, order)}/ship"))
    editor, line = OrderEditor(dashboard, order), (await line_ids(db, order))[variant]

    assert "2 shipped" in await editor.open()
    answer = await dashboard.post(editor.path, **{**editor.fields, f"quantity[{line}]": "1", "do": "preview"})

    assert answer.status_code == 422
    assert error_messages(answer) == ["Teapot: 2 cannot be removed any more, because they were shipped."]


async def test_added_units_of_a_shipped_order_get_a_shipment_of_their_own(
    dashboard: Dashboard, buyer: Buyer, db: Any, database_url: str
) -> None:
    order, variant = await buy(buyer)
    saved_message(await dashboard.post(f"{await shipment_of(db, order)}/ship"))
    editor, line = OrderEditor(dashboard, order), (await line_ids(db, order))[variant]
    await editor.open()
    await editor.preview(**{f"quantity[{line}]": "3"})
    saved_message(await editor.save())

    query = """select s.state, s.cost, i.quantity from shipments s join shipment_items i on i.shipment_id = s.id
        where s.order_id = $1 order by s.created_at"""
    rows = await db.fetch(query, UUID(order.id))
    assert [tuple(row) for row in rows] == [("shipped", 500, 2), ("pending", 0, 1)]
    assert await find_problems(database_url, db, order) == {}

    await editor.open()
    await editor.preview(**{f"quantity[{line}]": "2"})
    saved_message(await editor.save())
    assert [tuple(row) for row in await db.fetch(query, UUID(order.id))] == [("shipped", 500, 2)]
    assert await find_problems(database_url, db, order) == {}


async def test_more_than_the_stock_is_refused(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    order, variant = await buy(buyer, name="Teapot")
    await set_stock(db, variant, 3)
    editor, line = OrderEditor(dashboard, order), (await line_ids(db, order))[variant]
    await editor.open()

    answer = await dashboard.post(editor.path, **{**editor.fields, f"quantity[{line}]": "6", "do": "preview"})

    assert (answer.status_code, error_messages(answer)) == (422, ["Teapot: not enough stock. 3 more can be added."])


async def test_addresses_and_email_are_replaced(dashboard: Dashboard, buyer: Buyer, db: Any, database_url: str) -> None:
    order, _ = await buy(buyer)
    editor, email = OrderEditor(dashboard, order), f"{unique_word()}@example.org"
    await editor.open()
    old_id = await db.fetchval("select ship_address_id from orders where id = $1", UUID(order.id))

    preview = text_of((await editor.preview(email=email, ship_address1="2 Side Street")).text)
    saved_message(await editor.save())

    assert f"E-mail ada@example.org \u2192 {email}" in preview
    assert "\u2192 Ada Lovelace, 2 Side Street, Springfield" in preview
    row = await db.fetchrow(
        """select o.email, o.ship_address_id <> $2, o.ship_address_id = o.bill_address_id, a.address1, a.state_id
        from orders o join addresses a on a.id = o.ship_address_id where o.id = $1""",
        UUID(order.id),
        old_id,
    )
    assert tuple(row)[:4] == (email, True, True, "2 Side Street")
    assert row[4] is not None
    audits = await db.fetch(
        "select changes::text || detail::text from audit_events where subject_id = $1", UUID(order.id)
    )
    assert not any(email in row[0] or "Side Street" in row[0] for row in audits)
    assert await find_problems(database_url, db, order) == {}


async def test_an_awaited_check_is_expected_with_the_new_amount(
    dashboard: Dashboard, buyer: Buyer, db: Any, database_url: str
) -> None:
    order, variant = await buy(buyer, pays="check")
    editor, line = OrderEditor(dashboard, order), (await line_ids(db, order))[variant]
    await editor.open()
    await editor.preview(**{f"quantity[{line}]": "1"})
    saved_message(await editor.save())

    assert await db.fetchval("select amount from payments where order_id = $1", UUID(order.id)) == 1500
    assert "Next: wait for $15.00 by Check" in text_of((await dashboard.get(editor.page)).text)
    assert await find_problems(database_url, db, order) == {}


async def buy_authorized(make: Make, buyer: Buyer, quantity: int) -> tuple[Answer, str]:
    """Buys with a card that is authorized but not captured."""
    fields = {"name": "Later card", "type": "test_card", "auto_capture": False}
    method = (await make.new("payment_methods", "payment_method", **fields)).id
    product = await buyer.checkout_setup.product()
    await buyer.add_items((product, quantity))
    await buyer.enter_address()
    await buyer.pay(method=method)
    answer = await buyer.complete()
    assert answer.status == 200, answer
    return answer, product.variant_id


async def test_only_what_is_due_of_an_authorized_card_is_captured(
    dashboard: Dashboard, buyer: Buyer, make: Make, db: Any, database_url: str
) -> None:
    order, variant = await buy_authorized(make, buyer, 3)
    editor, line = OrderEditor(dashboard, order), (await line_ids(db, order))[variant]
    await editor.open()
    await editor.preview(**{f"quantity[{line}]": "1"})
    saved_message(await editor.save())
    page = text_of((await dashboard.get(editor.page)).text)
    assert "Next: capture $15.00 by Later card Capture $15.00" in page
    assert "$35.00 is authorized, but only this is due. The rest is released to the customer." in page

    saved_message(await dashboard.post(f"{await payment_of(db, order)}/capture"))

    payment = await db.fetchrow("select * from payments where order_id = $1", UUID(order.id))
    assert (payment["state"], payment["amount"], payment["captured_amount"]) == ("completed", 1500, 1500)
    call = await db.fetchrow("select * from payment_attempts where act = 'capture' and order_id = $1", UUID(order.id))
    assert (call["amount"], call["outcome"]) == (1500, "approved")
    assert await amounts(db, order) == (1000, 0, 500, 1500, "paid")
    assert await find_problems(database_url, db, order) == {}


async def test_an_authorized_card_of_a_paid_order_is_not_captured(
    dashboard: Dashboard, buyer: Buyer, make: Make, db: Any
) -> None:
    """The customer paid in another way meanwhile."""
    order, _ = await buy_authorized(make, buyer, 1)
    await db.execute(
        """insert into payments (id, order_id, payment_method_id, number, state, amount, captured_amount, captured_at,
            created_at, updated_at)
        select gen_random_uuid(), order_id, $2, number || 'B', 'completed', 1500, 1500, now(), now(), now()
        from payments where order_id = $1""",
        UUID(order.id),
        UUID(CASH),
    )
    path = await db.fetchval("select id from payments where order_id = $1 and state = 'pending'", UUID(order.id))

    page = await dashboard.get(f"{ORDERS}/{order['number']}")
    answer = await dashboard.post(f"{ORDERS}/{order['number']}/payments/{path}/capture")

    assert f"payments/{path}/capture" not in page.text
    assert error_messages(answer) == ["Nothing is due any more. Void the payment to release it."]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"quantity": "0"}, "An order needs at least one item. Cancel the order instead."),
        ({"quantity": "-1"}, "Quantity must be 0 or more."),
        ({"quantity": "9" * 30}, "Quantity must"),
        ({"email": "nobody"}, "E-mail address is not an e-mail address."),
        ({"ship_zipcode": "x" * 256}, "Shipping: postal code must be one line"),
        ({"ship_country_iso": "XX"}, "Shipping: country must be the code of a country"),
        ({"bill_firstname": "", "is_same_address": ""}, "Billing: first name is required."),
        ({}, "Nothing was changed."),
    ],
)
async def test_invalid_edits_are_refused_and_shown_again(
    dashboard: Dashboard, unchanged_order: tuple[Answer, str], db: Any, fields: dict[str, str], message: str
) -> None:
    order, variant = unchanged_order
    editor, line = OrderEditor(dashboard, order), (await line_ids(db, order))[variant]
    await editor.open()
    changes = {f"quantity[{line}]" if name == "quantity" else name: text for name, text in fields.items()}

    answer = await dashboard.post(editor.path, **{**editor.fields, **changes, "do": "preview"})

    assert answer.status_code == 422
    assert any(text.startswith(message) for text in error_messages(answer)), error_messages(answer)
    assert await amounts(db, order) == (2000, 0, 500, 2500, "paid")


async def test_a_canceled_order_cannot_be_edited(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    order, variant = await buy(buyer)
    editor, line = OrderEditor(dashboard, order), (await line_ids(db, order))[variant]
    await editor.open()
    saved_message(await dashboard.post(f"{editor.page}/cancel"))

    page = await dashboard.get(editor.path)
    answer = await dashboard.post(editor.path, **{**editor.fields, f"quantity[{line}]": "1", "do": "preview"})

    assert page.status_code == 409
    assert error_messages(answer) == ["A canceled order cannot be edited."]
    assert f"{editor.page}/edit" not in (await dashboard.get(editor.page)).text


async def test_a_save_that_differs_from_its_preview_shows_what_changed(
    dashboard: Dashboard, other_dashboard: Dashboard, buyer: Buyer, db: Any
) -> None:
    order, variant = await buy(buyer)
    editor, line = OrderEditor(dashboard, order), (await line_ids(db, order))[variant]
    await editor.open()
    await editor.preview(**{f"quantity[{line}]": "5"})
    saved_message(await other_dashboard.post(f"{await shipment_of(db, order)}/ship"))

    answer = await editor.save()

    text = text_of(answer.text)
    assert answer.status_code == 409
    assert "Nothing was saved: check the new preview." in text
    assert f"{other_dashboard.email} shipped" in text
    assert await amounts(db, order) == (2000, 0, 500, 2500, "paid")
    editor.fields = read_forms(answer.text, editor.path)[0]
    assert saved_message(await editor.save()) == "edited"


async def test_of_two_operators_who_save_at_once_one_sees_what_the_other_changed(
    dashboard: Dashboard, other_dashboard: Dashboard, buyer: Buyer, db: Any, database_url: str
) -> None:
    order, variant = await buy(buyer)
    line = (await line_ids(db, order))[variant]
    editors = [OrderEditor(each, order) for each in (dashboard, other_dashboard)]
    for editor, quantity in zip(editors, ("3", "4"), strict=True):
        await editor.open()
        await editor.preview(**{f"quantity[{line}]": quantity})
        await editor.dashboard.csrf()

    answers: list[Any] = await run_concurrently(db, "orders", UUID(order.id), *(editor.save() for editor in editors))

    assert sorted(answer.status_code for answer in answers) == [303, 409]
    loser = next(answer for answer in answers if answer.status_code == 409)
    assert "changed the items" in text_of(loser.text)
    assert await find_problems(database_url, db, order) == {}


async def test_the_preview_lists_what_happened_since_the_form_was_opened(
    dashboard: Dashboard, other_dashboard: Dashboard, buyer: Buyer
) -> None:
    order, _ = await buy(buyer)
    editor, since = OrderEditor(dashboard, order), "Changed since you opened this page"
    saved_message(await dashboard.post(f"{editor.page}/notes", id=str(uuid4()), note="Before"))
    await editor.open()
    first_preview = (await editor.preview(email="first@example.org")).text

    saved_message(await other_dashboard.post(f"{editor.page}/notes", id=str(uuid4()), note="Meanwhile"))
    second_preview = (await editor.preview(email="second@example.org")).text

    assert (since in first_preview, since in second_preview) == (False, True)
    assert since not in (await editor.preview(email="third@example.org")).text
