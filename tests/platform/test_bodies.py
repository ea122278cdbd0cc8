"""Every member of a body is set, or refused with a field error; none is ignored."""

from typing import Any
from uuid import uuid4

import pytest

from tests.checkout_builders import ADDRESS, Buyer, CheckoutSetup
from tests.platform.client import Machine
from tests.platform.invalid_values import assert_refused
from tests.shopper import Answer


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ({"order": {"nothing": 1, "email": "ada@shoppers.example"}}, ["nothing"]),
        ({"order": {"total": "7.0"}}, ["total"]),
        ({"order": {"display_total": "$7.00", "state": "complete"}}, ["display_total", "state"]),
        ({"order": {"id": str(uuid4())}}, ["id"]),
        ({"order": {"token_version": 0}}, ["token_version"]),
        ({"order": {}, "nothing": 1}, ["nothing"]),
        ({"nothing": 1}, ["nothing"]),
        ({"email": "ada@shoppers.example", "nothing": 1}, ["nothing"]),
        ({"order": {"line_items_attributes": [{"price": 1}]}}, ["line_items_attributes.0.price"]),
        ({"order": {"bill_address_attributes": {"planet": "Mars"}}}, ["bill_address_attributes.planet"]),
        (
            {"order": {"payments_attributes": [{"source_attributes": {"number": "4111"}}]}},
            ["payments_attributes.0.source_attributes.number"],
        ),
    ],
)
async def test_an_unknown_or_read_only_member_is_refused_with_a_field_error(
    writer: Machine, body: dict[str, Any], names: list[str]
) -> None:
    order = await writer.post("/orders", {"order": {}})

    refusal = await writer.patch(f"/orders/{order.id}", body)

    assert_refused(refusal, *names)
    assert (await writer.get(f"/orders/{order.id}"))["email"] is None


async def test_a_member_set_only_at_creation_may_be_sent_back_unchanged(
    writer: Machine, checkout_setup: CheckoutSetup
) -> None:
    mug = await checkout_setup.product()
    path = f"/variants/{mug.master}"

    same = await writer.patch(path, {"variant": {"product_id": mug.id, "barcode": "1"}})
    other = await writer.patch(path, {"variant": {"product_id": str(uuid4()), "barcode": "2"}})

    assert (same.status, same["barcode"]) == (200, "1")
    assert other.json["errors"] == {"product_id": ["cannot be changed after creation"]}


async def test_a_form_may_send_read_only_members_back_unchanged(writer: Machine) -> None:
    order = await writer.post("/orders", {"order": {}})
    read_only_fields = {"order[item_count]": "0", "order[considered_risky]": "false", "order[completed_at]": ""}

    same = await writer.ask("PATCH", f"/orders/{order.id}", data=read_only_fields)
    other = await writer.ask("PATCH", f"/orders/{order.id}", data={**read_only_fields, "order[item_count]": "1"})

    assert same.status == 200
    assert_refused(other, "item_count")


async def test_include_and_fields_in_the_body_are_not_members(writer: Machine) -> None:
    body = {"order": {"internal_note": "x"}, "include": "line_items", "fields": {"order": "internal_note"}}

    order = await writer.post("/orders", body)
    response = await writer.ask("POST", "/orders?nothing=1", json={"internal_note": "x"})

    assert (order.status, order.json["data"]["attributes"]) == (201, {"internal_note": "x"})
    assert response.status == 201


@pytest.mark.parametrize("verb", ["next", "advance", "complete", "empty", "approve", "cancel", "apply_coupon_code"])
async def test_an_operation_refuses_members_that_it_does_not_read(writer: Machine, verb: str) -> None:
    order = await writer.post("/orders", {"order": {}})

    refusal = await writer.patch(f"/orders/{order.id}/{verb}", {"nothing": 1, "state": "cart"})

    assert_refused(refusal, "nothing")


async def test_the_body_of_ship_may_be_wrapped_and_unknown_members_are_refused(
    writer: Machine, checkout_setup: CheckoutSetup
) -> None:
    buyer = Buyer(writer.http, checkout_setup)
    await buyer.ready((await checkout_setup.product(), 1))
    order = await buyer.complete()
    shipment = (await writer.get(f"/shipments?filter[order_id_eq]={order.id}")).json["data"][0]["id"]

    refusal = await writer.patch(f"/shipments/{shipment}/ship", {"shipment": {"tracking": "1Z", "carrier": "x"}})
    response = await writer.patch(f"/shipments/{shipment}/ship", {"shipment": {"tracking": "1Z"}})

    assert_refused(refusal, "carrier")
    assert (response.status, response["tracking"], response["state"]) == (200, "1Z", "shipped")


async def test_a_refund_and_a_move_refuse_members_that_they_do_not_read(writer: Machine) -> None:
    taxonomy = await writer.post("/taxonomies", {"taxonomy": {"name": uuid4().hex}})
    root = taxonomy.json["data"]["relationships"]["root"]["data"]["id"]

    refund = await writer.post("/refunds", {"refund": {"payment_id": str(uuid4()), "transaction_id": "x"}})
    refusal = await writer.patch(f"/taxons/{root}/reposition", {"taxon": {"new_parent_id": root, "depth": 7}})

    assert_refused(refund, "transaction_id")
    assert_refused(refusal, "depth")


def included_record(answer: Answer, type_: str) -> dict[str, Any]:
    record: dict[str, Any]
    (record,) = [each for each in answer.json["included"] if each["type"] == type_]
    return record


async def test_nested_records_may_be_sent_back_as_they_were_read(
    writer: Machine, checkout_setup: CheckoutSetup
) -> None:
    mug = await checkout_setup.product()
    order = await writer.post(
        "/orders",
        {"order": {"bill_address_attributes": ADDRESS, "line_items_attributes": [{"variant_id": mug.variant_id}]}},
    )
    read = await writer.get(f"/orders/{order.id}?include=line_items,bill_address")
    line, address = (included_record(read, kind) for kind in ("line_item", "address"))
    lines = [{**line["attributes"], "id": line["id"], "quantity": 3}]
    bill_address = {**address["attributes"], "id": address["id"]}

    same = await writer.patch(
        f"/orders/{order.id}",
        {"order": {"line_items_attributes": lines, "bill_address_attributes": bill_address}},
    )

    assert (same.status, same["item_count"]) == (200, 3)


async def test_a_nested_read_only_member_with_another_value_is_refused(
    writer: Machine, checkout_setup: CheckoutSetup
) -> None:
    mug = await checkout_setup.product()
    order = await writer.post("/orders", {"order": {"line_items_attributes": [{"variant_id": mug.variant_id}]}})
    line = included_record(await writer.get(f"/orders/{order.id}?include=line_items"), "line_item")
    cheaper = [{**line["attributes"], "id": line["id"], "quantity": 3, "price": "0.01"}]

    refusal = await writer.patch(f"/orders/{order.id}", {"order": {"line_items_attributes": cheaper}})

    assert_refused(refusal, "line_items_attributes.0.price")
    assert (await writer.get(f"/orders/{order.id}"))["item_count"] == 1


async def test_the_rules_of_a_promotion_may_be_sent_back_as_they_were_read(writer: Machine) -> None:
    rule = {"type": "item_total", "preferences": {"amounts": {"USD": "80"}}}
    promotion = await writer.post("/promotions", {"promotion": {"name": "A", "promotion_rules_attributes": [rule]}})
    read = await writer.get(f"/promotions/{promotion.id}?include=promotion_rules")
    original_rule = included_record(read, "promotion_rule")
    rules = [{**original_rule["attributes"], "id": original_rule["id"]}]

    same = await writer.patch(f"/promotions/{promotion.id}", {"promotion": {"promotion_rules_attributes": rules}})

    assert same.status == 200, same.json
