"""An order at the dashboard: looked at with all its parts, sent, paid, given back, called off."""

import html
from typing import Any
from uuid import UUID

import httpx
import pytest

from tests.admin.catalog_forms import done, field, mark, said
from tests.admin.dashboard import NOBODY, Desk, age, events
from tests.admin.order_builders import HERE, buy, payment_of, shipment_of, states, text_of
from tests.builders import Make
from tests.checkout_builders import Buyer, leave, new_till, on_hand


async def test_the_page_shows_lines_sums_addresses_shipments_and_payments(
    desk: Desk, buyer: Buyer, make: Make, db: Any
) -> None:
    colour, buyer.till = f"Colour {mark()}", await new_till(make)
    order, _ = await buy(buyer, options={colour: ["Red"]}, name="Teapot")
    url = "https://post.example/follow?n=:tracking"
    await make.change("shipping_methods", buyer.till.post, "shipping_method", tracking_url=url)
    done(await desk.post(f"{await shipment_of(db, order)}/ship", tracking="A/1 2"))

    page = (await desk.get(f"{HERE}/{order['number']}")).text
    by_id = (await desk.get(f"{HERE}/{order.id}")).text
    text = text_of(page)

    for words in (
        f"Teapot {colour}: Red",
        "Items $20.00 Shipping $5.00 Discounts $0.00 Taxes $0.00 Total $25.00",
        "Paid $25.00",
        "Ada Lovelace 1 Main Street 62701 Springfield",
        "By Post, $5.00",
        f"2 \u00d7 Teapot ({colour}: Red)",
        "By Card (visa ending in 1111) Amount $25.00 Captured $25.00 Refunded $0.00",
        "Purchase $25.00 approved",
        "Purchase of $25.00 approved by guest",
        "Order complete by guest total: $25.00",
    ):
        assert words in text
    assert 'href="https://post.example/follow?n=A%2F1%202"' in page
    assert f"Order {order['number']}" in by_id


async def test_what_was_bought_is_sent_with_its_tracking_number(desk: Desk, buyer: Buyer, db: Any) -> None:
    order, _ = await buy(buyer)
    shipment = await shipment_of(db, order)

    assert done(await desk.post(f"{shipment}/ship", tracking="XY 123")) == "shipped"
    again = await desk.post(f"{shipment}/ship", tracking="other")

    assert (again.status_code, said(again)) == (422, ["A shipment that is shipped cannot do that: ship."])
    row = await db.fetchrow("select state, tracking, shipped_at from shipments where order_id = $1", UUID(order.id))
    assert (row["state"], row["tracking"], row["shipped_at"] is not None) == ("shipped", "XY 123", True)
    assert (await states(db, order))[2] == "shipped"
    page = text_of((await desk.get(f"{HERE}/{order['number']}?done=shipped")).text)
    assert "Shipment marked as shipped." in page
    assert "XY 123" in page
    assert ("shipment_ship", "done") in await events(db, actor=desk.id, subject=UUID(order.id))
    assert "Shipment ship by " + desk.email in page


async def test_a_tracking_number_that_is_none_is_told_and_kept(desk: Desk, buyer: Buyer, db: Any) -> None:
    order, _ = await buy(buyer)

    answer = await desk.post(f"{await shipment_of(db, order)}/ship", tracking="x" * 256)

    assert answer.status_code == 422
    assert said(answer) == ["Tracking number must be one line of at most 255 characters."]
    assert field(answer.text, "tracking") == "x" * 256
    assert (await states(db, order))[4] == "ready"


async def test_what_is_not_paid_is_not_ready_until_it_is_captured(desk: Desk, buyer: Buyer, db: Any) -> None:
    order, _ = await buy(buyer, pays="check")
    shipment, payment = await shipment_of(db, order), await payment_of(db, order)

    unsent = await desk.post(f"{shipment}/ship", tracking="kept")
    early = await desk.post(f"{shipment}/ready")
    page = await desk.get(f"{HERE}/{order['number']}")
    assert done(await desk.post(f"{payment}/capture")) == "captured"
    again = await desk.post(f"{payment}/capture")

    assert (unsent.status_code, said(unsent)) == (422, ["A shipment that is pending cannot do that: ship."])
    assert said(early) == ["The shipment is not ready: the order is unpaid or has backordered items."]
    assert "Capture $25.00" in text_of(page.text)
    assert said(again) == ["A payment that is completed cannot be captured."]
    assert await states(db, order) == ("complete", "paid", "ready", "completed", "ready")


async def test_canceling_asks_first_and_gives_stock_and_money_back(desk: Desk, buyer: Buyer, db: Any) -> None:
    order, variant = await buy(buyer)
    at = f"{HERE}/{order['number']}"
    assert await on_hand(db, variant) == 8

    question = await desk.get(f"{at}/cancel")
    assert f'action="{at}/cancel"' in question.text
    assert await on_hand(db, variant) == 8
    assert done(await desk.post(f"{at}/cancel")) == "canceled"
    again = await desk.post(f"{at}/cancel")

    assert await on_hand(db, variant) == 10
    assert await states(db, order) == ("canceled", "void", "canceled", "completed", "canceled")
    assert said(again) == ["Only a completed order that is not canceled can be canceled."]
    page = text_of((await desk.get(at)).text)
    assert "Refunded $25.00" in page
    assert "$25.00 completed The order was canceled." in page


async def test_an_order_that_can_be_paid_again_is_resumed(desk: Desk, buyer: Buyer, db: Any) -> None:
    order, variant = await buy(buyer, pays="check")
    at = f"{HERE}/{order['number']}"
    done(await desk.post(f"{at}/cancel"))

    assert f'action="{at}/resume"' in (await desk.get(at)).text
    assert done(await desk.post(f"{at}/resume")) == "resumed"

    assert await on_hand(db, variant) == 8
    page = text_of((await desk.get(at)).text)
    assert "Capture $25.00" in page
    assert "Paid $0.00 Balance due $25.00" in page


@pytest.mark.security("C-15")
async def test_a_refunded_order_is_not_offered_to_be_resumed(desk: Desk, buyer: Buyer, db: Any) -> None:
    order, variant = await buy(buyer)
    at = f"{HERE}/{order['number']}"
    done(await desk.post(f"{at}/cancel"))

    page = await desk.get(at)
    answer = await desk.post(f"{at}/resume")

    assert "/resume" not in page.text
    sentence = "A refunded order cannot be resumed, because it cannot be paid again. Place a new order."
    assert (answer.status_code, said(answer)) == (422, [sentence])
    assert await on_hand(db, variant) == 10


@pytest.mark.parametrize("says", ["shipped", "backorder"])
async def test_what_was_sent_cannot_be_canceled(desk: Desk, buyer: Buyer, db: Any, says: str) -> None:
    """Be the rest of it still waited for or not."""
    order, variant = await buy(buyer)
    done(await desk.post(f"{await shipment_of(db, order)}/ship"))
    await db.execute("update orders set shipment_state = $2 where id = $1", UUID(order.id), says)

    page = await desk.get(f"{HERE}/{order['number']}")
    answer = await desk.post(f"{HERE}/{order['number']}/cancel")

    assert "/cancel" not in page.text
    assert (answer.status_code, said(answer)) == (422, ["An order with shipped items cannot be canceled."])
    assert await on_hand(db, variant) == 8


async def test_an_order_that_is_sold_out_meanwhile_is_not_resumed(desk: Desk, buyer: Buyer, db: Any) -> None:
    order, variant = await buy(buyer, pays="check")
    at = f"{HERE}/{order['number']}"
    done(await desk.post(f"{at}/cancel"))
    await leave(db, variant, 1)

    answer = await desk.post(f"{at}/resume")

    assert (answer.status_code, said(answer)) == (422, ["Not enough stock left."])
    assert (await states(db, order))[0] == "canceled"


async def test_an_order_is_approved_once(desk: Desk, buyer: Buyer, db: Any) -> None:
    order, _ = await buy(buyer)
    at = f"{HERE}/{order['number']}"

    assert ">Approve<" in (await desk.get(at)).text
    assert done(await desk.post(f"{at}/approve")) == "approved"

    assert ">Approve<" not in (await desk.get(at)).text
    assert await db.fetchval("select approver_id from orders where id = $1", UUID(order.id)) == desk.id


async def test_dangerous_acts_want_a_fresh_password(desk: Desk, buyer: Buyer, db: Any) -> None:
    order, _ = await buy(buyer)
    payment, at = await payment_of(db, order), f"{HERE}/{order['number']}"
    before = await states(db, order)
    await age(db, desk, "authenticated_at", "11 minutes")

    for path in (f"{at}/cancel", f"{payment}/void", f"{payment}/refund"):
        for answer in (await desk.get(path), await desk.post(path, amount="5", reason="Chipped")):
            assert answer.status_code == 303
            assert answer.headers["location"] == f"/admin/confirm?next={path}"
    assert await states(db, order) == before


async def test_parts_of_another_order_are_not_there(desk: Desk, buyer: Buyer, db: Any, http: httpx.AsyncClient) -> None:
    order, _ = await buy(buyer)
    other, _ = await buy(Buyer(http, buyer.till))
    shipment, payment = await shipment_of(db, order), await payment_of(db, order)

    for path in (f"{shipment}/ship", f"{payment}/refund", f"{payment}/void", f"{payment}/capture"):
        wrong = path.replace(order["number"], other["number"])
        assert (await desk.post(wrong, amount="5", reason="Chipped")).status_code == 404
        assert (await desk.post(path.replace(order["number"], NOBODY))).status_code == 404
    assert await states(db, order) == ("complete", "paid", "ready", "completed", "ready")


async def test_names_of_strangers_are_text(desk: Desk, buyer: Buyer, db: Any, make: Make) -> None:
    evil, buyer.till = "<script>alert(1)</script>", await new_till(make)
    product = await buyer.till.product(name=evil)
    await buyer.put_in((product, 1))
    await buyer.come_from(firstname=evil, address1=evil)
    await buyer.pay()
    order = await buyer.complete()
    # Written before only https addresses were accepted.
    statement = "update shipping_methods set tracking_url = 'javascript:alert(1)//' where id = $1"
    await db.execute(statement, UUID(buyer.till.post))
    done(await desk.post(f"{await shipment_of(db, order)}/ship", tracking=evil))

    page = (await desk.get(f"{HERE}/{order['number']}")).text

    assert evil not in page
    assert "javascript:" not in page
    assert page.count(html.escape(evil)) >= 4
