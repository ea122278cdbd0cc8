"""Lifetimes are exact and follow the clock of the database, whatever the clocks of the servers show."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import httpx2
import pytest

from shop.base.crypto.secrets import secret_hash
from tests.accounts import Member, ask_for_code, exchange_code, mailed_code, new_email, refresh, sign_in
from tests.admin.dashboard import SAME_ORIGIN, new_operator, ticket_of
from tests.admin.dashboard import code as totp_code
from tests.builders import Make
from tests.checkout_builders import Buyer, new_checkout_setup
from tests.platform.client import Machine, ask_for_token, new_app, new_machine
from tests.service import KEYS
from tests.shopper import PREFIX
from tests.skew import start_with_skew

SKEW = 300
HOLD_SECONDS = 120
LIFETIME = "select extract(epoch from expires_at - created_at)::float from access_tokens where hash = $1"
AGED_CODE = """update login_requests set created_at = created_at - $2 * interval '1 second',
    expires_at = expires_at - $2 * interval '1 second' where email_key = $1"""
AGED_ROTATION = (
    "update refresh_tokens set rotated_at = rotated_at - $1 * interval '1 second' where rotated_at is not null"
)


@pytest.mark.security("T-06")
async def test_the_lifetime_of_a_token_equals_expires_in(http: httpx2.AsyncClient, db: Any) -> None:
    email = new_email()
    await ask_for_code(http, email)
    user = (await exchange_code(http, email, await mailed_code(http, email))).json
    platform = (await ask_for_token(http, await new_app(db), "admin")).json

    lifetimes = [await db.fetchval(LIFETIME, secret_hash(pair["access_token"])) for pair in (user, platform)]

    assert lifetimes == [user["expires_in"], platform["expires_in"]] == [86400, 7200]


@pytest.mark.security("T-06")
async def test_a_token_is_refused_from_its_expiry_on(http: httpx2.AsyncClient, db: Any) -> None:
    member, machine = await sign_in(http), await new_machine(http, db)
    hashes = [secret_hash(member.access_token), secret_hash(machine.access_token)]
    await member.post("/cart")
    # Long enough for a few requests on a busy machine.
    ends = "update access_tokens set expires_at = clock_timestamp() + interval '1.5 seconds' where hash = any($1)"
    await db.execute(ends, hashes)

    before = await statuses(member, machine)
    await db.execute("select pg_sleep_until(max(expires_at)) from access_tokens where hash = any($1)", hashes)
    after = await statuses(member, machine)

    assert (before, after) == ([200] * 5, [401] * 5)


async def statuses(member: Member, machine: Machine) -> list[int]:
    """The statuses of one route for each statement that checks a bearer token."""
    answers = [await member.get(path) for path in ("/account", "/cart", "/account/addresses", "/products?per_page=1")]
    return [answer.status for answer in [*answers, await machine.get("/orders?per_page=1")]]


@pytest.fixture
async def skewed_nodes(
    own_database: Callable[..., str], tmp_path: Path
) -> AsyncIterator[tuple[httpx2.AsyncClient, httpx2.AsyncClient, Any]]:
    """Two shops on one database, one five minutes ahead and one behind, and a connection to that database."""
    url = own_database()
    settings = {
        "SHOP_DATABASE_URL": url,
        "SHOP_SECRET_KEYS": KEYS,
        "SHOP_MAILBOX": "on",
        "SHOP_DRAIN_SECONDS": "0",
        "SHOP_HOLD_SECONDS": str(HOLD_SECONDS),
    }
    async with AsyncExitStack() as stack:
        clients = []
        for name, seconds in (("ahead", SKEW), ("behind", -SKEW)):
            node = start_with_skew(seconds, SHOP_DATA_DIR=str(tmp_path / name), **settings)
            stack.callback(node.stop)
            clients.append(await stack.enter_async_context(node.client()))
        connection = await asyncpg.connect(url)
        stack.push_async_callback(connection.close)
        yield clients[0], clients[1], connection


@pytest.mark.security("T-06", "L-02", "R-03")
@pytest.mark.torture
async def test_servers_with_skewed_clocks_agree_on_every_lifetime(
    skewed_nodes: tuple[httpx2.AsyncClient, httpx2.AsyncClient, Any],
) -> None:
    ahead, behind, db = skewed_nodes
    # The Date header shows that the clocks are wrong.
    for node, seconds in ((ahead, SKEW), (behind, -SKEW)):
        node_time = time.mktime(time.strptime((await node.get("/livez")).headers["date"], "%a, %d %b %Y %H:%M:%S GMT"))
        assert abs(node_time - time.mktime(time.gmtime()) - seconds) < 60

    for first, second in ((ahead, behind), (behind, ahead)):
        pair = await exchange_aged_codes(first, second, db)
        await end_token(first, second, db, pair)
        await refresh_within_the_grace(first, second, db)


async def exchange_aged_codes(first: httpx2.AsyncClient, second: httpx2.AsyncClient, db: Any) -> dict[str, Any]:
    """A code is valid for exactly 600 s; its tokens have the time of the database."""
    young, old = new_email(), new_email()
    for email, age in ((young, 540), (old, 600)):
        await ask_for_code(first, email)
        await db.execute(AGED_CODE, email, age)
    pair = await exchange_code(second, young, await mailed_code(second, young))
    refusal = await exchange_code(second, old, await mailed_code(second, old))

    now = await db.fetchval("select extract(epoch from now())")
    assert (pair.status, refusal.status) == (200, 401)
    assert abs(pair.json["created_at"] - now) < 30
    assert await db.fetchval(LIFETIME, secret_hash(pair.json["access_token"])) == 86400
    return dict(pair.json)


async def end_token(first: httpx2.AsyncClient, second: httpx2.AsyncClient, db: Any, pair: dict[str, Any]) -> None:
    bearer, statuses = {"Authorization": f"Bearer {pair['access_token']}"}, []
    for remaining in (60, 0):
        ends = "update access_tokens set expires_at = now() + $1 * interval '1 second' where hash = $2"
        await db.execute(ends, remaining, secret_hash(pair["access_token"]))
        statuses += [(await node.get(f"{PREFIX}/account", headers=bearer)).status_code for node in (first, second)]

    assert statuses == [200, 200, 401, 401]


async def refresh_within_the_grace(first: httpx2.AsyncClient, second: httpx2.AsyncClient, db: Any) -> None:
    member = await sign_in(first)
    child = await member.refresh()
    await db.execute(AGED_ROTATION, 20)
    repeat = await refresh(second, member.email, member.refresh_token)
    await db.execute(AGED_ROTATION, 11)
    refusal = await refresh(second, member.email, member.refresh_token)

    assert (repeat.json, refusal.status) == (child.json, 401)


@pytest.mark.security("T-06", "D-02")
@pytest.mark.torture
async def test_servers_with_skewed_clocks_agree_on_authenticator_codes_and_stock_holds(
    skewed_nodes: tuple[httpx2.AsyncClient, httpx2.AsyncClient, Any],
) -> None:
    ahead, behind, db = skewed_nodes
    for node in (ahead, behind):
        _, email = await new_operator(db, totp=True)
        fields = {"ticket": await ticket_of(node, email), "code": totp_code()}
        response = await node.post("/admin/sign-in/code", data=fields, headers=SAME_ORIGIN)
        assert response.status_code == 303

    make = Make(await new_machine(ahead, db))
    checkout_setup = await new_checkout_setup(Make(make.machine, await make.stock_location()), card="none")
    mug = await checkout_setup.product()
    query = "select extract(epoch from expires_at - now())::float from stock_holds where order_id = $1"
    for node in (ahead, behind):
        buyer = Buyer(node, checkout_setup)
        await buyer.add_items((mug, 1))
        await buyer.enter_address()
        cart = await buyer.pay(method=checkout_setup.check)
        assert HOLD_SECONDS - 60 < await db.fetchval(query, UUID(cart.id)) <= HOLD_SECONDS
