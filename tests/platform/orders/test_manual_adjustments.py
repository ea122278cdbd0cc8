"""Manual adjustments: amounts that an application adds to an open order or subtracts from it."""

from typing import Any

import pytest

from tests.checkout_builders import Buyer, CheckoutSetup
from tests.platform.client import Machine
from tests.platform.invalid_values import assert_refused
from tests.shopper import Answer


async def adjust(writer: Machine, order_id: str, amount: Any, **more: Any) -> Answer:
    body = {"order_id": order_id, "label": "Goodwill", "amount": amount, **more}
    return await writer.post("/adjustments", {"adjustment": body})


async def test_an_adjustment_is_part_of_the_total_after_later_changes(
    writer: Machine, checkout_setup: CheckoutSetup
) -> None:
    buyer = Buyer(writer.http, checkout_setup)
    mug = await checkout_setup.product("10.00")
    cart = await buyer.add_items((mug, 2))

    adjustment = await adjust(writer, cart.id, "-3.00", adjustable_type="Spree::Order", adjustable_id=cart.id)
    less = await writer.get(f"/orders/{cart.id}")
    more = await buyer.add_items((mug, 1))
    response = await buyer.enter_address()

    assert (adjustment.status, adjustment["amount"], adjustment["source_type"], adjustment["state"]) == (
        201,
        "-3.0",
        None,
        "open",
    )
    assert (less["total"], less["adjustment_total"], less["promo_total"]) == ("17.0", "-3.0", "0.0")
    assert less.json["data"]["relationships"]["adjustments"]["data"] == [{"id": adjustment.id, "type": "adjustment"}]
    assert (more["total"], response["total"]) == ("27.0", "32.0")


async def test_an_adjustment_is_updated_and_deleted(writer: Machine, checkout_setup: CheckoutSetup) -> None:
    cart = await Buyer(writer.http, checkout_setup).add_items((await checkout_setup.product("10.00"), 1))
    adjustment = await adjust(writer, cart.id, 2)

    response = await writer.patch(f"/adjustments/{adjustment.id}", {"adjustment": {"amount": "-4.5", "label": "Late"}})
    after = await writer.get(f"/orders/{cart.id}")
    deletion = await writer.delete(f"/adjustments/{adjustment.id}")

    assert (response["amount"], response["label"], after["total"]) == ("-4.5", "Late", "5.5")
    assert (deletion.status, (await writer.get(f"/orders/{cart.id}"))["total"]) == (204, "10.0")


async def test_an_adjustment_is_paid_with_the_order_and_then_closed(
    writer: Machine, checkout_setup: CheckoutSetup, db: Any
) -> None:
    buyer = Buyer(writer.http, checkout_setup)
    cart = await buyer.ready((await checkout_setup.product("10.00"), 1))
    adjustment = await adjust(writer, cart.id, "-3.00")
    await buyer.patch("/checkout/advance")

    order = await buyer.complete()

    assert (order.status, order["total"]) == (200, "12.0"), order
    (payment,) = (await writer.get("/payments", {"filter[order_id_eq]": cart.id})).json["data"]
    assert (payment["attributes"]["amount"], payment["attributes"]["state"]) == ("12.0", "completed")
    assert (await writer.get(f"/adjustments/{adjustment.id}"))["state"] == "closed"
    assert_refused(await writer.patch(f"/adjustments/{adjustment.id}", {"adjustment": {"amount": 1}}), "order_id")
    assert_refused(await writer.delete(f"/adjustments/{adjustment.id}"), "order_id")


async def test_an_adjustment_cannot_make_the_total_negative(
    writer: Machine, checkout_setup: CheckoutSetup, db: Any
) -> None:
    buyer = Buyer(writer.http, checkout_setup)
    mug, bowl = await checkout_setup.product("10.00"), await checkout_setup.product("4.00")
    cart = await buyer.add_items((mug, 1), (bowl, 1))
    adjustment = await adjust(writer, cart.id, "-13.00")
    lines = (await buyer.get("/cart?include=line_items")).json["included"]
    first = next(line["id"] for line in lines if line["attributes"]["price"] == "10.0")

    refusal = await adjust(writer, cart.id, "-1.01")
    left = await buyer.ask("DELETE", f"/cart/remove_line_item/{first}")
    await buyer.enter_address()
    await buyer.pay(method=checkout_setup.check) if (await buyer.get("/cart"))["total"] != "0.0" else None
    await buyer.patch("/checkout/advance")
    order = await buyer.complete()

    assert_refused(refusal, "amount")
    assert (left["total"], order.status, order["total"]) == ("0.0", 200, "0.0")
    assert (await writer.get(f"/adjustments/{adjustment.id}"))["amount"] == "-9.0"
    statement = "select sum(a.amount) = o.adjustment_total from adjustments a join orders o on o.id = a.order_id"
    assert await db.fetchval(f"{statement} where o.id = $1 group by o.id", cart.id) is True


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"amount": 0}, "amount"),
        ({"amount": "1.001"}, "amount"),
        ({"amount": "-10.01"}, "amount"),
        ({"label": " "}, "label"),
        ({"label": "a\nb"}, "label"),
        ({"adjustable_type": "line_item"}, "adjustable_id"),
        ({"source_type": "promotion"}, "source_type"),
        ({"state": "closed"}, "state"),
    ],
)
async def test_an_invalid_adjustment_is_refused_with_a_field_error(
    writer: Machine, checkout_setup: CheckoutSetup, body: dict[str, Any], field: str
) -> None:
    cart = await Buyer(writer.http, checkout_setup).add_items((await checkout_setup.product("10.00"), 1))

    refusal = await writer.post(
        "/adjustments", {"adjustment": {"order_id": cart.id, "label": "Late", "amount": "1.0", **body}}
    )

    assert_refused(refusal, field)
    assert (await writer.get(f"/orders/{cart.id}"))["total"] == "10.0"


async def test_changing_the_currency_deletes_manual_adjustments(writer: Machine, checkout_setup: CheckoutSetup) -> None:
    buyer = Buyer(writer.http, checkout_setup)
    cart = await buyer.add_items((await checkout_setup.product("10.00", prices={"EUR": "9.00"}), 1))
    await adjust(writer, cart.id, "-3.00")

    response = await buyer.patch("/cart/change_currency", new_currency="EUR")

    assert (response.status, response["total"]) == (200, "9.0")
    assert (await writer.get("/adjustments", {"filter[order_id_eq]": cart.id})).json["data"] == []
