"""Orders over the Platform API: a new one is open and has no user, few fields can change, only open ones can go."""

from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.platform.client import Machine, new_machine
from tests.platform.customers.test_addresses import new_address
from tests.platform.customers.test_users import new_user
from tests.platform.hostile import HOSTILE, assert_refused
from tests.service import Service
from tests.shopper import Shopper


async def test_a_new_order_is_an_open_cart_of_nobody(writer: Machine) -> None:
    order = await writer.post("/orders", {"order": {}})

    assert (order.status, order["state"], order["currency"]) == (201, "cart", "USD")
    assert (order["total"], order["display_total"], order["email"]) == ("0.0", "$0.00", None)
    assert order.json["data"]["relationships"]["user"]["data"] is None
    assert "token" not in order.json["data"]["attributes"]


async def test_the_currency_is_chosen_once(writer: Machine) -> None:
    order = await writer.post("/orders", {"order": {"currency": "JPY"}})

    same = await writer.patch(f"/orders/{order.id}", {"order": {"currency": "JPY", "internal_note": "x"}})
    update_refusal = await writer.patch(f"/orders/{order.id}", {"order": {"currency": "EUR", "internal_note": "y"}})
    refusal = await writer.post("/orders", {"order": {"currency": "CHF"}})

    assert (same["currency"], same["internal_note"], same["display_total"]) == ("JPY", "x", "¥0")
    assert_refused(update_refusal, "currency")
    assert_refused(refusal, "currency")


@pytest.mark.parametrize("email", ["a", "a@b@c.example", "a@b.example\n", "x" * 300 + "@b.example", 7, {"a": "b"}])
async def test_an_orders_email_must_be_one_or_none(writer: Machine, email: Any) -> None:
    order = await writer.post("/orders", {"order": {"email": "ada@shoppers.example"}})

    assert_refused(await writer.post("/orders", {"order": {"email": email}}), "email")
    assert_refused(await writer.patch(f"/orders/{order.id}", {"order": {"email": email}}), "email")
    assert (await writer.patch(f"/orders/{order.id}", {"order": {"email": None}}))["email"] is None


async def test_an_order_answers_to_its_number_as_to_its_id(writer: Machine) -> None:
    order = await writer.post("/orders", {"order": {}})
    path = f"/orders/{order['number']}"

    response = await writer.patch(path, {"order": {"internal_note": "by number"}})
    deletion = await writer.delete(path)

    assert (response.id, response["internal_note"], deletion.status) == (order.id, "by number", 204)
    assert (await writer.get(f"/orders/{order.id}")).status == 404


@pytest.mark.parametrize("body", [None, {}, {"order": {}}, {"order": {"total": "0.00"}}, {"total": 0}])
async def test_changing_nothing_of_an_order_is_no_error(writer: Machine, db: Any, body: Any) -> None:
    order = await writer.post("/orders", {"order": {}})

    answer = await writer.ask("PATCH", f"/orders/{order.id}", **({} if body is None else {"json": body}))

    assert (answer.status, answer.json) == (200, order.json)
    statement = "select count(*) from audit_events where subject_id = $1 and action = 'order_updated'"
    assert await db.fetchval(statement, order.id) == 0


@pytest.mark.parametrize("path", ["/orders", "/users", "/addresses", "/tax_categories"])
@pytest.mark.parametrize("body", [{}, {"nothing": {}}, [], "text"])
async def test_a_body_without_its_object_makes_nothing(writer: Machine, path: str, body: Any) -> None:
    answer = await writer.post(path, body)

    assert (answer.status, answer.code) == (400, "malformed")


async def test_an_object_may_be_wrapped_or_bare_or_a_form(writer: Machine) -> None:
    bare = await writer.post("/orders", {"internal_note": "bare"})
    form = await writer.ask("POST", "/orders", data={"order[internal_note]": "form", "order[public_metadata][a]": "1"})

    assert (bare.status, bare["internal_note"]) == (201, "bare")
    assert (form.status, form["internal_note"], form["public_metadata"]) == (201, "form", {"a": "1"})


async def test_a_completed_order_stays(writer: Machine, db: Any) -> None:
    order = await writer.post("/orders", {"order": {}})
    await db.execute("update orders set completed_at = now(), state = 'complete' where id = $1", order.id)

    assert_refused(await writer.delete(f"/orders/{order.id}"), "base")
    assert (await writer.get(f"/orders/{order.id}"))["state"] == "complete"


@pytest.mark.security("T-05")
async def test_a_machine_sees_the_carts_of_shoppers_and_not_their_keys(guest: Shopper, writer: Machine) -> None:
    cart = await guest.post("/cart")

    answer = await writer.get(f"/orders/{cart['number']}")

    assert answer.id == cart.id
    assert guest.order_token
    assert guest.order_token not in answer.response.text


@pytest.mark.parametrize("method", ["POST", "PATCH"])
async def test_a_repeated_request_under_one_key_is_done_once(writer: Machine, db: Any, method: str) -> None:
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
async def test_a_key_is_its_own_machines(http: httpx2.AsyncClient, writer: Machine, db: Any) -> None:
    key, other = {"Idempotency-Key": "1"}, await new_machine(http, db)

    orders = [await machine.post("/orders", {"order": {}}, headers=key) for machine in (writer, other)]

    assert orders[0].id != orders[1].id


async def test_a_refused_request_does_not_use_its_key_up(writer: Machine) -> None:
    key = {"Idempotency-Key": uuid4().hex}

    refusal = await writer.post("/orders", {"order": {"currency": "CHF"}}, headers=key)
    order = await writer.post("/orders", {"order": {"currency": "EUR"}}, headers=key)

    assert (refusal.status, order.status) == (422, 201)


@pytest.mark.parametrize(("kind", "value"), [(kind, value) for kind in ("text", "object") for value in HOSTILE[kind]])
async def test_a_hostile_value_is_refused_by_its_name(writer: Machine, kind: str, value: Any) -> None:
    name = {"text": "internal_note", "object": "private_metadata"}[kind]
    order = await writer.post("/orders", {"order": {}})

    assert_refused(await writer.post("/orders", {"order": {name: value}}), name)
    assert_refused(await writer.patch(f"/orders/{order.id}", {"order": {name: value}}), name)


@pytest.mark.parametrize("value", HOSTILE["flag"])
async def test_a_hostile_flag_is_refused_by_its_name(writer: Machine, value: Any) -> None:
    body = {"tax_category": {"name": uuid4().hex, "is_default": value}}

    assert_refused(await writer.post("/tax_categories", body), "is_default")


async def test_a_name_that_is_taken_is_refused_by_its_field(writer: Machine) -> None:
    body = {"tax_category": {"name": uuid4().hex}}
    await writer.post("/tax_categories", body)

    refusal = await writer.post("/tax_categories", body)

    assert_refused(refusal, "name")
    assert refusal.json["errors"] == {"name": ["is taken"]}


async def test_every_failing_field_is_named(writer: Machine) -> None:
    body: dict[str, Any] = {"name": None, "description": 7, "tax_code": [], "is_default": "perhaps"}

    assert_refused(await writer.post("/tax_categories", {"tax_category": body}), *body)


@pytest.mark.parametrize("body", [b'{"order": {"internal_note": "\\u0000"}}', b'{"order": {"a": 9007199254740993}}'])
async def test_a_body_that_cannot_be_read_is_malformed(writer: Machine, body: bytes) -> None:
    answer = await writer.ask("POST", "/orders", content=body, headers={"Content-Type": "application/json"})

    assert (answer.status, answer.code) == (400, "malformed")


async def test_relations_of_many_orders_cost_as_much_as_of_one(writer: Machine, db: Any, service: Service) -> None:
    ids = []
    for _ in range(5):
        order, user_id = await writer.post("/orders", {"order": {}}), await new_user(writer)
        places = [(await new_address(writer, user_id=user_id)).id for _ in range(2)]
        update = "update orders set user_id = $2, bill_address_id = $3, ship_address_id = $4 where id = $1"
        await db.execute(update, order.id, user_id, *places)
        ids.append(order.id)
    include = "user.addresses.country,bill_address.state,ship_address.country"

    responses = [
        await writer.get("/orders", {"filter[id_in]": ",".join(ids[:count]), "include": include}) for count in (1, 5)
    ]

    # An order's user, two addresses each, and one country.
    assert [len(answer.json["included"]) for answer in responses] == [1 + 2 + 1, 5 + 10 + 1]
    one, many = [service.request_line(answer.request_id)["statements"] for answer in responses]
    assert one == many
