"""Limits on stored data: addresses, payments and cards of a cart, addresses and sessions of an account."""

from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from shop.actions.access.sessions import MIN_REFRESH_LIMIT
from shop.actions.checkout.payments import MAX_PAYMENTS
from shop.actions.customers.account import MAX_ADDRESSES
from shop.queries.access.sessions import MAX_SESSIONS
from tests.accounts import sign_in
from tests.checkout_builders import ADDRESS, Buyer, CheckoutSetup

pytestmark = pytest.mark.security("H-11")


async def test_a_newly_entered_address_replaces_the_previous_one(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any
) -> None:
    name = uuid4().hex
    await buyer.add_items((await checkout_setup.product(), 1))

    for number in range(4):
        address = {**ADDRESS, "lastname": name, "address1": f"{number} Main Street"}
        response = await buyer.update_checkout(bill_address_attributes=address, ship_address_attributes=address)
        assert response.status == 200, response

    rows = await db.fetch("select distinct address1 from addresses where lastname = $1", name)
    assert [row[0] for row in rows] == ["3 Main Street"]
    assert await db.fetchval("select count(*) from addresses where lastname = $1", name) == 2


async def test_an_order_has_fifty_payments_at_most(buyer: Buyer, checkout_setup: CheckoutSetup, db: Any) -> None:
    await buyer.ready((await checkout_setup.product(), 1))
    order_id = UUID((await buyer.get("/cart")).id)
    await db.execute(
        """insert into payments (id, order_id, payment_method_id, number, state, amount, created_at, updated_at)
        select gen_random_uuid(), $1, $2, left('P' || gen_random_uuid(), 20), 'failed', 0, now(), now()
        from generate_series(2, $3)""",
        order_id,
        UUID(checkout_setup.check),
        MAX_PAYMENTS,
    )

    beyond = await buyer.post("/checkout/create_payment", payment_method_id=checkout_setup.check)

    assert (beyond.status, list(beyond.json["errors"])) == (422, ["base"])
    assert await db.fetchval("select count(*) from payments where order_id = $1", order_id) == MAX_PAYMENTS
    assert (await buyer.complete())["state"] == "complete"


async def test_a_card_entered_for_a_cart_is_deleted_with_the_cart(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any
) -> None:
    await buyer.ready((await checkout_setup.product(), 1))
    sources = "select count(*) from payment_sources where order_id = $1"
    order_id = UUID((await buyer.get("/cart")).id)
    assert await db.fetchval(sources, order_id) == 1

    response = await buyer.delete("/cart")

    assert (response.status, await db.fetchval(sources, order_id)) == (204, 0)


async def test_an_account_has_a_hundred_addresses_at_most(http: httpx2.AsyncClient, db: Any) -> None:
    member = await sign_in(http)
    first = await member.post("/account/addresses", address=ADDRESS)
    await db.execute(
        """insert into addresses (id, user_id, firstname, lastname, address1, country_id, created_at, updated_at)
        select gen_random_uuid(), user_id, firstname, lastname, address1, country_id, now(), now()
        from addresses, generate_series(2, $2) where id = $1""",
        UUID(first.id),
        MAX_ADDRESSES,
    )

    beyond = await member.post("/account/addresses", address=ADDRESS)
    await member.delete(f"/account/addresses/{first.id}")
    again = await member.post("/account/addresses", address=ADDRESS)

    assert (beyond.status, list(beyond.json["errors"])) == (422, ["base"])
    assert again.status == 200


async def test_the_oldest_of_a_hundred_sessions_ends_when_another_begins(http: httpx2.AsyncClient, db: Any) -> None:
    oldest = await sign_in(http)
    newer = await sign_in(http, oldest.email)
    await db.execute(
        """insert into sessions (id, user_id, source, created_at, refreshed_at, idle_expires_at, absolute_expires_at)
        select gen_random_uuid(), $1, '', now(), now(), now() + interval '1 day', now() + interval '1 day'
        from generate_series(3, $2)""",
        await oldest.id(),
        MAX_SESSIONS,
    )
    assert await oldest.is_signed_in()

    await sign_in(http, oldest.email)

    assert (await oldest.is_signed_in(), await newer.is_signed_in()) == (False, True)


async def test_a_session_ends_after_the_maximum_number_of_refreshes(http: httpx2.AsyncClient, db: Any) -> None:
    member = await sign_in(http)
    await member.renew()
    row = "update sessions set refresh_count = refresh_count + $2 where user_id = $1 returning refresh_count"
    assert await db.fetchval(row, await member.id(), MIN_REFRESH_LIMIT - 2) == MIN_REFRESH_LIMIT - 1
    await member.renew()

    refusal = await member.refresh()

    assert (refusal.status, refusal.code) == (401, "invalid_refresh_token")
    assert not await member.is_signed_in()
