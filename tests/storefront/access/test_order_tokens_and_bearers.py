"""An order token with a bearer token beside it, the end of a completed order's token, and who the audit names."""

import asyncio
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest

from shop.base.secrets import secret_hash
from shop.gateways.test_card import TestCard as Card
from tests.accounts import Member, sign_in
from tests.checkout_builders import Buyer, SignedIn, Till
from tests.platform.client import Machine
from tests.service import Service
from tests.shopper import Answer
from tests.storefront.access.test_order_token_versions import held, statuses
from tests.storefront.payments.test_notices import attempt_of, tell, told


@pytest.fixture
async def member(http: httpx.AsyncClient) -> Member:
    return await sign_in(http)


@pytest.fixture
async def signed_in(http: httpx.AsyncClient, till: Till, member: Member) -> SignedIn:
    return SignedIn(http, till, member)


async def end(db: Any, member: Member, how: str) -> None:
    if how == "revoked":
        await member.delete(f"/auth/{member.access_token}")
    else:
        statement = "update access_tokens set expires_at = now() where hash = $1"
        await db.execute(statement, secret_hash(member.access_token))


async def age(db: Any, order: Answer) -> None:
    """As if it had been completed longer ago than SHOP_ORDER_STATUS_TTL."""
    statement = "update orders set completed_at = completed_at - interval '30 days' where id = $1"
    await db.execute(statement, UUID(order.id))


@pytest.mark.security("C-12")
@pytest.mark.parametrize("how", ["revoked", "expired"])
async def test_a_dead_bearer_beside_a_good_order_token_is_401_on_every_route(
    http: httpx.AsyncClient, member: Member, buyer: Buyer, db: Any, how: str
) -> None:
    await buyer.put_in((await buyer.till.product(), 1))
    await end(db, member, how)
    both = {**held(buyer.order_token), "Authorization": f"Bearer {member.access_token}"}

    assert await statuses(http, both) == {(401, "invalid_token")}
    assert (await buyer.get("/cart")).status == 200


@pytest.mark.security("C-12")
@pytest.mark.parametrize("how", ["revoked", "expired"])
async def test_a_dead_bearer_beside_the_token_of_a_completed_order_is_401(
    signed_in: SignedIn, db: Any, how: str
) -> None:
    order = await signed_in.buy(await signed_in.till.product(), "approve")
    await end(db, signed_in.member, how)

    answers = [await signed_in.complete(), await signed_in.get(f"/order_status/{order['number']}")]

    assert [(answer.status, answer.code) for answer in answers] == [(401, "invalid_token")] * 2


@pytest.mark.security("C-05")
async def test_a_completed_order_is_not_shown_by_its_token_when_its_time_is_up(buyer: Buyer, db: Any) -> None:
    await buyer.ready((await buyer.till.product(), 1))
    order = await buyer.complete()
    before = [await buyer.complete(), await buyer.get(f"/order_status/{order['number']}")]

    await age(db, order)
    after = [await buyer.complete(), await buyer.get(f"/order_status/{order['number']}"), await buyer.get("/cart")]

    assert [answer.status for answer in before] == [200, 200]
    assert [answer.status for answer in after] == [404, 404, 404]


@pytest.mark.security("C-05")
async def test_an_old_token_beside_its_owners_bearer_neither_shows_the_order_nor_completes_another_cart(
    signed_in: SignedIn, db: Any
) -> None:
    product = await signed_in.till.product()
    order = await signed_in.buy(product, "approve")
    token = signed_in.order_token
    await age(db, order)
    signed_in.order_token = None
    await signed_in.ready((product, 1))

    again = await signed_in.member.patch("/checkout/complete", headers=held(token))

    assert (again.status, (await signed_in.get("/cart"))["state"]) == (404, "payment")
    # The account shows it as long as it likes.
    assert (await signed_in.get(f"/account/orders/{order['number']}")).status == 200


@pytest.mark.security("C-01", "C-08", "C-10")
async def test_a_foreign_bearer_beside_the_token_of_an_owned_cart_adds_nothing(
    http: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    product, till = await signed_in.till.product(), signed_in.till
    stranger = SignedIn(http, till, await sign_in(http))
    await signed_in.buy(product, "approve")
    signed_in.order_token = None
    await signed_in.ready((product, 1))
    stranger.order_token = signed_in.order_token

    read = await stranger.get("/cart", include="user,payments.source")
    refusals = [
        await stranger.complete(),
        await stranger.post("/checkout/add_store_credit"),
        await stranger.post("/checkout/remove_store_credit"),
        await stranger.delete("/cart"),
    ]
    cart = await stranger.come_from()

    assert (read.status, [each["type"] for each in read.json["included"]]) == (200, ["payment"])
    assert [(answer.status, answer.code) for answer in refusals] == [(401, "owner_required")] * 4
    assert [each["code"] for each in cart.json["meta"]["warnings"]] == ["payment_choices_removed"]
    assert (await signed_in.complete()).code == "payment_missing"


@pytest.mark.security("C-09", "C-10")
async def test_a_card_that_the_owner_typed_in_is_the_owners_to_pay_with(signed_in: SignedIn, buyer: Buyer) -> None:
    """It is not saved yet, and would be the owner's money all the same."""
    await signed_in.ready((await signed_in.till.product(), 1))
    buyer.order_token = signed_in.order_token

    refusal = await buyer.complete()
    cart = await buyer.come_from(address1="66 Other Street")

    assert (refusal.status, refusal.code) == (401, "owner_required")
    assert [each["code"] for each in cart.json["meta"]["warnings"]] == ["payment_choices_removed"]
    assert cart.json["data"]["relationships"]["payments"]["data"] == []


async def test_what_is_typed_again_without_a_change_removes_no_payment_choice(
    signed_in: SignedIn, buyer: Buyer
) -> None:
    await signed_in.ready((await signed_in.till.product(), 1))
    buyer.order_token = signed_in.order_token

    cart = await buyer.tell(email="ada@example.org", use_billing=True, special_instructions="Ring twice.")

    assert "meta" not in cart.json
    assert (await signed_in.complete()).status == 200


@pytest.mark.security("C-09")
async def test_a_token_that_began_the_checkout_leaves_it_to_the_owner_to_fill_in(
    signed_in: SignedIn, buyer: Buyer
) -> None:
    home = {"firstname": "Ada", "lastname": "King", "address1": "5 Home Road", "city": "Springfield"}
    place = {"zipcode": "62701", "state_name": "IL", "country_iso": "US", "phone": "555-0100"}
    await signed_in.post("/account/addresses", address={**home, **place})
    await signed_in.put_in((await signed_in.till.product(), 1))
    buyer.order_token = signed_in.order_token

    cart_by_token = await buyer.patch("/checkout/advance?include=billing_address")
    cart_by_owner = await signed_in.patch("/checkout/advance?include=billing_address")

    assert (cart_by_token["state"], cart_by_token["email"], cart_by_token.json["included"]) == ("address", None, [])
    assert (cart_by_owner["email"], cart_by_owner.json["included"][0]["attributes"]["address1"]) == (
        signed_in.member.email,
        "5 Home Road",
    )


async def completion_actor(db: Any, order: Answer) -> tuple[str, UUID | None]:
    event = await db.fetchrow(
        "select actor_kind, actor_id from audit_events where action = 'order_complete' and subject_id = $1",
        UUID(order.id),
    )
    return event["actor_kind"], event["actor_id"]


@pytest.mark.security("A-05")
async def test_the_audit_names_who_completed_an_order(
    signed_in: SignedIn, buyer: Buyer, writer: Machine, till: Till, db: Any
) -> None:
    product = await till.product()
    await buyer.ready((product, 1))
    by_guest = await buyer.complete()
    by_user = await signed_in.buy(product, "approve")
    other = Buyer(buyer.http, till)
    cart = await other.ready((product, 1))
    by_application = await writer.patch(f"/orders/{cart.id}/complete", {})
    application = await db.fetchval(
        "select s.application_id from access_tokens t join sessions s on s.id = t.session_id where t.hash = $1",
        secret_hash(writer.access_token),
    )

    assert by_application.status == 200
    assert await completion_actor(db, by_guest) == ("guest", None)
    assert await completion_actor(db, by_user) == ("user", await signed_in.member.id())
    assert await completion_actor(db, cart) == ("application", application)


@pytest.mark.security("A-05")
async def test_the_audit_names_the_buyer_when_the_provider_answers_by_webhook(
    signed_in: SignedIn, service: Service, db: Any
) -> None:
    """The order is completed after the caller has gone."""
    cart = await signed_in.ready((await signed_in.till.product(), 1), source="hang")
    asking = asyncio.create_task(signed_in.complete())
    attempt = await attempt_of(db, cart.id)
    asking.cancel()
    provider = Card(Path(service.environ["SHOP_DATA_DIR"]) / "test_card")

    assert await tell(signed_in.http, provider, told(attempt["id"])) == 204

    assert await completion_actor(db, cart) == ("user", await signed_in.member.id())
