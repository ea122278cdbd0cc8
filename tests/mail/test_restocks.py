"""Back in stock: only owners of wishlists who asked and whose address is verified are told, once for each request."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import httpx2
import pytest

from shop.actions.customers.restocks import BATCH
from tests.accounts import exchange_code, mailed_code, new_email, sign_in
from tests.builders import Make
from tests.checkout_builders import CheckoutSetup
from tests.mail.budget_shop import request_code, wait_until_delivered
from tests.mail.mail_causes import CausingShop, ask_to_be_told
from tests.website.visitor import Visitor

ADD_OWNERS = """with owners as (
    insert into users (id, email, email_key, verified_at, created_at, updated_at)
    select id, id || '@crowd.example', id || '@crowd.example', now(), now(), now()
    from (select gen_random_uuid() as id from generate_series(1, $1)) ids returning id),
lists as (
    insert into wishlists (id, user_id, token, name, created_at, updated_at)
    select gen_random_uuid(), id, md5(id::text), 'Wishes', now(), now() from owners returning id)
insert into wished_items (id, wishlist_id, variant_id, notify_when_in_stock, created_at, updated_at)
select gen_random_uuid(), id, $2, true, now(), now() from lists"""
COUNT = "select count(*) from outbox_mails where kind = 'back_in_stock'"
MOVE = "update wished_items set id = $1 where wishlist_id = $2"


@pytest.fixture
async def shop(client: httpx2.AsyncClient, outbox: Any, shop_checkout: CheckoutSetup) -> AsyncIterator[CausingShop]:
    yield CausingShop(client, outbox, shop_checkout)
    # The next test deletes the mails and counts, which a delivery locks.
    await wait_until_delivered(outbox)


async def count_mails(shop: CausingShop, email: str) -> int:
    await shop.wait_for_restocks()
    return int(await shop.db.fetchval(f"{COUNT} and recipient = $1", email))


async def test_each_request_is_answered_once_and_the_next_restock_needs_a_new_request(shop: CausingShop) -> None:
    product, set_stock = await shop.sold_out_product()
    member = await sign_in(shop.http)
    await ask_to_be_told(member, product.variant_id)

    counts = []
    for stock in (3, 5, 0, 4):
        await set_stock(stock)
        counts.append(await count_mails(shop, member.email))
    await set_stock(0)
    await ask_to_be_told(member, product.variant_id)
    for stock in (0, 1):
        await set_stock(stock)
        counts.append(await count_mails(shop, member.email))

    assert counts == [1, 1, 1, 1, 1, 2]


@pytest.mark.security("M-06")
async def test_unverified_and_disabled_customers_are_not_told(shop: CausingShop) -> None:
    product, set_stock = await shop.sold_out_product()
    make, unverified, disabled, told = shop.setup.make, new_email(), await sign_in(shop.http), await sign_in(shop.http)
    await request_code(shop.http, unverified)
    user_id = await shop.db.fetchval("select id from users where email = $1", unverified)
    wishlist = await make.new("wishlists", "wishlist", user_id=str(user_id), name="Wishes")
    item = {"wishlist_id": wishlist.id, "variant_id": product.variant_id, "notify_when_in_stock": True}
    assert (await make.new("wished_items", "wished_item", **item))["notify_when_in_stock"] is True
    for member in (disabled, told):
        await ask_to_be_told(member, product.variant_id)
    await shop.db.execute("update users set disabled_at = now() where email = $1", disabled.email)

    await set_stock(2)

    assert await count_mails(shop, told.email) == 1
    assert [await count_mails(shop, email) for email in (unverified, disabled.email)] == [0, 0]
    waiting = "select count(*) from wished_items where variant_id = $1 and notify_when_in_stock"
    assert await shop.db.fetchval(waiting, UUID(product.variant_id)) == 2


async def test_a_guest_asks_only_by_signing_in(http: httpx2.AsyncClient, make: Make, db: Any) -> None:
    product, email = await make.product("Lamp", price="5", on_hand=0), new_email()
    asked = """select u.email, u.verified_at is not null from wished_items i join wishlists w on w.id = i.wishlist_id
        join users u on u.id = w.user_id where i.variant_id = $1 and i.notify_when_in_stock"""
    visitor, body = Visitor(http), {"variant_id": product.variant_id, "notify_when_in_stock": True}

    refused = await http.post("/api/v2/storefront/wishlists/default/add_item", json=body)
    page = await visitor.submit(await visitor.get(f"/products/{product.slug}"), "notify_when_in_stock")
    page = await visitor.submit(page, "request_sign_in_code", email=email)
    assert (refused.status_code, await db.fetch(asked, UUID(product.variant_id))) == (401, [])

    page = await visitor.submit(page, "sign_in", code=await mailed_code(http, email))
    await visitor.submit(page, "continue_after_sign_in")
    assert [tuple(row) for row in await db.fetch(asked, UUID(product.variant_id))] == [(email, True)]


async def test_an_owner_with_several_lists_gets_one_mail_although_owners_are_told_in_batches(
    shop: CausingShop,
) -> None:
    product, set_stock = await shop.sold_out_product()
    member = await sign_in(shop.http)
    await shop.db.execute(ADD_OWNERS, BATCH + 10, UUID(product.variant_id))
    for number in range(2):
        await ask_to_be_told(member, product.variant_id)
        newest = await shop.db.fetchval("select id from wishlists order by created_at desc limit 1")
        await shop.db.execute(MOVE, UUID(int=number and 2**128 - 1), newest)

    await set_stock(500)

    assert await count_mails(shop, member.email) == 1
    assert await shop.db.fetchval(COUNT) == BATCH + 11
    assert await shop.db.fetchval("select count(distinct recipient) from outbox_mails") == BATCH + 11


@pytest.mark.security("M-08")
async def test_a_popular_restock_leaves_most_of_the_budget_to_those_who_sign_in(shop: CausingShop) -> None:
    product, set_stock = await shop.sold_out_product()
    await shop.db.execute(ADD_OWNERS, 30, UUID(product.variant_id))

    await set_stock(3)
    await shop.wait_for_restocks()
    await wait_until_delivered(shop.db)

    assert await shop.db.fetchval(f"{COUNT} and sent_at is not null") == 5
    assert await shop.db.fetchval(f"{COUNT} and dead_at is not null") == 0
    for _ in range(10):
        email = new_email()
        await request_code(shop.http, email)
        assert (await exchange_code(shop.http, email, await mailed_code(shop.http, email))).status == 200
