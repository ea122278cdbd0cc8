"""`shop keys void-before`: what was issued before a moment is void in every process, and stays void after a restore."""

import asyncio
import json
from datetime import datetime
from typing import Any

import httpx
import pytest

from shop.base.keys import parse_keys
from tests.accounts import Member, ask_for_code, mailed_code, new_email, sign_in, trade
from tests.admin.dashboard import SAME_ORIGIN, code, new_desk, new_link, new_operator, ticket_of
from tests.admin.dashboard import sign_in as sign_in_operator
from tests.cli.command import Command, Done, external, sentence
from tests.db.processes import until
from tests.platform.client import Machine as Application
from tests.platform.client import ask_for_token, new_app
from tests.platform.client import refresh as refresh_platform
from tests.service import KEYS
from tests.shopper import PREFIX


@pytest.fixture
def run(shop: Command, empty_url: str) -> Any:
    async def run(*arguments: str) -> Done:
        return await asyncio.to_thread(shop, *arguments, **external(empty_url))

    return run


async def make_key_young(db: Any) -> None:
    """As if the key had been made by `shop keys rotate` after all that the test does."""
    values = parse_keys(KEYS).fingerprint("t1"), "t1"
    await db.execute(
        "insert into server_keys (fingerprint, key_id, created_at) values ($1, $2, now() + interval '1 hour')", *values
    )


@pytest.fixture
async def keys_db(empty_db: Any) -> Any:
    await empty_db.execute("delete from server_keys; update shops set not_before = null, version = version + 1")
    yield empty_db
    await empty_db.execute("delete from server_keys; update shops set not_before = null, version = version + 1")


async def cart_status(http: httpx.AsyncClient, token: str) -> int:
    return (await http.get(f"{PREFIX}/cart", headers={"X-Shop-Order-Token": token})).status_code


@pytest.mark.security("X-08", "T-10", "A-02")
async def test_everything_issued_before_is_void_and_what_is_issued_since_works(
    run: Any, empty: httpx.AsyncClient, keys_db: Any
) -> None:
    desk, member, app, email = await new_desk(empty, keys_db), await sign_in(empty), await new_app(keys_db), new_email()
    pair = (await ask_for_token(empty, app, "admin")).json
    await ask_for_code(empty, email)
    login_code, link = await mailed_code(empty, email), await new_link(keys_db, desk.id)
    _, with_totp = await new_operator(keys_db, totp=True)
    ticket = await ticket_of(empty, with_totp)
    cart = (await empty.post(f"{PREFIX}/cart")).json()["data"]["attributes"]["token"]
    await make_key_young(keys_db)

    result = await run("keys", "void-before", "now", "--yes", "--json")

    counts = json.loads(result.stdout)
    assert counts["keys"] == []
    assert min(counts["user_sessions"], counts["application_sessions"]) >= 1
    assert not await desk.is_signed_in()
    assert (await member.get("/account")).status == 401
    assert (await member.refresh()).code == "invalid_refresh_token"
    assert (await Application(empty, pair).get("/orders")).status == 401
    assert (await refresh_platform(empty, app, pair["refresh_token"])).status == 400
    assert (await trade(empty, email, login_code)).code == "invalid_code"
    assert (await empty.get(link)).status_code == 410
    fields = {"ticket": ticket, "code": code()}
    assert (await empty.post("/admin/sign-in/code", data=fields, headers=SAME_ORIGIN)).status_code == 401
    # The key is younger than the moment, so its order tokens stay.
    assert await cart_status(empty, cart) == 200
    again = await sign_in(empty, member.email)
    assert (await again.get("/account")).status == 200
    assert (await Application(empty, (await ask_for_token(empty, app, "admin")).json).get("/orders")).status == 200
    assert (await sign_in_operator(empty, desk.email)).status_code == 303
    event = "select detail from audit_events where action = 'tokens_voided' order by at desc limit 1"
    assert (
        json.loads(await keys_db.fetchval(event))["not_before"]
        == datetime.fromisoformat(counts["not_before"]).isoformat()
    )


@pytest.mark.security("X-08")
async def test_a_session_that_a_restore_brings_back_stays_void(
    run: Any, empty: httpx.AsyncClient, keys_db: Any
) -> None:
    desk, member = await new_desk(empty, keys_db), await sign_in(empty)
    await empty.delete(f"{PREFIX}/auth/{member.access_token}")
    await make_key_young(keys_db)

    await run("keys", "void-before", "now", "--yes")
    await keys_db.execute("update sessions set revoked_at = null; update operator_sessions set revoked_at = null")

    assert (await member.get("/account")).status == 401
    assert (await member.refresh()).status == 401
    assert not await desk.is_signed_in()


@pytest.mark.security("X-08")
async def test_order_tokens_of_older_keys_end_and_running_processes_need_no_restart(
    run: Any, empty: httpx.AsyncClient, keys_db: Any, empty_url: str, shop: Command
) -> None:
    cart = (await empty.post(f"{PREFIX}/cart")).json()["data"]["attributes"]["token"]
    member = await sign_in(empty)
    await member.post("/cart")
    newer = {**external(empty_url), "SHOP_SECRET_KEYS": f"k9:{'9a' * 32},{KEYS}"}
    fingerprint = parse_keys(newer["SHOP_SECRET_KEYS"]).fingerprint("k9")
    await keys_db.execute("insert into server_keys values ($1, 'k9', now() + interval '1 hour', null)", fingerprint)

    refusal = sentence(await run("keys", "void-before", "now", "--yes"))
    status = await cart_status(empty, cart)
    result = await asyncio.to_thread(shop, "keys", "void-before", "now", "--yes", "--json", **newer)

    async def is_gone() -> bool:
        return await cart_status(empty, cart) == 404

    assert "may have signed order tokens before TIME" in refusal
    assert status == 200
    assert json.loads(result.stdout)["keys"] == ["t1"]
    assert json.loads(result.stdout)["guest_carts"] >= 1
    await until(is_gone, seconds=5)


async def test_nothing_is_void_without_consent_or_before_its_time(
    run: Any, empty: httpx.AsyncClient, keys_db: Any
) -> None:
    member: Member = await sign_in(empty)
    await make_key_young(keys_db)

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
