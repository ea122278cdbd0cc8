"""Line items over the Platform API: the totals of the order follow, and a completed order does not change."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.builders import Make
from tests.checkout_builders import Buyer, CheckoutSetup, new_checkout_setup
from tests.concurrency import run_in_turn
from tests.platform.client import Machine
from tests.shopper import Answer
from tests.storefront.product_lists import related_ids


async def post_line_item(writer: Machine, order_id: str, variant_id: str, **fields: Any) -> Answer:
    return await writer.post("/line_items", {"line_item": {"order_id": order_id, "variant_id": variant_id, **fields}})


async def totals_of(writer: Machine, order_id: str) -> tuple[Any, ...]:
    order = await writer.get(f"/orders/{order_id}")
    return order["item_count"], order["item_total"], order["total"]


async def test_the_totals_of_an_order_follow_its_line_items(writer: Machine) -> None:
    order = await writer.post("/orders", {"order": {"currency": "USD"}})
    mug = await Make(writer).product(price="10.00", on_hand=5)

    line_item = await post_line_item(writer, order.id, mug.variant_id, quantity=2)
    more = await post_line_item(writer, order.id, mug.variant_id)
    assert (line_item.status, more.id, more["quantity"], more["total"]) == (201, line_item.id, 3, "30.0")
    assert await totals_of(writer, order.id) == (3, "30.0", "30.0")

    response = await writer.patch(
        f"/line_items/{line_item.id}", {"line_item": {"quantity": 1, "private_metadata": {"a": 1}}}
    )
    assert (response["quantity"], response["private_metadata"]) == (1, {"a": 1})
    assert await totals_of(writer, order.id) == (1, "10.0", "10.0")

    assert (await writer.delete(f"/line_items/{line_item.id}")).status == 204
    assert await totals_of(writer, order.id) == (0, "0.0", "0.0")


@pytest.mark.parametrize(
    ("fields", "status", "names"),
    [
        ({"quantity": 0}, 422, ["quantity"]),
        ({"quantity": -1}, 422, ["quantity"]),
        ({"quantity": 99}, 422, ["quantity"]),
        ({"quantity": "many"}, 422, ["quantity"]),
        ({"variant_id": "00000000-0000-4000-8000-000000000000"}, 422, ["variant_id"]),
        ({"order_id": "00000000-0000-4000-8000-000000000000"}, 422, ["order_id"]),
    ],
)
async def test_an_invalid_line_item_is_refused_and_changes_nothing(
    writer: Machine, fields: dict[str, Any], status: int, names: list[str]
) -> None:
    order = await writer.post("/orders", {"order": {}})
    mug = await Make(writer).product(on_hand=5)
    body = {"order_id": order.id, "variant_id": mug.variant_id, **fields}

    answer = await writer.post("/line_items", {"line_item": body})

    assert (answer.status, list(answer.json["errors"])) == (status, names)
    assert (await totals_of(writer, order.id))[0] == 0


async def test_the_line_items_of_a_completed_order_cannot_be_changed(writer: Machine) -> None:
    checkout_setup = await new_checkout_setup(Make(writer))
    mug, buyer = await checkout_setup.product(on_hand=5), Buyer(writer.http, checkout_setup)
    await buyer.ready((mug, 1))
    order = await buyer.complete()
    (line,) = order.json["data"]["relationships"]["line_items"]["data"]

    answers = [
        await post_line_item(writer, order.id, mug.variant_id),
        await writer.patch(f"/line_items/{line['id']}", {"line_item": {"quantity": 2}}),
        await writer.delete(f"/line_items/{line['id']}"),
    ]

    assert [(answer.status, list(answer.json["errors"])) for answer in answers] == [(422, ["order_id"])] * 3
    assert (await writer.get(f"/line_items/{line['id']}"))["quantity"] == 1
    assert (await writer.patch(f"/line_items/{uuid4()}", {"line_item": {"quantity": 2}})).status == 404


async def test_metadata_is_kept_when_the_shopper_adds_to_the_line_at_the_same_time(
    writer: Machine, buyer: Buyer, checkout_setup: CheckoutSetup, db: Any
) -> None:
    mug = await checkout_setup.product(on_hand=5)
    cart = await buyer.add_items((mug, 1))
    line_id = related_ids(cart.json["data"], "line_items")[0]
    body = {"line_item": {"private_metadata": {"engraving": "Ada"}}}

    await run_in_turn(db, UUID(cart.id), writer.patch(f"/line_items/{line_id}", body), buyer.add_item(mug))

    line_item = await writer.get(f"/line_items/{line_id}")
    assert (line_item["quantity"], line_item["private_metadata"]) == (2, {"engraving": "Ada"})


async def test_a_changed_quantity_returns_the_checkout_to_the_address_also_with_metadata(
    writer: Machine, buyer: Buyer, checkout_setup: CheckoutSetup
) -> None:
    cart = await buyer.ready((await checkout_setup.product(on_hand=5), 1))
    line_id = related_ids(cart.json["data"], "line_items")[0]

    await writer.patch(f"/line_items/{line_id}", {"line_item": {"quantity": 2, "private_metadata": {"a": 1}}})

    assert (await buyer.get("/cart"))["state"] == "address"
