"""Users over the Platform API: the rules of the shop apply to every change."""

from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.accounts import new_email, sign_in
from tests.platform.client import Machine
from tests.platform.invalid_values import INVALID_VALUES, assert_refused


async def new_user(machine: Machine, **fields: Any) -> str:
    user = await machine.post("/users", {"user": {"email": new_email(), **fields}})
    assert user.status == 201, user
    return user.id


async def test_a_user_created_by_an_application_is_verified_and_can_sign_in(
    http: httpx2.AsyncClient, writer: Machine
) -> None:
    email = new_email()
    user = await writer.post("/users", {"user": {"email": email, "first_name": "Ada"}})

    member = await sign_in(http, email, first_name="Mallory")

    assert str(await member.id()) == user.id
    assert user["verified_at"] is not None
    assert (await writer.get(f"/users/{user.id}"))["first_name"] == "Ada"


async def test_changing_the_email_ends_every_session_of_the_user(http: httpx2.AsyncClient, writer: Machine) -> None:
    phone = await sign_in(http)
    laptop, other_member = await sign_in(http, phone.email), await sign_in(http)
    email = new_email()

    response = await writer.patch(f"/users/{await phone.id()}", {"user": {"email": email}})

    assert (response.status, response["email"]) == (200, email)
    assert not await phone.is_signed_in()
    assert not await laptop.is_signed_in()
    assert (await laptop.refresh()).status == 401
    assert await other_member.is_signed_in()
    assert str(await (await sign_in(http, email)).id()) == response.id


@pytest.mark.security("A-07")
async def test_changing_the_email_notifies_the_old_address(http: httpx2.AsyncClient, writer: Machine, db: Any) -> None:
    member, email = await sign_in(http), new_email()
    user_id = await member.id()

    await writer.patch(f"/users/{user_id}", {"user": {"email": email}})

    mails = (await http.get("/mailbox.json", params={"to": member.email})).json()
    assert mails[0]["subject"] == "The e-mail address of your account at Tested was changed"
    assert "contact the shop" in mails[0]["text"]
    assert email not in mails[0]["text"] + mails[0]["html"]
    events = await db.fetch("select actor_kind, action from audit_events where subject_id = $1 order by at", user_id)
    assert ("application", "user_email_changed") in [tuple(row) for row in events]


async def test_sending_the_same_email_again_ends_no_session(http: httpx2.AsyncClient, writer: Machine) -> None:
    member = await sign_in(http)

    for spelling in (member.email, member.email.upper()):
        await writer.patch(f"/users/{await member.id()}", {"user": {"email": spelling, "first_name": "Ada"}})

    assert await member.is_signed_in()
    mails = (await http.get("/mailbox.json", params={"to": member.email})).json()
    assert [mail["code"] is not None for mail in mails] == [True]


@pytest.mark.parametrize(
    "email", ["", "a", "a@", "a@b@c.example", "a b@c.example", "a@c.example\n", None, 7, ["a@b.c"]]
)
async def test_an_invalid_email_is_refused(writer: Machine, email: Any) -> None:
    user_id = await new_user(writer)

    creation = await writer.post("/users", {"user": {"email": email}})
    update = await writer.patch(f"/users/{user_id}", {"user": {"email": email}})

    assert_refused(creation, "email")
    assert_refused(update, "email")


async def test_an_email_is_unique_regardless_of_case(writer: Machine) -> None:
    email = new_email()
    await new_user(writer, email=email)
    other = await new_user(writer)

    creation = await writer.post("/users", {"user": {"email": email.upper()}})
    update = await writer.patch(f"/users/{other}", {"user": {"email": email.upper()}})

    for refusal in (creation, update):
        assert_refused(refusal, "email")
        assert refusal.json["errors"] == {"email": ["is taken"]}


async def test_deleting_a_user_with_completed_orders_is_refused(
    http: httpx2.AsyncClient, writer: Machine, db: Any
) -> None:
    member = await sign_in(http)
    user_id = await member.id()
    completed_order, open_ = [(await writer.post("/orders", {"order": {}})).id for _ in range(2)]
    await db.execute("update orders set user_id = $2 where id = any($1)", [completed_order, open_], user_id)
    await db.execute("update orders set completed_at = now(), state = 'complete' where id = $1", completed_order)

    refusal = await writer.delete(f"/users/{user_id}")

    assert_refused(refusal, "base")
    assert "completed orders" in refusal.json["errors"]["base"][0]
    assert await member.is_signed_in()
    assert (await writer.get(f"/orders/{open_}")).status == 200


async def test_deleting_a_user_deletes_carts_addresses_and_sessions(
    http: httpx2.AsyncClient, writer: Machine, db: Any
) -> None:
    member = await sign_in(http)
    cart = await member.post("/cart")
    user_id = await member.id()
    home = {"firstname": "a", "lastname": "b", "address1": "1 Rue", "city": "Paris", "zipcode": "75001"}
    address = await writer.post("/addresses", {"address": {**home, "country_iso": "FR", "user_id": str(user_id)}})
    assert address.status == 201, address

    response = await writer.delete(f"/users/{user_id}")

    assert response.status == 204
    assert not await member.is_signed_in()
    assert (await writer.get(f"/orders/{cart.id}")).status == 404
    assert (await writer.get(f"/addresses/{address.id}")).status == 404


async def test_a_default_address_must_belong_to_the_user(writer: Machine) -> None:
    user_id = await new_user(writer)
    home = {"firstname": "a", "lastname": "b", "address1": "1 Rue", "city": "Paris", "zipcode": "75001"}
    mine, other_address = [
        (await writer.post("/addresses", {"address": {**home, "country_iso": "FR", "user_id": owner}})).id
        for owner in (user_id, await new_user(writer))
    ]

    response = await writer.patch(f"/users/{user_id}", {"user": {"bill_address_id": mine}})
    refusal = await writer.patch(
        f"/users/{user_id}", {"user": {"bill_address_id": other_address, "ship_address_id": str(uuid4())}}
    )

    assert response.json["data"]["relationships"]["bill_address"]["data"] == {"id": mine, "type": "address"}
    assert_refused(refusal, "bill_address_id", "ship_address_id")


async def test_the_lifetime_value_of_a_user_is_summed_by_currency(
    http: httpx2.AsyncClient, writer: Machine, db: Any
) -> None:
    user_id = await new_user(writer)
    for currency, total in (("USD", 1000), ("USD", 2050), ("JPY", 700)):
        order = await writer.post("/orders", {"order": {"currency": currency}})
        await db.execute(
            "update orders set user_id = $2, item_total = $3, total = $3, completed_at = now() where id = $1",
            order.id,
            user_id,
            total,
        )

    user = await writer.get(f"/users/{user_id}")

    assert user["lifetime_value"] == [{"currency": "JPY", "amount": "700.00"}, {"currency": "USD", "amount": "30.50"}]
    assert user["average_order_value"][1] == {"currency": "USD", "amount": "15.25"}


@pytest.mark.parametrize(
    ("kind", "value"), [(kind, value) for kind in ("text", "id", "object") for value in INVALID_VALUES[kind]]
)
async def test_an_invalid_value_is_refused_with_a_field_error(writer: Machine, kind: str, value: Any) -> None:
    name = {"text": "first_name", "id": "bill_address_id", "object": "public_metadata"}[kind]
    user_id = await new_user(writer)

    assert_refused(await writer.post("/users", {"user": {"email": new_email(), name: value}}), name)
    assert_refused(await writer.patch(f"/users/{user_id}", {"user": {name: value}}), name)
