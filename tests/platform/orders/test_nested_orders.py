"""An order with nested records in one request: all of them are written, or none."""

from typing import Any
from uuid import uuid4

import pytest

from tests.checkout_builders import ADDRESS, Buyer, CheckoutSetup
from tests.platform.client import Machine


async def test_an_order_is_created_with_nested_records_and_completed(
    writer: Machine, checkout_setup: CheckoutSetup, db: Any
) -> None:
    mug = await checkout_setup.product("10.00", on_hand=5)
    body = {
        "email": "ada@example.org",
        "currency": "USD",
        "line_items_attributes": [{"variant_id": mug.variant_id, "quantity": 2}],
        "bill_address_attributes": ADDRESS,
        "ship_address_attributes": ADDRESS,
        "payments_attributes": [{"payment_method_id": checkout_setup.check}],
    }

    order = await writer.post("/orders", {"order": body})
    assert (order.status, order["item_count"], order["item_total"], order["state"]) == (201, 2, "20.0", "payment")
    rates = (await writer.get(f"/shipping_rates?filter[order_id_eq]={order.id}")).json["data"]
    express = next(rate for rate in rates if rate["attributes"]["name"] == "Express")
    shipment = express["relationships"]["shipment"]["data"]["id"]
    shipment_update = {"shipments_attributes": [{"id": shipment, "selected_shipping_rate_id": express["id"]}]}
    assert (await writer.patch(f"/orders/{order.id}", {"order": shipment_update}))["total"] == "38.0"
    completed_order = await writer.patch(f"/orders/{order.id}/complete", {})

    assert (completed_order.status, completed_order["state"], completed_order["total"]) == (200, "complete", "38.0"), (
        completed_order
    )
    late = await writer.patch(
        f"/orders/{order.id}", {"order": {"line_items_attributes": [{"variant_id": mug.variant_id}]}}
    )
    assert (late.status, late.json["errors"]) == (422, {"base": ["is completed; its parts cannot be changed"]})


async def test_line_items_are_updated_and_deleted_by_id(writer: Machine, checkout_setup: CheckoutSetup) -> None:
    mug, bowl = await checkout_setup.product(on_hand=5), await checkout_setup.product(on_hand=5)
    lines = [{"variant_id": mug.variant_id, "quantity": 2}, {"variant_id": bowl.variant_id}]
    order = await writer.post("/orders", {"order": {"line_items_attributes": lines}})
    first, second = [each["id"] for each in order.json["data"]["relationships"]["line_items"]["data"]]

    changes = [{"id": first, "quantity": 5}, {"id": second, "_destroy": True}]
    response = await writer.patch(f"/orders/{order.id}", {"order": {"line_items_attributes": changes}})

    assert (response.status, response["item_count"], response["item_total"]) == (200, 5, "50.0")


@pytest.mark.parametrize(
    ("parts", "field"),
    [
        ({"line_items_attributes": [{"variant_id": str(uuid4())}]}, "line_items_attributes.0.variant_id"),
        ({"line_items_attributes": [{"id": str(uuid4()), "quantity": 1}]}, "line_items_attributes.0.id"),
        ({"line_items_attributes": [{"quantity": 0}]}, "line_items_attributes.0.quantity"),
        ({"line_items_attributes": "two mugs"}, "line_items_attributes"),
        ({"line_items_attributes": [7]}, "line_items_attributes"),
        ({"bill_address_attributes": {"firstname": "Ada"}}, None),
        ({"payments_attributes": [{"payment_method_id": str(uuid4())}]}, "payment_method_id"),
        ({"shipments_attributes": [{"id": str(uuid4())}]}, "shipments_attributes"),
    ],
    ids=["variant", "line item", "zero quantity", "text", "number", "address", "method", "shipment"],
)
async def test_an_invalid_nested_record_is_refused_and_nothing_is_saved(
    writer: Machine, parts: dict[str, Any], field: str | None
) -> None:
    order = await writer.post("/orders", {"order": {}})

    refusal = await writer.patch(f"/orders/{order.id}", {"order": {"internal_note": "new", **parts}})

    assert refusal.status == 422, refusal
    assert field is None or field in refusal.json["errors"]
    assert (await writer.get(f"/orders/{order.id}"))["internal_note"] is None


async def test_a_line_item_of_another_order_is_refused(writer: Machine, checkout_setup: CheckoutSetup) -> None:
    buyer = Buyer(writer.http, checkout_setup)
    cart = await buyer.add_items((await checkout_setup.product(), 1))
    (line,) = cart.json["data"]["relationships"]["line_items"]["data"]
    order = await writer.post("/orders", {"order": {}})

    fields = {"line_items_attributes": [{"id": line["id"], "_destroy": True}]}
    refusal = await writer.patch(f"/orders/{order.id}", {"order": fields})

    assert (refusal.status, list(refusal.json["errors"])) == (422, ["line_items_attributes.0.id"])
    assert (await buyer.get("/cart"))["item_count"] == 1
