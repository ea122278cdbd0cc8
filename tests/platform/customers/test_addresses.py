"""Addresses: valid for their country, and unchangeable once a completed order has them."""

from typing import Any
from uuid import uuid4

import pytest

from tests.platform.client import Machine
from tests.platform.customers.test_users import new_user
from tests.platform.invalid_values import INVALID_VALUES, assert_refused
from tests.shopper import Answer

PARIS = {
    "firstname": "Ada",
    "lastname": "Lovelace",
    "address1": "1 Rue de Rivoli",
    "city": "Paris",
    "zipcode": "75001",
    "country_iso": "FR",
}


async def new_address(machine: Machine, **fields: Any) -> Answer:
    return await machine.post("/addresses", {"address": {**PARIS, **fields}})


async def new_order_to(machine: Machine, db: Any, address_id: str, *, is_completed: bool) -> str:
    """The id of an order with this shipping address."""
    order = await machine.post("/orders", {"order": {}})
    await db.execute(
        "update orders set ship_address_id = $2, completed_at = case when $3 then now() end where id = $1",
        order.id,
        address_id,
        is_completed,
    )
    return order.id


async def test_an_address_links_its_country_and_state(writer: Machine) -> None:
    address = await new_address(writer, country_iso="USA", state_code="ny", city="New York", zipcode="10001")

    answer = await writer.get(f"/addresses/{address.id}", {"include": "country,state"})

    attributes_by_type = {item["type"]: item["attributes"] for item in answer.json["included"]}
    assert (attributes_by_type["country"]["iso"], attributes_by_type["state"]["abbr"]) == ("US", "NY")


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ({"firstname": ""}, ["firstname"]),
        ({"firstname": " ", "lastname": " "}, ["firstname", "lastname"]),
        ({"country_iso": "XX"}, ["country_iso"]),
        ({"country_iso": None}, ["country_iso"]),
        ({"country_iso": "", "country_id": str(uuid4())}, ["country_iso"]),
        ({"zipcode": "1"}, ["zipcode"]),
        ({"city": None}, ["city"]),
        ({"country_iso": "US", "city": "New York", "zipcode": "10001", "state_id": str(uuid4())}, ["state_id"]),
        ({"user_id": str(uuid4())}, ["user_id"]),
    ],
)
async def test_an_invalid_address_is_refused_with_field_errors(
    writer: Machine, fields: dict[str, Any], names: list[str]
) -> None:
    assert_refused(await new_address(writer, **fields), *names)


async def test_the_user_of_an_address_cannot_be_changed(writer: Machine) -> None:
    owner, other = await new_user(writer), await new_user(writer)
    address = await new_address(writer, user_id=owner)

    response = await writer.patch(f"/addresses/{address.id}", {"address": {"user_id": owner, "label": "home"}})
    refusal = await writer.patch(f"/addresses/{address.id}", {"address": {"user_id": other, "label": "work"}})

    assert response["label"] == "home"
    assert response.json["data"]["relationships"]["user"]["data"]["id"] == owner
    assert_refused(refusal, "user_id")


async def test_the_address_of_a_completed_order_cannot_be_changed(writer: Machine, db: Any) -> None:
    address = await new_address(writer)
    order_id = await new_order_to(writer, db, address.id, is_completed=True)

    refusal = await writer.patch(f"/addresses/{address.id}", {"address": {"city": "Lyon"}})

    assert_refused(refusal, "base")
    order = await writer.get(f"/orders/{order_id}", {"include": "ship_address"})
    assert order.json["included"][0]["attributes"]["city"] == "Paris"


async def test_the_address_of_a_cart_can_be_changed(writer: Machine, db: Any) -> None:
    address = await new_address(writer)
    await new_order_to(writer, db, address.id, is_completed=False)

    assert (await writer.patch(f"/addresses/{address.id}", {"address": {"label": "work"}}))["label"] == "work"


async def test_a_deleted_address_of_an_order_is_shown_only_with_the_order(writer: Machine, db: Any) -> None:
    user_id = await new_user(writer)
    deleted_address, remaining_address = [(await new_address(writer, user_id=user_id)).id for _ in range(2)]
    await writer.patch(
        f"/users/{user_id}", {"user": {"ship_address_id": deleted_address, "bill_address_id": remaining_address}}
    )
    order_id = await new_order_to(writer, db, deleted_address, is_completed=True)

    assert (await writer.delete(f"/addresses/{deleted_address}")).status == 204

    assert (await writer.get(f"/addresses/{deleted_address}")).status == 404
    assert (await writer.get("/addresses", {"filter[id_eq]": deleted_address})).json["data"] == []
    user = await writer.get(f"/users/{user_id}", {"include": "addresses"})
    relationships = user.json["data"]["relationships"]
    assert [link["id"] for link in relationships["addresses"]["data"]] == [remaining_address]
    assert [item["id"] for item in user.json["included"]] == [remaining_address]
    assert (relationships["ship_address"]["data"], relationships["bill_address"]["data"]["id"]) == (
        None,
        remaining_address,
    )
    order = await writer.get(f"/orders/{order_id}", {"include": "ship_address"})
    assert [item["id"] for item in order.json["included"]] == [deleted_address]


@pytest.mark.parametrize(
    ("kind", "value"), [(kind, value) for kind in ("text", "id", "object") for value in INVALID_VALUES[kind]]
)
async def test_an_invalid_value_is_refused_with_a_field_error(writer: Machine, kind: str, value: Any) -> None:
    name = {"text": "company", "id": "user_id", "object": "private_metadata"}[kind]

    assert_refused(await new_address(writer, **{name: value}), name)
