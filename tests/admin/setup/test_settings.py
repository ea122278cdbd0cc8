"""Settings: the shop as every process sees it, and who runs it."""

import asyncio
import json
import re
from typing import Any

import httpx
import pytest

from tests.admin.dashboard import SAME_ORIGIN, Desk, events, new_desk, new_operator, sign_in, waiting

SHOP = "/admin/settings/shop"
OPERATORS = "/admin/settings/operators"


def fields_of(page: str) -> dict[str, str]:
    names = ("version", "name", "currencies", "default_country", "default_locale")
    matches = {name: re.search(rf'name="{name}"[^>]*value="([^"]*)"', page) for name in names}
    return {name: match[1] for name, match in matches.items() if match}


async def currencies(http: httpx.AsyncClient, currency: str) -> set[str]:
    """What new carts have that ask for this one, each over a connection of its own: both processes are asked."""
    async with httpx.AsyncClient(base_url=http.base_url, limits=httpx.Limits(max_keepalive_connections=0)) as client:
        return {
            (await client.post("/api/v2/storefront/cart", params={"currency": currency})).json()["data"]["attributes"][
                "currency"
            ]
            for _ in range(24)
        }


async def seen_everywhere(http: httpx.AsyncClient, default: str) -> None:
    """Until every worker opens carts in this currency when another is wished for; within the two seconds promised."""
    async with asyncio.timeout(2):
        while await currencies(http, "CHF") != {default}:
            pass


@pytest.mark.torture
async def test_a_change_is_seen_by_every_process_within_two_seconds(empty: httpx.AsyncClient, empty_db: Any) -> None:
    desk = await new_desk(empty, empty_db)
    before = fields_of((await desk.get(SHOP)).text)
    assert await currencies(empty, "CHF") == {"USD"}

    wishes = {**before, "name": "Käse & Co", "currencies": "chf, usd  EUR,chf", "default_country": "ch"}
    answer = await desk.post(SHOP, headers=None, **wishes)
    await seen_everywhere(empty, "CHF")

    assert answer.headers["location"] == f"{SHOP}?done=saved"
    assert await currencies(empty, "CHF") == {"CHF"}
    row = await empty_db.fetchrow("select * from shops")
    assert (row["name"], row["currencies"], row["default_country"]) == ("Käse & Co", ["CHF", "USD", "EUR"], "CH")
    assert row["version"] == int(before["version"]) + 1
    assert "Käse &amp; Co" in (await empty.get("/admin/sign-in")).text
    detail = await empty_db.fetchval(
        "select detail from audit_events where action = 'shop_changed' and actor_id = $1", desk.id
    )
    assert json.loads(detail)["before"]["name"] == before["name"]
    assert json.loads(detail)["after"]["currencies"] == ["CHF", "USD", "EUR"]
    await empty_db.execute("update shops set name = 'Shop', currencies = '{USD}', version = version + 1")
    await seen_everywhere(empty, "USD")


async def test_whoever_typed_over_an_older_version_is_told(desk: Desk, db: Any) -> None:
    fields = fields_of((await desk.get(SHOP)).text)
    fields["version"] = str(int(fields["version"]) - 1)

    answer = await desk.post(SHOP, headers=None, **{**fields, "name": "Overwritten"})

    assert answer.status_code == 409
    assert "Someone else changed the settings" in answer.text
    assert await db.fetchval("select name from shops") != "Overwritten"


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("name", "", "must be one line"),
        ("name", "x" * 101, "must be one line"),
        ("currencies", "", "must be 1 to 30 codes"),
        ("currencies", "USD, XYZ", "XYZ is none"),
        ("currencies", "USD, XTS", "XTS is none"),
        ("currencies", "USD, <b>", "&lt;B&gt; is none"),
        ("default_country", "XX", "must be the code of a country"),
        ("default_country", "USA", "must be the code of a country"),
        ("default_locale", "klingon", "must be a locale"),
        ("default_locale", "en_US", "must be a locale"),
        ("version", "nonsense", "Someone else changed"),
    ],
)
async def test_what_will_not_do_is_said_at_the_field_and_changes_nothing(
    desk: Desk, db: Any, field: str, value: str, says: str
) -> None:
    before = await db.fetchrow("select * from shops")

    answer = await desk.post(SHOP, headers=None, **{**fields_of((await desk.get(SHOP)).text), field: value})

    assert answer.status_code in (409, 422)
    assert says in answer.text
    assert await db.fetchrow("select * from shops") == before


async def test_an_operator_who_is_shut_out_is_out_at_once(desk: Desk, another_desk: Desk, db: Any) -> None:
    answer = await desk.post(f"{OPERATORS}/{another_desk.id}/disable")

    assert answer.headers["location"] == f"{OPERATORS}?done=disabled"
    assert not await another_desk.is_signed_in()
    assert (await sign_in(desk.http, another_desk.email)).status_code == 401
    await desk.post(f"{OPERATORS}/{another_desk.id}/enable")
    assert not await another_desk.is_signed_in()
    assert (await sign_in(desk.http, another_desk.email)).status_code == 303
    audit_events = await events(db, actor=desk.id, subject=another_desk.id)
    assert audit_events == [("operator_disabled", "done"), ("operator_enabled", "done")]


async def test_nobody_shuts_out_themselves(desk: Desk, another_desk: Desk) -> None:
    assert await another_desk.is_signed_in()

    answer = await desk.post(f"{OPERATORS}/{desk.id}/disable")

    assert answer.status_code == 409
    assert await desk.is_signed_in()


async def test_two_who_shut_each_other_out_leave_one(empty: httpx.AsyncClient, empty_db: Any) -> None:
    one, other = await new_desk(empty, empty_db), await new_desk(empty, empty_db)

    async def shut_out(by: Desk, csrf: str, whom: Desk) -> int:
        path, headers = f"{OPERATORS}/{whom.id}/disable", {**by.cookie, **SAME_ORIGIN}
        return (await empty.post(path, data={"csrf": csrf}, headers=headers)).status_code

    pairs = [(one, await one.csrf(), other), (other, await other.csrf(), one)]

    async with empty_db.transaction():
        # Held here, so that both have been let in before the first can shut the other out.
        await empty_db.execute("select from operators for update")
        both = [asyncio.create_task(shut_out(*pair)) for pair in pairs]
        await waiting(empty_db, 2)

    assert sorted([await answer for answer in both]) == [303, 409]
    assert await empty_db.fetchval("select count(*) from operators where disabled_at is null") == 1


async def test_an_invited_operator_is_not_one_who_can_open_the_shop(empty: httpx.AsyncClient, empty_db: Any) -> None:
    desk = await new_desk(empty, empty_db)
    operator_id, _ = await new_operator(empty_db, password_hash=None)

    answer = await desk.post(f"{OPERATORS}/{operator_id}/disable")

    assert answer.status_code == 303
    assert await desk.is_signed_in()


async def test_an_operator_that_is_not_there_is_not_found(desk: Desk) -> None:
    for path in ("01890000-0000-7000-8000-000000000000", "nonsense"):
        assert (await desk.post(f"{OPERATORS}/{path}/disable")).status_code == 404
        assert (await desk.post(f"{OPERATORS}/{path}/enable")).status_code == 404


async def test_the_menu_names_the_section_one_is_in_and_the_mailbox_while_it_is_on(desk: Desk) -> None:
    page = (await desk.get(OPERATORS)).text

    current = re.findall(r'<a href="([^"]+)" aria-current="page"', page)
    assert set(current) == {OPERATORS}
    assert 'href="/mailbox"' in page
