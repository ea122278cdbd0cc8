"""Customer, addresses, channel and number of an open order, set by an application."""

from typing import Any
from uuid import uuid4

import pytest

from tests.checkout_builders import Buyer, CheckoutSetup
from tests.platform.client import Machine
from tests.platform.customers.test_addresses import new_address
from tests.platform.customers.test_users import new_user
from tests.platform.invalid_values import assert_refused

UNKNOWN_ID = "00000000-0000-7000-8000-000000000000"


async def test_an_order_is_created_with_customer_addresses_channel_and_number(writer: Machine) -> None:
    user_id = await new_user(writer)
    address = (await new_address(writer, user_id=user_id)).id
    number = f"EU-{uuid4().hex[:12]}"
    body = {"user_id": user_id, "bill_address_id": address, "ship_address_id": address, "channel": "pos"}

    order = await writer.post("/orders", {"order": {**body, "number": number}})

    links = {name: order.json["data"]["relationships"][name]["data"] for name in ("user", "bill_address")}
    assert (order.status, order["channel"], order["number"]) == (201, "pos", number)
    assert {name: link["id"] for name, link in links.items()} == {"user": user_id, "bill_address": address}
    assert order["email"] == (await writer.get(f"/users/{user_id}"))["email"]
    assert (await writer.get(f"/orders/{number}")).id == order.id


async def test_each_assignment_is_audited(writer: Machine) -> None:
    order, user_id = await writer.post("/orders", {"order": {}}), await new_user(writer)

    await writer.patch(f"/orders/{order.id}", {"order": {"user_id": user_id, "channel": "pos"}})

    response = await writer.get(
        "/audit_events", {"filter[subject_id_eq]": order.id, "filter[action_eq]": "order_updated"}
    )
    (event,) = response.json["data"]
    assert event["attributes"]["changes"] == {"user_id": [None, user_id], "channel": ["shop", "pos"]}


@pytest.mark.parametrize("name", ["user_id", "bill_address_id", "ship_address_id", "channel", "number"])
async def test_the_assignments_of_a_completed_order_cannot_be_changed(
    writer: Machine, checkout_setup: CheckoutSetup, name: str
) -> None:
    buyer = Buyer(writer.http, checkout_setup)
    await buyer.ready((await checkout_setup.product(), 1))
    order = await buyer.complete()
    value = (await new_user(writer)) if name == "user_id" else str(uuid4())[:30] if "_id" not in name else None

    refusal = await writer.patch(f"/orders/{order.id}", {"order": {name: value}})
    same = await writer.patch(f"/orders/{order.id}", {"order": {"channel": "shop", "number": order["number"]}})

    assert_refused(refusal, name)
    assert "completed" in refusal.json["errors"][name][0]
    assert same.status == 200


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("user_id", UNKNOWN_ID),
        ("bill_address_id", UNKNOWN_ID),
        ("channel", " "),
        ("channel", "a\nb"),
        ("channel", None),
        ("number", ""),
        ("number", "R 1"),
        ("number", "a" * 32),
        ("number", None),
    ],
)
async def test_an_invalid_assignment_is_refused_with_a_field_error(writer: Machine, name: str, value: Any) -> None:
    order = await writer.post("/orders", {"order": {}})

    assert_refused(await writer.patch(f"/orders/{order.id}", {"order": {name: value}}), name)
    assert (await writer.get(f"/orders/{order.id}")).json == order.json


async def test_a_number_in_use_is_refused(writer: Machine) -> None:
    first, second = [await writer.post("/orders", {"order": {}}) for _ in range(2)]

    refusal = await writer.patch(f"/orders/{second.id}", {"order": {"number": first["number"]}})

    assert refusal.json["errors"] == {"number": ["is taken"]}


async def test_an_address_of_another_customer_is_refused(writer: Machine) -> None:
    other_address = (await new_address(writer, user_id=await new_user(writer))).id
    order = await writer.post("/orders", {"order": {"user_id": await new_user(writer)}})

    assert_refused(
        await writer.patch(f"/orders/{order.id}", {"order": {"ship_address_id": other_address}}), "ship_address_id"
    )


async def test_assigning_a_customer_applies_their_prices_and_ends_the_order_token(
    writer: Machine, checkout_setup: CheckoutSetup
) -> None:
    mug, user_id = await checkout_setup.product("10.00"), await new_user(writer)
    prices = await checkout_setup.make.new("price_lists", "price_list", name=uuid4().hex, currency="USD")
    entry = {"price_list_id": prices.id, "variant_id": mug.variant_id, "amount": "8.00"}
    await checkout_setup.make.new("price_list_entries", "price_list_entry", **entry)
    await checkout_setup.make.new("price_list_users", "price_list_user", price_list_id=prices.id, user_id=user_id)
    buyer = Buyer(writer.http, checkout_setup)
    cart = await buyer.ready((mug, 2))

    response = await writer.patch(f"/orders/{cart.id}", {"order": {"user_id": user_id}})

    assert (response.status, response["item_total"], response["state"]) == (200, "16.0", "address")
    assert response.json["data"]["relationships"]["payments"]["data"] == []
    assert (await buyer.get("/cart")).status == 404


async def test_changing_the_shipping_address_recalculates_the_shipments(
    writer: Machine, checkout_setup: CheckoutSetup
) -> None:
    buyer = Buyer(writer.http, checkout_setup)
    cart = await buyer.add_items((await checkout_setup.product(), 1))
    address = (await new_address(writer, country_iso="DE", city="Berlin", zipcode="10115")).id

    with_address = await writer.patch(f"/orders/{cart.id}", {"order": {"ship_address_id": address}})
    without_address = await writer.patch(f"/orders/{cart.id}", {"order": {"ship_address_id": None}})

    assert (with_address["ship_total"], len(with_address.json["data"]["relationships"]["shipments"]["data"])) == (
        "5.0",
        1,
    )
    assert (without_address["ship_total"], without_address.json["data"]["relationships"]["shipments"]["data"]) == (
        "0.0",
        [],
    )
