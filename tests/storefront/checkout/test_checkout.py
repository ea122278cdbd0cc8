"""Checkout, from a cart with items to a completed order: steps, shipments, payments and failures."""

import asyncio
from collections import Counter
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from tests.accounts import Member, new_email, sign_in
from tests.builders import Make
from tests.checkout_builders import ADDRESS, Buyer, CheckoutSetup, on_hand, set_stock
from tests.service import Service
from tests.shopper import Answer, Shopper
from tests.storefront.product_lists import included, related_ids


def sums(cart: Answer) -> tuple[str, ...]:
    return cart["item_total"], cart["ship_total"], cart["adjustment_total"], cart["total"]


async def test_a_cart_is_checked_out_step_by_step(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any, http: httpx2.AsyncClient
) -> None:
    mug = await checkout_setup.product("10.00", on_hand=10)
    await buyer.add_items((mug, 2))

    cart = await buyer.enter_address()
    rates = await buyer.get("/checkout/shipping_rates")
    methods = await buyer.get("/checkout/payment_methods")
    payable_cart = await buyer.pay()
    email = new_email()
    await buyer.update_checkout(email=email)
    order = await buyer.complete()

    assert (cart["state"], cart["email"], sums(cart)) == ("address", "ada@example.org", ("20.0", "5.0", "0.0", "25.0"))
    (shipment,) = rates.json["data"]
    shipping_rates = [
        included(rates, "shipping_rate")[rate]["attributes"] for rate in related_ids(shipment, "shipping_rates")
    ]
    assert [(rate["name"], rate["cost"], rate["selected"]) for rate in shipping_rates] == [
        ("Post", "5.0", True),
        ("Express", "18.0", False),
    ]
    assert {checkout_setup.check, checkout_setup.card} <= {method["id"] for method in methods.json["data"]}
    assert (payable_cart["state"], sums(payable_cart)) == ("payment", ("20.0", "5.0", "0.0", "25.0"))
    assert (order.status, order["state"], order["payment_state"], order["shipment_state"]) == (
        200,
        "complete",
        "paid",
        "ready",
    )
    assert order["completed_at"] is not None
    assert await on_hand(db, mug.variant_id) == 8
    assert await db.fetchval("select count(*) from stock_holds where order_id = $1", UUID(order.id)) == 0
    row = await db.fetchrow("select state, amount, captured_amount from payments where order_id = $1", UUID(order.id))
    assert tuple(row) == ("completed", 2500, 2500)
    mails = (await http.get("/mailbox.json", params={"to": email})).json()
    assert any(order["number"] in mail["subject"] and "$25.00" in mail["text"] for mail in mails)


async def test_completing_advances_through_every_step(buyer: Buyer, checkout_setup: CheckoutSetup) -> None:
    await buyer.ready((await checkout_setup.product(), 1))

    assert (await buyer.complete())["state"] == "complete"


@pytest.mark.security("C-05")
async def test_the_token_of_a_completed_order_shows_the_order_and_nothing_else(
    buyer: Buyer, checkout_setup: CheckoutSetup
) -> None:
    await buyer.ready((await checkout_setup.product(), 1))
    order = await buyer.complete()

    again = await buyer.complete()
    status = await buyer.get(
        f"/order_status/{order['number']}", include="line_items,payments,shipments,billing_address"
    )
    others = [
        await buyer.get("/cart"),
        await buyer.patch("/cart/empty"),
        await buyer.get("/checkout/requirements"),
        await buyer.get("/order_status/R0000000000"),
    ]
    new = await buyer.post("/cart")

    assert (again.status, again.id, again["state"]) == (200, order.id, "complete")
    assert (status.status, status.id, status["total"]) == (200, order.id, order["total"])
    assert {record["type"] for record in status.json["included"]} == {"line_item", "payment", "shipment", "address"}
    assert [answer.status for answer in others] == [404] * 4
    assert (new.status, new.id != order.id, new["item_count"]) == (201, True, 0)


async def test_missing_requirements_are_listed_and_refused_at_each_step(
    buyer: Buyer, checkout_setup: CheckoutSetup
) -> None:
    await buyer.post("/cart")

    async def list_missing() -> list[tuple[str, str]]:
        requirements = (await buyer.get("/checkout/requirements")).json["missing"]
        return [(requirement["step"], requirement["code"]) for requirement in requirements]

    assert [code for _, code in await list_missing()][:1] == ["cart_empty"]
    refusal = await buyer.patch("/checkout/next")
    assert (refusal.status, refusal.code) == (422, "cart_empty")
    await buyer.add_items((await checkout_setup.product(), 1))
    assert (await buyer.patch("/checkout/next"))["state"] == "address"
    refusal = await buyer.patch("/checkout/next")
    assert (refusal.status, refusal.code) == (422, "email_missing")
    assert sorted(refusal.json["errors"]) == ["bill_address", "email", "ship_address"]
    await buyer.enter_address()
    assert await list_missing() == [("payment", "payment_missing")]
    cart = await buyer.patch("/checkout/advance")
    assert (cart.status, cart["state"]) == (200, "payment")
    refusal = await buyer.complete()
    assert (refusal.status, refusal.code) == (422, "payment_missing")
    await buyer.pay()
    assert await list_missing() == []


async def test_another_shipping_method_can_be_selected(buyer: Buyer, checkout_setup: CheckoutSetup) -> None:
    await buyer.add_items((await checkout_setup.product(), 2))
    await buyer.enter_address()
    rates = await buyer.get("/checkout/shipping_rates")
    (shipment,) = rates.json["data"]
    express = related_ids(shipment, "shipping_rates")[1]

    cart = await buyer.update_checkout(
        shipments_attributes=[{"id": shipment["id"], "selected_shipping_rate_id": express}]
    )
    back = await buyer.patch("/checkout/select_shipping_method", shipping_method_id=checkout_setup.post)
    unknown = await buyer.patch("/checkout/select_shipping_method", shipping_method_id=str(uuid4()))

    assert (cart["state"], sums(cart)) == ("delivery", ("20.0", "18.0", "0.0", "38.0"))
    assert sums(back) == ("20.0", "5.0", "0.0", "25.0")
    assert (unknown.status, unknown.code) == (422, "shipping_method_not_found")


ROW_VERSIONS = """select 'orders', id, xmin, xmax, ctid from orders where id = $1
    union all select 'line', id, xmin, xmax, ctid from line_items where order_id = $1
    union all select 'shipment', id, xmin, xmax, ctid from shipments where order_id = $1
    union all select 'rate', id, xmin, xmax, ctid from shipping_rates where order_id = $1
    union all select 'payment', id, xmin, xmax, ctid from payments where order_id = $1"""


@pytest.mark.security("H-13")
@pytest.mark.parametrize("is_stored", [True, False])
async def test_reading_shipping_rates_changes_nothing_and_each_rate_can_be_selected(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any, is_stored: bool
) -> None:
    await buyer.add_items((await checkout_setup.product(), 1))
    cart = await buyer.enter_address()
    if not is_stored:
        await buyer.add_items((await checkout_setup.product(), 1))
    before = await db.fetch(ROW_VERSIONS, UUID(cart.id))

    rates = [await buyer.get("/checkout/shipping_rates") for _ in range(2)]

    # Writing or locking a row changes its version.
    assert await db.fetch(ROW_VERSIONS, UUID(cart.id)) == before
    assert sum(row[0] == "shipment" for row in before) == is_stored
    assert rates[0].json == rates[1].json
    (shipment,) = rates[0].json["data"]
    express = related_ids(shipment, "shipping_rates")[1]
    response = await buyer.patch(
        "/checkout/select_shipping_method", shipping_method_id=checkout_setup.express, shipment_id=shipment["id"]
    )
    stored_rates = await buyer.get("/checkout/shipping_rates")
    assert (response.status, response["state"]) == (200, "delivery")
    assert [each["id"] for each in stored_rates.json["data"]] == [shipment["id"]]
    assert included(stored_rates, "shipping_rate")[express]["attributes"]["selected"] is True
    assert stored_rates.json["data"][0]["attributes"]["number"] == shipment["attributes"]["number"]


async def test_a_rate_that_is_not_stored_yet_can_be_selected_in_a_checkout_update(
    buyer: Buyer, checkout_setup: CheckoutSetup
) -> None:
    await buyer.add_items((await checkout_setup.product(), 1))
    await buyer.enter_address()
    await buyer.add_items((await checkout_setup.product(), 1))
    (shipment,) = (await buyer.get("/checkout/shipping_rates")).json["data"]
    express = related_ids(shipment, "shipping_rates")[1]

    cart = await buyer.update_checkout(
        shipments_attributes=[{"id": shipment["id"], "selected_shipping_rate_id": express}]
    )

    assert (cart["state"], sums(cart)) == ("delivery", ("20.0", "18.0", "0.0", "38.0"))


@pytest.mark.parametrize("steps", ["", "next", "advance"])
async def test_shipping_rates_keep_their_ids_across_steps(
    buyer: Buyer, checkout_setup: CheckoutSetup, steps: str
) -> None:
    await buyer.add_items((await checkout_setup.product(), 1))
    await buyer.enter_address()
    early = await buyer.get("/checkout/shipping_rates")
    if steps:
        await buyer.patch(f"/checkout/{steps}")

    late = await buyer.get("/checkout/shipping_rates")
    await buyer.pay()
    order = await buyer.complete()

    assert early.json == late.json
    assert (order["state"], order["ship_total"]) == ("complete", "5.0")
    assert related_ids(order.json["data"], "shipments") == [shipment["id"] for shipment in late.json["data"]]


async def test_an_address_without_shipping_rates_is_saved(buyer: Buyer, checkout_setup: CheckoutSetup) -> None:
    await buyer.add_items((await checkout_setup.product(), 1))
    await buyer.enter_address()

    cart = await buyer.enter_address(country_iso="CH", zipcode="8000", state_name="ZH", city="Zürich")
    refusal = await buyer.get("/checkout/shipping_rates")

    assert (cart["state"], cart["ship_total"], related_ids(cart.json["data"], "shipments")) == ("address", "0.0", [])
    assert (refusal.status, refusal.code) == (422, "no_shipping_rate")


async def test_adding_an_item_later_removes_the_shipments(buyer: Buyer, checkout_setup: CheckoutSetup) -> None:
    await buyer.add_items((await checkout_setup.product(), 1))
    await buyer.enter_address()
    await buyer.get("/checkout/shipping_rates")

    cart = await buyer.add_items((await checkout_setup.product(), 1))

    assert (cart["state"], cart["ship_total"], related_ids(cart.json["data"], "shipments")) == ("address", "0.0", [])


@pytest.mark.parametrize("source", ["decline"])
async def test_a_declined_payment_releases_the_stock_and_can_be_retried(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any, source: str
) -> None:
    mug = await checkout_setup.product(on_hand=3)
    await buyer.ready((mug, 2), source=source)

    refusal = await buyer.complete()

    assert (refusal.status, refusal.code) == (422, "payment_refused")
    assert await on_hand(db, mug.variant_id) == 3
    cart = await buyer.get("/cart")
    assert (cart["state"], related_ids(cart.json["data"], "payments")) == ("payment", [])
    await buyer.pay()
    assert (await buyer.complete())["state"] == "complete"
    attempts = await db.fetch("select outcome from payment_attempts where order_id = $1 order by id", UUID(cart.id))
    assert [row["outcome"] for row in attempts] == ["declined", "approved"]


async def test_an_order_paid_by_check_has_a_balance_due(buyer: Buyer, checkout_setup: CheckoutSetup) -> None:
    await buyer.add_items((await checkout_setup.product(), 1))
    await buyer.enter_address()
    await buyer.pay(method=checkout_setup.check)

    order = await buyer.complete()

    assert (order["state"], order["payment_state"], order["shipment_state"]) == ("complete", "balance_due", "pending")


@pytest.mark.security("C-04")
async def test_of_many_concurrent_buyers_of_the_last_ten_items_ten_succeed(
    checkout_setup: CheckoutSetup, http: httpx2.AsyncClient, db: Any
) -> None:
    mug = await checkout_setup.product(on_hand=10)
    buyers = [Buyer(http, checkout_setup) for _ in range(24)]
    for buyer in buyers:
        await buyer.ready((mug, 1))

    answers = await asyncio.gather(*(buyer.complete() for buyer in buyers))

    outcomes = Counter((answer.status, answer.code if answer.status != 200 else None) for answer in answers)
    assert outcomes[200, None] == 10
    assert set(outcomes) <= {
        (200, None),
        (422, "out_of_stock"),
        (409, "total_changed"),
        (503, "temporarily_unavailable"),
    }
    assert await on_hand(db, mug.variant_id) == 0
    query = "select count(*) from stock_holds h join stock_items i on i.id = h.stock_item_id where i.variant_id = $1"
    assert await db.fetchval(query, UUID(mug.variant_id)) == 0


@pytest.mark.security("C-03")
async def test_concurrent_completions_create_one_order_and_one_payment(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any
) -> None:
    mug = await checkout_setup.product(on_hand=30)
    cart = await buyer.ready((mug, 2))

    answers = await asyncio.gather(*(buyer.complete() for _ in range(20)))

    assert {(answer.status, answer.code if answer.status != 200 else None) for answer in answers} <= {
        (200, None),
        (409, "payment_in_progress"),
        (503, "temporarily_unavailable"),
    }
    assert (await buyer.complete())["state"] == "complete"
    assert await on_hand(db, mug.variant_id) == 28
    query = "select count(*), sum(captured_amount) from payments where order_id = $1 and state = 'completed'"
    assert tuple(await db.fetchrow(query, UUID(cart.id))) == (1, 2500)
    assert await db.fetchval("select count(*) from payment_attempts where order_id = $1", UUID(cart.id)) == 1


async def test_a_changed_price_requires_consent(buyer: Buyer, checkout_setup: CheckoutSetup, make: Make) -> None:
    mug = await checkout_setup.product("10.00")
    cart = await buyer.ready((mug, 2))
    line = related_ids(cart.json["data"], "line_items")[0]
    await make.change("variants", mug.variant_id, "variant", price="12.00")

    conflict = await buyer.complete()
    wrong = await buyer.complete(consent_token="shpco_" + "0" * 64)
    cart_after = await buyer.get("/cart")
    order = await buyer.complete(consent_token=conflict.json["consent_token"])

    assert (conflict.status, conflict.code, wrong.status) == (409, "total_changed", 409)
    assert conflict.json["differences"] == [
        {"code": "price_changed", "line_item_id": line, "was": "10.0", "now": "12.0"},
        {"code": "total_changed", "was": "25.0", "now": "29.0"},
    ]
    assert (cart_after["total"], cart_after["state"]) == ("25.0", "payment")
    assert (order["state"], order["total"]) == ("complete", "29.0")


async def test_a_consent_token_is_valid_only_for_the_differences_shown(
    buyer: Buyer, checkout_setup: CheckoutSetup, make: Make
) -> None:
    mug = await checkout_setup.product("10.00")
    await buyer.ready((mug, 2))
    await make.change("variants", mug.variant_id, "variant", price="12.00")
    conflict = await buyer.complete()
    await make.change("variants", mug.variant_id, "variant", price="15.00")

    again = await buyer.complete(consent_token=conflict.json["consent_token"])

    assert (again.status, again.json["differences"][0]["now"]) == (409, "15.0")


async def test_a_reduced_quantity_requires_consent(
    buyer: Buyer, checkout_setup: CheckoutSetup, make: Make, db: Any
) -> None:
    mug, cup = await checkout_setup.product(on_hand=3), await checkout_setup.product(on_hand=3)
    await buyer.ready((mug, 3), (cup, 1))
    await set_stock(db, mug.variant_id, 1)

    conflict = await buyer.complete()
    order = await buyer.complete(consent_token=conflict.json["consent_token"])

    assert [difference["code"] for difference in conflict.json["differences"]] == ["stock_lost", "total_changed"]
    assert (order["state"], order["item_count"], order["total"]) == ("complete", 2, "25.0")


async def test_an_item_out_of_stock_is_refused_at_completion(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any
) -> None:
    mug = await checkout_setup.product(on_hand=3)
    await buyer.ready((mug, 1))
    await set_stock(db, mug.variant_id, 0)

    refusal = await buyer.complete()

    assert (refusal.status, refusal.code) == (422, "out_of_stock")
    assert (await buyer.get("/cart"))["item_count"] == 1


async def add_broken_attempt(buyer: Buyer, checkout_setup: CheckoutSetup, db: Any) -> None:
    """Adds an attempt that no outcome can settle: a refund of a payment that was never captured."""
    other = Buyer(buyer.http, checkout_setup)
    await other.add_items((await checkout_setup.product(), 1))
    await other.enter_address()
    await other.pay(method=checkout_setup.check)
    order = await other.complete()
    await db.execute(
        """insert into payment_attempts (id, order_id, payment_id, act, amount, created_at)
        select gen_random_uuid(), order_id, id, 'refund', 100, now() - interval '1 day'
        from payments where order_id = $1""",
        UUID(order.id),
    )


async def test_a_lost_provider_response_is_recovered_by_the_worker(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any, service: Service
) -> None:
    mug = await checkout_setup.product(on_hand=3)
    await add_broken_attempt(buyer, checkout_setup, db)
    cart = await buyer.ready((mug, 1), source="late")
    order_id = UUID(cart.id)
    completion = asyncio.create_task(buyer.complete())
    while await db.fetchval("select state from payments where order_id = $1", order_id) != "processing":
        await db.execute("select pg_sleep(0.02)")
    await db.execute("select pg_sleep(0.3)")

    while_paying = await buyer.complete()
    other_changes = [
        await buyer.add_item(mug),
        await buyer.patch("/cart/empty"),
        await buyer.update_checkout(email="eve@example.org"),
        await buyer.delete("/cart"),
    ]
    statement = "update payment_attempts set created_at = now() - interval '2 minutes' where order_id = $1"
    await db.execute(statement, order_id)
    async with asyncio.timeout(60):
        while await db.fetchval("select completed_at from orders where id = $1", order_id) is None:
            await db.execute("select pg_sleep(0.1)")
    order = await buyer.complete()
    completion.cancel()

    await db.execute("delete from payment_attempts where amount = 100 and act = 'refund'")
    assert (while_paying.status, while_paying.code) == (409, "payment_in_progress")
    assert [(answer.status, answer.code) for answer in other_changes] == [
        *[(409, "payment_in_progress")] * 3,
        (422, "cart_has_payment"),
    ]
    assert (order.status, order["state"], order["payment_state"]) == (200, "complete", "paid")
    assert await on_hand(db, mug.variant_id) == 2


@pytest.mark.security("C-01")
async def test_another_users_address_cannot_be_used(
    buyer: Buyer, checkout_setup: CheckoutSetup, http: httpx2.AsyncClient, db: Any
) -> None:
    owner, member = await sign_in(http), await sign_in(http)
    address = await owner.post("/account/addresses", address=ADDRESS)
    await buyer.add_items((await checkout_setup.product(), 1))

    by_id = await buyer.update_checkout(ship_address_id=address.id, bill_address_id=address.id)
    by_attributes = await buyer.update_checkout(ship_address_attributes={"id": address.id, "firstname": "Eve"})

    assert (by_id.status, by_attributes.status, list(by_attributes.json["errors"])) == (200, 422, ["ship_address.id"])
    assert await db.fetchval("select ship_address_id from orders where id = $1", UUID(by_id.id)) is None
    await member.post("/cart")
    refusal = await member.patch("/checkout", order={"ship_address_attributes": {"id": address.id}})
    assert refusal.status == 422


async def test_every_invalid_address_field_is_reported(buyer: Buyer, checkout_setup: CheckoutSetup) -> None:
    await buyer.add_items((await checkout_setup.product(), 1))

    refusal = await buyer.update_checkout(
        email="nobody", ship_address_attributes={**ADDRESS, "zipcode": "1", "firstname": ""}, special_instructions=["x"]
    )

    assert refusal.status == 422
    assert set(refusal.json["errors"]) >= {
        "email",
        "ship_address.zipcode",
        "ship_address.firstname",
        "special_instructions",
    }
    assert (await buyer.get("/cart"))["email"] is None


async def test_a_users_addresses_and_email_are_filled_in(
    checkout_setup: CheckoutSetup, http: httpx2.AsyncClient
) -> None:
    member = await sign_in(http)
    await member.post("/account/addresses", address=ADDRESS)
    await member.post("/cart")
    mug = await checkout_setup.product()
    await member.post("/cart/add_item", variant_id=mug.variant_id, quantity=1)
    await member.post("/checkout/create_payment", payment_method_id=checkout_setup.check)

    order = await member.patch("/checkout/complete")
    again = await member.patch("/checkout/complete")

    assert (order.status, order["state"], order["email"]) == (200, "complete", member.email)
    assert again.id == order.id
    orders = await member.get("/account/orders")
    assert [record["id"] for record in orders.json["data"]] == [order.id]


async def test_taxes_are_those_of_the_shipping_address(buyer: Buyer, checkout_setup: CheckoutSetup, make: Make) -> None:
    category = (await make.new("tax_categories", "tax_category", name=uuid4().hex)).id
    rate = {"zone_id": checkout_setup.zone, "tax_category_id": category, "name": "VAT"}
    await make.new("tax_rates", "tax_rate", **rate, amount="0.19", included_in_price=True)
    await make.new("tax_rates", "tax_rate", **{**rate, "name": "Levy"}, amount="0.05")
    mug = await checkout_setup.product("11.90", tax_category_id=category)
    await buyer.add_items((mug, 1))

    await buyer.enter_address()
    cart = await buyer.pay()
    explanation = await buyer.get("/cart", explain="totals")
    order = await buyer.patch("/checkout/complete?explain=totals")

    assert (cart["included_tax_total"], cart["additional_tax_total"], cart["total"]) == ("1.9", "0.6", "17.5")
    steps = order.json["meta"]["totals"]
    assert [(step["step"], step["amount"]) for step in steps] == [
        ("line", "11.9"),
        ("included_tax", "1.9"),
        ("added_tax", "0.6"),
        ("shipment", "5.0"),
        ("item_total", "11.9"),
        ("ship_total", "5.0"),
        ("adjustment_total", "0.6"),
        ("total", "17.5"),
    ]
    assert explanation.status == 200


async def test_items_of_two_stock_locations_and_backorders_are_separate_shipments(
    buyer: Buyer, checkout_setup: CheckoutSetup, make: Make
) -> None:
    mug, cup = await checkout_setup.product(on_hand=2), await checkout_setup.product(on_hand=0)
    elsewhere = (await make.new("stock_locations", "stock_location", name=uuid4().hex)).id
    await make.stock(cup.variant_id, 1, location_id=elsewhere, backorderable=True)
    await buyer.add_items((mug, 1), (cup, 3))
    await buyer.enter_address()
    await buyer.pay()

    order = await buyer.complete()

    assert (order["shipment_state"], order["ship_total"]) == ("backorder", "15.0")
    assert len(related_ids(order.json["data"], "shipments")) == 3


@pytest.mark.parametrize(("at_hand", "ordered"), [(1, 3), (2, 3), (3, 4)])
async def test_what_is_not_at_hand_is_backordered(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any, at_hand: int, ordered: int
) -> None:
    mug = await checkout_setup.product(on_hand=at_hand)
    await db.execute("update stock_items set backorderable = true where variant_id = $1", UUID(mug.variant_id))
    await buyer.ready((mug, ordered))

    order = await buyer.complete()

    assert (order.status, order["shipment_state"]) == (200, "backorder")
    assert await on_hand(db, mug.variant_id) == at_hand - ordered
    items = "select quantity, backordered from shipment_items where order_id = $1 order by backordered"
    assert [tuple(row) for row in await db.fetch(items, UUID(order.id))] == [
        (at_hand, 0),
        (ordered - at_hand, ordered - at_hand),
    ]


async def test_an_order_is_404_for_other_guests_and_users(
    buyer: Buyer, checkout_setup: CheckoutSetup, guest: Shopper, http: httpx2.AsyncClient
) -> None:
    await buyer.ready((await checkout_setup.product(), 1))
    order = await buyer.complete()
    await guest.post("/cart")
    member: Member = await sign_in(http)

    answers = [
        await guest.get(f"/order_status/{order['number']}"),
        await member.get(f"/order_status/{order['number']}"),
        await member.get(f"/account/orders/{order['number']}"),
    ]

    assert [answer.status for answer in answers] == [404] * 3


async def test_listing_orders_costs_as_many_statements_for_many_orders_as_for_one(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, service: Service
) -> None:
    member, mug = await sign_in(http), await checkout_setup.product()
    parts = "line_items.variant,shipments.stock_location,payments.source,billing_address,shipping_address,user"

    async def buy() -> None:
        buyer = Buyer(http, checkout_setup)
        await buyer.post("/cart")
        cart = await member.ask("PATCH", "/cart/associate", json={"guest_order_token": buyer.order_token})
        buyer.order_token = cart["token"]
        await buyer.ready((mug, 1))
        assert (await buyer.complete()).status == 200

    async def list_orders() -> tuple[Answer, int]:
        answer = await member.get(f"/account/orders?include={parts}")
        return answer, int(service.request_line(answer.request_id)["statements"])

    await buy()
    one, for_one = await list_orders()
    for _ in range(2):
        await buy()
    three, for_three = await list_orders()
    number = three.json["data"][0]["attributes"]["number"]
    alone = await member.get(f"/account/orders/{number}?include={parts}")

    assert [len(answer.json["data"]) for answer in (one, three)] == [1, 3]
    for record in (*three.json["data"], alone.json["data"]):
        counts = {name: len(related_ids(record, name)) for name in ("line_items", "shipments", "payments", "variants")}
        assert counts == {"line_items": 1, "shipments": 1, "payments": 1, "variants": 1}
        assert record["relationships"]["billing_address"]["data"]
    kinds = Counter(record["type"] for record in alone.json["included"])
    assert kinds == {
        "line_item": 1, "variant": 1, "shipment": 1, "stock_location": 1, "payment": 1, "credit_card": 1, "address": 1,
        "user": 1,
    }  # fmt: skip
    assert for_three == for_one


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/account/orders?filter[state]=x", "unknown_filter"),
        ("/account/addresses?filter[city]=x", "unknown_filter"),
        ("/account/addresses?sort=city", "unknown_sort"),
        ("/account/sessions?filter[a]=b", "unknown_filter"),
        ("/account/sessions?sort=created_at", "unknown_sort"),
        ("/account/orders?page[after]=x", "bad_page"),
    ],
)
async def test_unsupported_filters_sorts_and_pages_of_account_lists_are_refused(
    http: httpx2.AsyncClient, path: str, code: str
) -> None:
    answer = await (await sign_in(http)).get(path)

    assert (answer.status, answer.code) == (400, code)
