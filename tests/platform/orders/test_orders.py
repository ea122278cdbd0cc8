"""Orders over the Platform API: a new one is open and has no user, few fields can change, only carts can be deleted."""

from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.platform.client import Machine, new_machine
from tests.platform.customers.test_addresses import new_address
from tests.platform.customers.test_users import new_user
from tests.platform.invalid_values import INVALID_VALUES, assert_refused
from tests.service import Service
from tests.shopper import Shopper


async def test_a_new_order_is_an_empty_cart_without_a_user(writer: Machine) -> None:
    order = await writer.post("/orders", {"order": {}})

    assert (order.status, order["state"], order["currency"]) == (201, "cart", "USD")
    assert (order["total"], order["display_total"], order["email"]) == ("0.0", "$0.00", None)
    assert order.json["data"]["relationships"]["user"]["data"] is None
    assert "token" not in order.json["data"]["attributes"]


async def test_the_currency_of_an_order_cannot_be_changed(writer: Machine) -> None:
    order = await writer.post("/orders", {"order": {"currency": "JPY"}})

    same = await writer.patch(f"/orders/{order.id}", {"order": {"currency": "JPY", "internal_note": "x"}})
    update_refusal = await writer.patch(f"/orders/{order.id}", {"order": {"currency": "EUR", "internal_note": "y"}})
    refusal = await writer.post("/orders", {"order": {"currency": "CHF"}})

    assert (same["currency"], same["internal_note"], same["display_total"]) == ("JPY", "x", "¥0")
    assert_refused(update_refusal, "currency")
    assert_refused(refusal, "currency")


@pytest.mark.parametrize("email", ["a", "a@b@c.example", "a@b.example\n", "x" * 300 + "@b.example", 7, {"a": "b"}])
async def test_the_email_of_an_order_must_be_valid_or_null(writer: Machine, email: Any) -> None:
    order = await writer.post("/orders", {"order": {"email": "ada@shoppers.example"}})

    assert_refused(await writer.post("/orders", {"order": {"email": email}}), "email")
    assert_refused(await writer.patch(f"/orders/{order.id}", {"order": {"email": email}}), "email")
    assert (await writer.patch(f"/orders/{order.id}", {"order": {"email": None}}))["email"] is None


async def test_an_order_is_addressed_by_its_number_or_its_id(writer: Machine) -> None:
    order = await writer.post("/orders", {"order": {}})
    path = f"/orders/{order['number']}"

    response = await writer.patch(path, {"order": {"internal_note": "by number"}})
    deletion = await writer.delete(path)

    assert (response.id, response["internal_note"], deletion.status) == (order.id, "by number", 204)
    assert (await writer.get(f"/orders/{order.id}")).status == 404


@pytest.mark.parametrize("body", [None, {}, {"order": {}}, {"order": {"total": "0.00"}}, {"total": 0}])
async def test_an_update_without_changes_succeeds_and_is_not_audited(writer: Machine, db: Any, body: Any) -> None:
    order = await writer.post("/orders", {"order": {}})

    answer = await writer.ask("PATCH", f"/orders/{order.id}", **({} if body is None else {"json": body}))

    assert (answer.status, answer.json) == (200, order.json)
    statement = "select count(*) from audit_events where subject_id = $1 and action = 'order_updated'"
    assert await db.fetchval(statement, order.id) == 0


@pytest.mark.parametrize("path", ["/orders", "/users", "/addresses", "/tax_categories"])
@pytest.mark.parametrize("body", [{}, {"nothing": {}}, [], "text"])
async def test_a_body_without_the_resource_object_is_400(writer: Machine, path: str, body: Any) -> None:
    answer = await writer.post(path, body)

    assert (answer.status, answer.code) == (400, "malformed")


async def test_a_body_may_be_wrapped_bare_or_form_encoded(writer: Machine) -> None:
    bare = await writer.post("/orders", {"internal_note": "bare"})
    form = await writer.ask("POST", "/orders", data={"order[internal_note]": "form", "order[public_metadata][a]": "1"})

    assert (bare.status, bare["internal_note"]) == (201, "bare")
    assert (form.status, form["internal_note"], form["public_metadata"]) == (201, "form", {"a": "1"})


async def test_a_completed_order_cannot_be_deleted(writer: Machine, db: Any) -> None:
    order = await writer.post("/orders", {"order": {}})
    await db.execute("update orders set completed_at = now(), state = 'complete' where id = $1", order.id)

    assert_refused(await writer.delete(f"/orders/{order.id}"), "base")
    assert (await writer.get(f"/orders/{order.id}"))["state"] == "complete"


@pytest.mark.security("T-05")
async def test_an_application_sees_carts_without_their_order_tokens(guest: Shopper, writer: Machine) -> None:
    cart = await guest.post("/cart")

    answer = await writer.get(f"/orders/{cart['number']}")

    assert answer.id == cart.id
    assert guest.order_token
    assert guest.order_token not in answer.response.text


@pytest.mark.parametrize("method", ["POST", "PATCH"])
async def test_a_request_is_done_once_per_idempotency_key(writer: Machine, db: Any, method: str) -> None:
    key = {"Idempotency-Key": uuid4().hex}
    order = await writer.post("/orders", {"order": {}})
    path = "/orders" if method == "POST" else f"/orders/{order.id}"
    body = {"order": {"internal_note": "once"}}

    first = await writer.ask(method, path, json=body, headers=key)
    between = await writer.patch(f"/orders/{first.id}", {"order": {"internal_note": "between"}})
    again = await writer.ask(method, path, json=body, headers=key)
    other = await writer.ask(method, path, json={"order": {}}, headers=key)

    assert (again.status, again.json) == (first.status, between.json)
    assert (other.status, other.code) == (422, "idempotency_key_reused")
    statement = "select count(*) from audit_events where subject_id = $1"
    assert await db.fetchval(statement, first.id) == {"POST": 2, "PATCH": 3}[method]


@pytest.mark.security("C-06")
async def test_an_idempotency_key_is_valid_for_one_application_only(
    http: httpx2.AsyncClient, writer: Machine, db: Any
) -> None:
    key, other = {"Idempotency-Key": "1"}, await new_machine(http, db)

    orders = [await machine.post("/orders", {"order": {}}, headers=key) for machine in (writer, other)]

    assert orders[0].id != orders[1].id


async def test_a_refused_request_leaves_its_idempotency_key_unused(writer: Machine) -> None:
    key = {"Idempotency-Key": uuid4().hex}

    refusal = await writer.post("/orders", {"order": {"currency": "CHF"}}, headers=key)
    order = await writer.post("/orders", {"order": {"currency": "EUR"}}, headers=key)

    assert (refusal.status, order.status) == (422, 201)


@pytest.mark.parametrize(
    ("kind", "value"), [(kind, value) for kind in ("text", "object") for value in INVALID_VALUES[kind]]
)
async def test_an_invalid_value_is_refused_with_a_field_error(writer: Machine, kind: str, value: Any) -> None:
    name = {"text": "internal_note", "object": "private_metadata"}[kind]
    order = await writer.post("/orders", {"order": {}})

    assert_refused(await writer.post("/orders", {"order": {name: value}}), name)
    assert_refused(await writer.patch(f"/orders/{order.id}", {"order": {name: value}}), name)


@pytest.mark.parametrize("value", INVALID_VALUES["flag"])
async def test_an_invalid_flag_is_refused_with_a_field_error(writer: Machine, value: Any) -> None:
    body = {"tax_category": {"name": uuid4().hex, "is_default": value}}

    assert_refused(await writer.post("/tax_categories", body), "is_default")


async def test_a_name_in_use_is_refused_with_a_field_error(writer: Machine) -> None:
    body = {"tax_category": {"name": uuid4().hex}}
    await writer.post("/tax_categories", body)

    refusal = await writer.post("/tax_categories", body)

    assert_refused(refusal, "name")
    assert refusal.json["errors"] == {"name": ["is taken"]}


async def test_every_invalid_field_gets_a_field_error(writer: Machine) -> None:
    body: dict[str, Any] = {"name": None, "description": 7, "tax_code": [], "is_default": "perhaps"}

    assert_refused(await writer.post("/tax_categories", {"tax_category": body}), *body)


@pytest.mark.parametrize("body", [b'{"order": {"internal_note": "\\u0000"}}', b'{"order": {"a": 9007199254740993}}'])
async def test_an_unreadable_body_is_400(writer: Machine, body: bytes) -> None:
    answer = await writer.ask("POST", "/orders", content=body, headers={"Content-Type": "application/json"})

    assert (answer.status, answer.code) == (400, "malformed")


async def test_including_relations_needs_as_many_statements_for_many_orders_as_for_one(
    writer: Machine, db: Any, service: Service
) -> None:
    ids = []
    for _ in range(5):
        order, user_id = await writer.post("/orders", {"order": {}}), await new_user(writer)
        address_ids = [(await new_address(writer, user_id=user_id)).id for _ in range(2)]
        update = "update orders set user_id = $2, bill_address_id = $3, ship_address_id = $4 where id = $1"
        await db.execute(update, order.id, user_id, *address_ids)
        ids.append(order.id)
    include = "user.addresses.country,bill_address.state,ship_address.country"

    responses = [
        await writer.get("/orders", {"filter[id_in]": ",".join(ids[:count]), "include": include}) for count in (1, 5)
    ]

    # An order's user, two addresses each, and one country.
    assert [len(answer.json["included"]) for answer in responses] == [1 + 2 + 1, 5 + 10 + 1]
    one, many = [service.request_line(answer.request_id)["statements"] for answer in responses]
    assert one == many
