"""The page of an order: it shows all parts; operators ship, capture, cancel, resume and approve."""

import html
import re
from typing import Any
from uuid import UUID

import httpx2
import pytest

from tests.admin.catalog_forms import error_messages, field, saved_message, unique_word
from tests.admin.dashboard import UNKNOWN_ID, Dashboard, backdate_session, events
from tests.admin.order_builders import ORDERS, buy, payment_of, shipment_of, states, text_of
from tests.builders import Make
from tests.checkout_builders import Buyer, new_checkout_setup, on_hand, set_stock
from tests.shopper import Answer


async def test_the_page_shows_line_items_totals_addresses_shipments_and_payments(
    dashboard: Dashboard, buyer: Buyer, make: Make, db: Any
) -> None:
    color, buyer.checkout_setup = f"Color {unique_word()}", await new_checkout_setup(make)
    order, _ = await buy(buyer, options={color: ["Red"]}, name="Teapot")
    url = "https://post.example/follow?n=:tracking"
    await make.change("shipping_methods", buyer.checkout_setup.post, "shipping_method", tracking_url=url)
    saved_message(await dashboard.post(f"{await shipment_of(db, order)}/ship", tracking="A/1 2"))

    page = (await dashboard.get(f"{ORDERS}/{order['number']}")).text
    by_id = (await dashboard.get(f"{ORDERS}/{order.id}")).text
    text = text_of(page)

    for words in (
        f"Teapot {color}: Red",
        "Items $20.00 Shipping $5.00 Discounts $0.00 Taxes $0.00 Total $25.00",
        "Paid $25.00",
        "Ada Lovelace 1 Main Street Springfield, IL 62701",
        "Method Post, $5.00",
        f"2 \u00d7 Teapot ({color}: Red)",
        "Method Card (visa ending in 1111) Amount $25.00 Captured $25.00 Refunded $0.00",
        "Purchase $25.00 approved",
        f"A guest placed order {order['number']} for $25.00",
    ):
        assert words in text
    assert 'href="https://post.example/follow?n=A%2F1%202"' in page
    assert f"Order {order['number']}" in by_id


async def test_a_shipment_is_shipped_with_its_tracking_number(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    order, _ = await buy(buyer)
    shipment = await shipment_of(db, order)

    assert saved_message(await dashboard.post(f"{shipment}/ship", tracking="XY 123")) == "shipped"
    again = await dashboard.post(f"{shipment}/ship", tracking="other")

    assert again.status_code == 422
    assert error_messages(again)[0].startswith(f"The shipment is shipped already. {dashboard.email} shipped H")
    row = await db.fetchrow("select state, tracking, shipped_at from shipments where order_id = $1", UUID(order.id))
    assert (row["state"], row["tracking"], row["shipped_at"] is not None) == ("shipped", "XY 123", True)
    assert (await states(db, order))[2] == "shipped"
    page = text_of((await dashboard.get(f"{ORDERS}/{order['number']}?done=shipped")).text)
    assert "Shipment marked as shipped." in page
    assert "XY 123" in page
    assert ("shipment_ship", "done") in await events(db, actor=dashboard.id, subject=UUID(order.id))
    assert re.search(rf"{dashboard.email} shipped H\d+ with tracking XY 123", page)


async def test_an_invalid_tracking_number_is_refused_and_shown_again(
    dashboard: Dashboard, buyer: Buyer, db: Any
) -> None:
    order, _ = await buy(buyer)

    answer = await dashboard.post(f"{await shipment_of(db, order)}/ship", tracking="x" * 256)

    assert answer.status_code == 422
    assert error_messages(answer) == ["Tracking number must be one line of at most 255 characters."]
    assert field(answer.text, "tracking") == "x" * 256
    assert (await states(db, order))[4] == "ready"


async def test_an_unpaid_order_cannot_be_shipped_until_its_payment_is_captured(
    dashboard: Dashboard, buyer: Buyer, db: Any
) -> None:
    order, _ = await buy(buyer, pays="check")
    shipment, payment = await shipment_of(db, order), await payment_of(db, order)

    ship_response = await dashboard.post(f"{shipment}/ship", tracking="kept")
    ready_response = await dashboard.post(f"{shipment}/ready")
    page = await dashboard.get(f"{ORDERS}/{order['number']}")
    assert saved_message(await dashboard.post(f"{payment}/capture")) == "captured"
    again = await dashboard.post(f"{payment}/capture")

    assert (ship_response.status_code, error_messages(ship_response)) == (
        422,
        ["The event ship is not allowed for a shipment in the state pending."],
    )
    assert error_messages(ready_response) == [
        "The shipment is not ready: the order is unpaid or has backordered items."
    ]
    assert "Record payment of $25.00" in text_of(page.text)
    assert error_messages(again) == ["A payment that is completed cannot be captured."]
    assert await states(db, order) == ("complete", "paid", "ready", "completed", "ready")


async def test_canceling_asks_for_confirmation_restocks_and_refunds(
    dashboard: Dashboard, buyer: Buyer, db: Any
) -> None:
    order, variant = await buy(buyer)
    order_path = f"{ORDERS}/{order['number']}"
    assert await on_hand(db, variant) == 8

    question = await dashboard.get(f"{order_path}/cancel")
    assert f'action="{order_path}/cancel"' in question.text
    assert await on_hand(db, variant) == 8
    assert saved_message(await dashboard.post(f"{order_path}/cancel")) == "canceled"
    again = await dashboard.post(f"{order_path}/cancel")

    assert await on_hand(db, variant) == 10
    assert await states(db, order) == ("canceled", "void", "canceled", "completed", "canceled")
    (message,) = error_messages(again)
    cause = f"{dashboard.email} canceled the order ("
    assert message.startswith(f"Only a completed order that is not canceled can be canceled. {cause}")
    page = text_of((await dashboard.get(order_path)).text)
    assert "Refunded $25.00" in page
    assert "$25.00 completed The order was canceled." in page


async def test_a_canceled_order_without_refund_is_resumed(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    order, variant = await buy(buyer, pays="check")
    order_path = f"{ORDERS}/{order['number']}"
    saved_message(await dashboard.post(f"{order_path}/cancel"))

    assert f'href="{order_path}/resume"' in (await dashboard.get(order_path)).text
    assert f'action="{order_path}/resume"' in (await dashboard.get(f"{order_path}/resume")).text
    assert saved_message(await dashboard.post(f"{order_path}/resume")) == "resumed"

    assert await on_hand(db, variant) == 8
    page = text_of((await dashboard.get(order_path)).text)
    assert "Record payment of $25.00" in page
    assert "Paid $0.00 Balance due $25.00" in page


@pytest.mark.security("C-15")
async def test_a_refunded_order_cannot_be_resumed(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    order, variant = await buy(buyer)
    order_path = f"{ORDERS}/{order['number']}"
    saved_message(await dashboard.post(f"{order_path}/cancel"))

    page = await dashboard.get(order_path)
    answer = await dashboard.post(f"{order_path}/resume")

    assert "/resume" not in page.text
    sentence = "A refunded order cannot be resumed, because it cannot be paid again. Place a new order."
    assert (answer.status_code, error_messages(answer)) == (422, [sentence])
    assert await on_hand(db, variant) == 10


@pytest.mark.parametrize("shipment_state", ["shipped", "backorder"])
async def test_an_order_with_shipped_items_cannot_be_canceled(
    dashboard: Dashboard, buyer: Buyer, db: Any, shipment_state: str
) -> None:
    """It makes no difference whether other items are backordered."""
    order, variant = await buy(buyer)
    saved_message(await dashboard.post(f"{await shipment_of(db, order)}/ship"))
    await db.execute("update orders set shipment_state = $2 where id = $1", UUID(order.id), shipment_state)

    page = await dashboard.get(f"{ORDERS}/{order['number']}")
    answer = await dashboard.post(f"{ORDERS}/{order['number']}/cancel")

    assert "/cancel" not in page.text
    assert (answer.status_code, error_messages(answer)) == (422, ["An order with shipped items cannot be canceled."])
    assert await on_hand(db, variant) == 8


async def test_an_order_without_enough_stock_is_not_resumed(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    order, variant = await buy(buyer, pays="check")
    order_path = f"{ORDERS}/{order['number']}"
    saved_message(await dashboard.post(f"{order_path}/cancel"))
    await set_stock(db, variant, 1)

    answer = await dashboard.post(f"{order_path}/resume")

    assert (answer.status_code, error_messages(answer)) == (422, ["Not enough stock left."])
    assert (await states(db, order))[0] == "canceled"


async def test_an_order_is_approved_once(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    order, _ = await buy(buyer)
    order_path = f"{ORDERS}/{order['number']}"

    assert ">Approve order<" in (await dashboard.get(order_path)).text
    assert saved_message(await dashboard.post(f"{order_path}/approve")) == "approved"

    assert ">Approve order<" not in (await dashboard.get(order_path)).text
    assert await db.fetchval("select approver_id from orders where id = $1", UUID(order.id)) == dashboard.id


async def test_cancel_void_and_refund_require_a_fresh_session(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    order, _ = await buy(buyer)
    payment, order_path = await payment_of(db, order), f"{ORDERS}/{order['number']}"
    before = await states(db, order)
    await backdate_session(db, dashboard, "authenticated_at", "11 minutes")

    for path in (f"{order_path}/cancel", f"{payment}/void", f"{payment}/refund"):
        assert (await dashboard.get(path)).headers["location"] == f"/admin/confirm?next={path}"
        assert (await dashboard.post(path, amount="5", reason="Chipped")).status_code == 401
    assert await states(db, order) == before


async def test_a_shipment_or_payment_of_another_order_is_404(
    dashboard: Dashboard, buyer: Buyer, db: Any, http: httpx2.AsyncClient
) -> None:
    order, _ = await buy(buyer)
    other, _ = await buy(Buyer(http, buyer.checkout_setup))
    shipment, payment = await shipment_of(db, order), await payment_of(db, order)

    for path in (f"{shipment}/ship", f"{payment}/refund", f"{payment}/void", f"{payment}/capture"):
        wrong = path.replace(order["number"], other["number"])
        assert (await dashboard.post(wrong, amount="5", reason="Chipped")).status_code == 404
        assert (await dashboard.post(path.replace(order["number"], UNKNOWN_ID))).status_code == 404
    assert await states(db, order) == ("complete", "paid", "ready", "completed", "ready")


async def test_customer_input_is_escaped(dashboard: Dashboard, buyer: Buyer, db: Any, make: Make) -> None:
    payload, buyer.checkout_setup = "<script>alert(1)</script>", await new_checkout_setup(make)
    product = await buyer.checkout_setup.product(name=payload)
    await buyer.add_items((product, 1))
    await buyer.enter_address(firstname=payload, address1=payload)
    await buyer.pay()
    order = await buyer.complete()
    # A row from the time before only https URLs were accepted.
    statement = "update shipping_methods set tracking_url = 'javascript:alert(1)//' where id = $1"
    await db.execute(statement, UUID(buyer.checkout_setup.post))
    saved_message(await dashboard.post(f"{await shipment_of(db, order)}/ship", tracking=payload))

    page = (await dashboard.get(f"{ORDERS}/{order['number']}")).text

    assert payload not in page
    assert "javascript:" not in page
    assert page.count(html.escape(payload)) >= 4


async def test_the_next_action_is_at_the_top(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    order, _ = await buy(buyer, pays="check")
    path = f"{ORDERS}/{order['number']}"

    unpaid = text_of((await dashboard.get(path)).text)
    saved_message(await dashboard.post(f"{await payment_of(db, order)}/capture"))
    paid = text_of((await dashboard.get(path)).text)
    saved_message(await dashboard.post(f"{await shipment_of(db, order)}/ship"))
    shipped = text_of((await dashboard.get(path)).text)

    assert "Next: wait for $25.00 by Check Record payment of $25.00 E-mail a payment link" in unpaid
    assert "Next: ship 2 items" in paid
    assert "Next:" not in shipped


async def test_details_are_changed_with_an_event_and_without_a_trace_of_personal_data(
    dashboard: Dashboard, buyer: Buyer, db: Any
) -> None:
    order, _ = await buy(buyer)
    path, email = f"{ORDERS}/{order['number']}", f"{unique_word()}@example.com"
    fields = {"email": email, "tags": "Gift, VIP, gift"}

    assert saved_message(await dashboard.post(f"{path}/details", **fields)) == "saved"
    again = await dashboard.post(f"{path}/details", **fields)

    page = (await dashboard.get(path)).text
    assert again.headers["location"].endswith("done=saved")
    assert (field(page, "email"), field(page, "tags")) == (email, "gift, vip")
    row = await db.fetchrow("select email, tags from orders where id = $1", UUID(order.id))
    assert tuple(row) == (email, ["gift", "vip"])
    audits = await db.fetch(
        "select changes::text from audit_events where subject_id = $1 and action = 'order_update'", UUID(order.id)
    )
    assert len(audits) == 1
    assert email not in audits[0][0]
    assert "gift" in audits[0][0]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"email": "nobody"}, "is not an e-mail address"),
        ({"tags": ",".join(f"t{n}" for n in range(21))}, "must be at most 20"),
        ({"tags": "x" * 41}, "at most 40 characters long"),
    ],
)
async def test_invalid_details_are_refused_and_shown_again(
    dashboard: Dashboard, unchanged_order: tuple[Answer, str], db: Any, fields: dict[str, str], message: str
) -> None:
    order, _ = unchanged_order
    before = await db.fetchrow("select * from orders where id = $1", UUID(order.id))

    response = await dashboard.post(
        f"{ORDERS}/{order['number']}/details", **{"email": "a@b.example", "tags": "", **fields}
    )

    assert response.status_code == 422
    assert message in html.unescape(response.text)
    assert html.escape(next(iter(fields.values()))) in response.text
    assert await db.fetchrow("select * from orders where id = $1", UUID(order.id)) == before


async def test_a_tracking_number_is_changed_after_shipping(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    order, _ = await buy(buyer)
    other, _ = await buy(Buyer(buyer.http, buyer.checkout_setup))
    shipment = await shipment_of(db, order)
    saved_message(await dashboard.post(f"{shipment}/ship", tracking="A1"))

    assert saved_message(await dashboard.post(f"{shipment}/tracking", tracking="B2")) == "tracking"
    assert saved_message(await dashboard.post(f"{shipment}/tracking", tracking="B2")) == "tracking"

    row = await db.fetchrow("select state, tracking from shipments where order_id = $1", UUID(order.id))
    assert tuple(row) == ("shipped", "B2")
    types = await db.fetch(
        """select type from events where subject_type = 'shipment' and row ->> 'order_id' = $1
            and row ->> 'tracking' = 'B2'""",
        order.id,
    )
    assert [each[0] for each in types] == ["shipment.tracking_changed"]
    wrong = shipment.replace(order["number"], other["number"])
    assert (await dashboard.post(f"{wrong}/tracking", tracking="C3")).status_code == 404


async def test_a_payment_link_is_sent_while_something_is_due(
    dashboard: Dashboard, buyer: Buyer, http: httpx2.AsyncClient, db: Any
) -> None:
    email = f"{unique_word()}@example.com"
    order, _ = await buy(buyer, pays="check")
    path = f"{ORDERS}/{order['number']}"
    details = {"email": email, "tags": ""}
    saved_message(await dashboard.post(f"{path}/details", **details))

    assert saved_message(await dashboard.post(f"{path}/payment-link")) == "link"
    again = await dashboard.post(f"{path}/payment-link")
    assert error_messages(again) == ["The customer got such an e-mail less than an hour ago."]
    assert [each[0] for each in await events(db, actor=dashboard.id, subject=UUID(order.id))].count("payment_link") == 1
    (mail,) = (await http.get("/mailbox.json", params={"to": email})).json()
    saved_message(await dashboard.post(f"{await payment_of(db, order)}/capture"))
    refused = await dashboard.post(f"{path}/payment-link")

    assert f"$25.00 for your order {order['number']}" in mail["text"]
    assert re.search(r"https?://\S+/\S{30,}", mail["text"])
    assert (refused.status_code, error_messages(refused)) == (422, ["Nothing is due for this order."])
