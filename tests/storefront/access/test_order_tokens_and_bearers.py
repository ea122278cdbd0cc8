"""Requests with both an order token and a bearer token, the expiry of a completed order's token, and audited actors."""

import asyncio
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import pytest

from shop.base.crypto.secrets import secret_hash
from shop.gateways.test_card import TestCard as Card
from tests.accounts import Member, sign_in
from tests.checkout_builders import Buyer, CheckoutSetup, SignedInBuyer
from tests.platform.client import Machine
from tests.service import Service
from tests.shopper import Answer
from tests.storefront.access.test_order_token_versions import order_token_headers, statuses
from tests.storefront.payments.test_webhooks import attempt_of, send_webhook, webhook_body


@pytest.fixture
async def member(http: httpx2.AsyncClient) -> Member:
    return await sign_in(http)


@pytest.fixture
async def signed_in_buyer(http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, member: Member) -> SignedInBuyer:
    return SignedInBuyer(http, checkout_setup, member)


async def end_session(db: Any, member: Member, how: str) -> None:
    if how == "revoked":
        await member.delete(f"/auth/{member.access_token}")
    else:
        statement = "update access_tokens set expires_at = now() where hash = $1"
        await db.execute(statement, secret_hash(member.access_token))


async def age_order(db: Any, order: Answer) -> None:
    """Moves the completion of an order back by more than SHOP_ORDER_STATUS_TTL."""
    statement = "update orders set completed_at = completed_at - interval '30 days' where id = $1"
    await db.execute(statement, UUID(order.id))


@pytest.mark.security("C-12")
@pytest.mark.parametrize("how", ["revoked", "expired"])
async def test_an_invalid_bearer_token_with_a_valid_order_token_is_401_on_every_route(
    http: httpx2.AsyncClient, member: Member, buyer: Buyer, db: Any, how: str
) -> None:
    await buyer.add_items((await buyer.checkout_setup.product(), 1))
    await end_session(db, member, how)
    both = {**order_token_headers(buyer.order_token), "Authorization": f"Bearer {member.access_token}"}

    assert await statuses(http, both) == {(401, "invalid_token")}
    assert (await buyer.get("/cart")).status == 200


@pytest.mark.security("C-12")
@pytest.mark.parametrize("how", ["revoked", "expired"])
async def test_an_invalid_bearer_token_with_the_token_of_a_completed_order_is_401(
    signed_in_buyer: SignedInBuyer, db: Any, how: str
) -> None:
    order = await signed_in_buyer.buy(await signed_in_buyer.checkout_setup.product(), "approve")
    await end_session(db, signed_in_buyer.member, how)

    answers = [await signed_in_buyer.complete(), await signed_in_buyer.get(f"/order_status/{order['number']}")]

    assert [(answer.status, answer.code) for answer in answers] == [(401, "invalid_token")] * 2


@pytest.mark.security("C-05")
async def test_the_token_of_a_completed_order_is_404_after_the_order_status_ttl(buyer: Buyer, db: Any) -> None:
    await buyer.ready((await buyer.checkout_setup.product(), 1))
    order = await buyer.complete()
    before = [await buyer.complete(), await buyer.get(f"/order_status/{order['number']}")]

    await age_order(db, order)
    after = [await buyer.complete(), await buyer.get(f"/order_status/{order['number']}"), await buyer.get("/cart")]

    assert [answer.status for answer in before] == [200, 200]
    assert [answer.status for answer in after] == [404, 404, 404]


@pytest.mark.security("C-05")
async def test_an_expired_order_token_with_its_owners_bearer_token_completes_no_other_cart(
    signed_in_buyer: SignedInBuyer, db: Any
) -> None:
    product = await signed_in_buyer.checkout_setup.product()
    order = await signed_in_buyer.buy(product, "approve")
    token = signed_in_buyer.order_token
    await age_order(db, order)
    signed_in_buyer.order_token = None
    await signed_in_buyer.ready((product, 1))

    again = await signed_in_buyer.member.patch("/checkout/complete", headers=order_token_headers(token))

    assert (again.status, (await signed_in_buyer.get("/cart"))["state"]) == (404, "payment")
    # The account shows the order without a time limit.
    assert (await signed_in_buyer.get(f"/account/orders/{order['number']}")).status == 200


@pytest.mark.security("C-01", "C-08", "C-10")
async def test_another_users_bearer_token_adds_no_access_to_an_owned_cart(
    http: httpx2.AsyncClient, signed_in_buyer: SignedInBuyer
) -> None:
    product, checkout_setup = await signed_in_buyer.checkout_setup.product(), signed_in_buyer.checkout_setup
    other_buyer = SignedInBuyer(http, checkout_setup, await sign_in(http))
    await signed_in_buyer.buy(product, "approve")
    signed_in_buyer.order_token = None
    await signed_in_buyer.ready((product, 1))
    other_buyer.order_token = signed_in_buyer.order_token

    read = await other_buyer.get("/cart", include="user,payments.source")
    refusals = [
        await other_buyer.complete(),
        await other_buyer.post("/checkout/add_store_credit"),
        await other_buyer.post("/checkout/remove_store_credit"),
        await other_buyer.delete("/cart"),
    ]
    cart = await other_buyer.enter_address()

    assert (read.status, [each["type"] for each in read.json["included"]]) == (200, ["payment"])
    assert [(answer.status, answer.code) for answer in refusals] == [(401, "owner_required")] * 4
    assert [each["code"] for each in cart.json["meta"]["warnings"]] == ["payment_choices_removed"]
    assert (await signed_in_buyer.complete()).code == "payment_missing"


@pytest.mark.security("C-09", "C-10")
async def test_only_the_owner_can_pay_with_a_card_that_the_owner_entered(
    signed_in_buyer: SignedInBuyer, buyer: Buyer
) -> None:
    """The card is not saved yet, but a payment with it would still charge the owner."""
    await signed_in_buyer.ready((await signed_in_buyer.checkout_setup.product(), 1))
    buyer.order_token = signed_in_buyer.order_token

    refusal = await buyer.complete()
    cart = await buyer.enter_address(address1="66 Other Street")

    assert (refusal.status, refusal.code) == (401, "owner_required")
    assert [each["code"] for each in cart.json["meta"]["warnings"]] == ["payment_choices_removed"]
    assert cart.json["data"]["relationships"]["payments"]["data"] == []


async def test_entering_the_same_data_again_removes_no_payment_choice(
    signed_in_buyer: SignedInBuyer, buyer: Buyer
) -> None:
    await signed_in_buyer.ready((await signed_in_buyer.checkout_setup.product(), 1))
    buyer.order_token = signed_in_buyer.order_token

    cart = await buyer.update_checkout(email="ada@example.org", use_billing=True, special_instructions="Ring twice.")

    assert "meta" not in cart.json
    assert (await signed_in_buyer.complete()).status == 200


@pytest.mark.security("C-09")
async def test_advancing_with_the_order_token_alone_does_not_fill_in_the_owners_data(
    signed_in_buyer: SignedInBuyer, buyer: Buyer
) -> None:
    person_fields = {"firstname": "Ada", "lastname": "King", "address1": "5 Home Road", "city": "Springfield"}
    location_fields = {"zipcode": "62701", "state_name": "IL", "country_iso": "US", "phone": "555-0100"}
    await signed_in_buyer.post("/account/addresses", address={**person_fields, **location_fields})
    await signed_in_buyer.add_items((await signed_in_buyer.checkout_setup.product(), 1))
    buyer.order_token = signed_in_buyer.order_token

    cart_by_token = await buyer.patch("/checkout/advance?include=billing_address")
    cart_by_owner = await signed_in_buyer.patch("/checkout/advance?include=billing_address")

    assert (cart_by_token["state"], cart_by_token["email"], cart_by_token.json["included"]) == ("address", None, [])
    assert (cart_by_owner["email"], cart_by_owner.json["included"][0]["attributes"]["address1"]) == (
        signed_in_buyer.member.email,
        "5 Home Road",
    )


async def completion_actor(db: Any, order: Answer) -> tuple[str, UUID | None]:
    event = await db.fetchrow(
        "select actor_kind, actor_id from audit_events where action = 'order_complete' and subject_id = $1",
        UUID(order.id),
    )
    return event["actor_kind"], event["actor_id"]


@pytest.mark.security("A-05")
async def test_the_audit_event_names_the_actor_who_completed_an_order(
    signed_in_buyer: SignedInBuyer, buyer: Buyer, writer: Machine, checkout_setup: CheckoutSetup, db: Any
) -> None:
    product = await checkout_setup.product()
    await buyer.ready((product, 1))
    by_guest = await buyer.complete()
    by_user = await signed_in_buyer.buy(product, "approve")
    other = Buyer(buyer.http, checkout_setup)
    cart = await other.ready((product, 1))
    by_application = await writer.patch(f"/orders/{cart.id}/complete", {})
    application = await db.fetchval(
        "select s.application_id from access_tokens t join sessions s on s.id = t.session_id where t.hash = $1",
        secret_hash(writer.access_token),
    )

    assert by_application.status == 200
    assert await completion_actor(db, by_guest) == ("guest", None)
    assert await completion_actor(db, by_user) == ("user", await signed_in_buyer.member.id())
    assert await completion_actor(db, cart) == ("application", application)


@pytest.mark.security("A-05")
async def test_the_audit_event_names_the_buyer_when_a_webhook_completes_the_order(
    signed_in_buyer: SignedInBuyer, service: Service, db: Any
) -> None:
    """The client disconnects before the order is completed."""
    cart = await signed_in_buyer.ready((await signed_in_buyer.checkout_setup.product(), 1), source="hang")
    completion = asyncio.create_task(signed_in_buyer.complete())
    attempt = await attempt_of(db, cart.id)
    completion.cancel()
    provider = Card(Path(service.environ["SHOP_DATA_DIR"]) / "test_card")

    assert await send_webhook(signed_in_buyer.http, provider, webhook_body(attempt["id"])) == 204

    assert await completion_actor(db, cart) == ("user", await signed_in_buyer.member.id())
