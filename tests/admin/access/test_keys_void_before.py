"""`shop keys void-before`: tokens issued before a time are void in every process, also after a restore."""

import asyncio
import json
from datetime import datetime
from typing import Any

import httpx2
import pytest

from shop.base.crypto.keys import parse_keys
from tests.accounts import Member, ask_for_code, exchange_code, mailed_code, new_email, sign_in
from tests.admin.dashboard import SAME_ORIGIN, code, new_dashboard, new_link, new_operator, ticket_of
from tests.admin.dashboard import sign_in as sign_in_operator
from tests.cli.command import Command, Result, external, sentence
from tests.db.processes import until
from tests.platform.client import Machine as Application
from tests.platform.client import ask_for_token, new_app
from tests.platform.client import refresh as refresh_platform
from tests.service import KEYS
from tests.shopper import PREFIX


@pytest.fixture
def run(shop: Command, empty_url: str) -> Any:
    async def run(*arguments: str) -> Result:
        return await asyncio.to_thread(shop, *arguments, **external(empty_url))

    return run


async def make_key_newer(db: Any) -> None:
    """Dates the key an hour ahead, as if `shop keys rotate` had created it after the test's tokens."""
    values = parse_keys(KEYS).fingerprint("t1"), "t1"
    await db.execute(
        "insert into server_keys (fingerprint, key_id, created_at) values ($1, $2, now() + interval '1 hour')", *values
    )


@pytest.fixture
async def keys_db(empty_db: Any) -> Any:
    await empty_db.execute("delete from server_keys; update shops set not_before = null, version = version + 1")
    yield empty_db
    await empty_db.execute("delete from server_keys; update shops set not_before = null, version = version + 1")


async def cart_status(http: httpx2.AsyncClient, token: str) -> int:
    return (await http.get(f"{PREFIX}/cart", headers={"X-Shop-Order-Token": token})).status_code


@pytest.mark.security("X-08", "T-10", "A-02")
async def test_void_before_ends_everything_issued_earlier_and_nothing_issued_later(
    run: Any, empty_client: httpx2.AsyncClient, keys_db: Any
) -> None:
    dashboard, member, app, email = (
        await new_dashboard(empty_client, keys_db),
        await sign_in(empty_client),
        await new_app(keys_db),
        new_email(),
    )
    tokens = (await ask_for_token(empty_client, app, "admin")).json
    await ask_for_code(empty_client, email)
    login_code, link = await mailed_code(empty_client, email), await new_link(keys_db, dashboard.id)
    _, totp_email = await new_operator(keys_db, totp=True)
    ticket = await ticket_of(empty_client, totp_email)
    cart = (await empty_client.post(f"{PREFIX}/cart")).json()["data"]["attributes"]["token"]
    await make_key_newer(keys_db)

    result = await run("keys", "void-before", "now", "--yes", "--json")

    counts = json.loads(result.stdout)
    assert counts["keys"] == []
    assert min(counts["user_sessions"], counts["application_sessions"]) >= 1
    assert not await dashboard.is_signed_in()
    assert (await member.get("/account")).status == 401
    assert (await member.refresh()).code == "invalid_refresh_token"
    assert (await Application(empty_client, tokens).get("/orders")).status == 401
    assert (await refresh_platform(empty_client, app, tokens["refresh_token"])).status == 400
    assert (await exchange_code(empty_client, email, login_code)).code == "invalid_code"
    assert (await empty_client.get(link)).status_code == 410
    fields = {"ticket": ticket, "code": code()}
    assert (await empty_client.post("/admin/sign-in/code", data=fields, headers=SAME_ORIGIN)).status_code == 401
    # The key is newer than the given time, so its order tokens stay valid.
    assert await cart_status(empty_client, cart) == 200
    new_session = await sign_in(empty_client, member.email)
    assert (await new_session.get("/account")).status == 200
    assert (
        await Application(empty_client, (await ask_for_token(empty_client, app, "admin")).json).get("/orders")
    ).status == 200
    assert (await sign_in_operator(empty_client, dashboard.email)).status_code == 303
    query = "select detail from audit_events where action = 'tokens_voided' order by at desc limit 1"
    assert (
        json.loads(await keys_db.fetchval(query))["not_before"]
        == datetime.fromisoformat(counts["not_before"]).isoformat()
    )


@pytest.mark.security("X-08")
async def test_a_voided_session_is_still_void_after_a_restore(
    run: Any, empty_client: httpx2.AsyncClient, keys_db: Any
) -> None:
    dashboard, member = await new_dashboard(empty_client, keys_db), await sign_in(empty_client)
    await empty_client.delete(f"{PREFIX}/auth/{member.access_token}")
    await make_key_newer(keys_db)

    await run("keys", "void-before", "now", "--yes")
    await keys_db.execute("update sessions set revoked_at = null; update operator_sessions set revoked_at = null")

    assert (await member.get("/account")).status == 401
    assert (await member.refresh()).status == 401
    assert not await dashboard.is_signed_in()


@pytest.mark.security("X-08")
async def test_running_processes_refuse_order_tokens_of_older_keys_without_a_restart(
    run: Any, empty_client: httpx2.AsyncClient, keys_db: Any, empty_url: str, shop: Command
) -> None:
    cart = (await empty_client.post(f"{PREFIX}/cart")).json()["data"]["attributes"]["token"]
    member = await sign_in(empty_client)
    await member.post("/cart")
    settings = {**external(empty_url), "SHOP_SECRET_KEYS": f"k9:{'9a' * 32},{KEYS}"}
    fingerprint = parse_keys(settings["SHOP_SECRET_KEYS"]).fingerprint("k9")
    await keys_db.execute("insert into server_keys values ($1, 'k9', now() + interval '1 hour', null)", fingerprint)

    refusal = sentence(await run("keys", "void-before", "now", "--yes"))
    status = await cart_status(empty_client, cart)
    result = await asyncio.to_thread(shop, "keys", "void-before", "now", "--yes", "--json", **settings)

    async def is_gone() -> bool:
        return await cart_status(empty_client, cart) == 404

    assert "may have signed order tokens before TIME" in refusal
    assert status == 200
    assert json.loads(result.stdout)["keys"] == ["t1"]
    assert json.loads(result.stdout)["guest_carts"] >= 1
    await until(is_gone, seconds=5)


async def test_void_before_needs_confirmation_and_a_time_in_the_past(
    run: Any, empty_client: httpx2.AsyncClient, keys_db: Any
) -> None:
    member: Member = await sign_in(empty_client)
    await make_key_newer(keys_db)

    result = await run("keys", "void-before", "now")
    future = await run("keys", "void-before", "2999-01-01T00:00Z", "--yes")
    nonsense = await run("keys", "void-before", "yesterday", "--yes")
    earlier = await run("keys", "void-before", "2020-01-01", "--yes")

    assert "open guest carts are lost." in result.stderr
    assert result.stderr.endswith("shop: Nothing was changed. In a script, add --yes.\n")
    assert sentence(future) == "TIME is in the future: everyone would be signed out until then."
    assert sentence(nonsense) == "'yesterday' is not a time; give one like 2026-11-15T09:30Z, or `now`."
    assert earlier.stdout == "Everything issued before 2020-01-01T00:00:00Z is void.\n"
    assert (await member.get("/account")).status == 200
