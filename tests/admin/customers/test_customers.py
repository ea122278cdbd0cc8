"""Customers: find and show them, end their sessions, disable them."""

import html
import re
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.accounts import Member, ask_for_code, refresh, sign_in
from tests.admin.dashboard import Dashboard, events

CUSTOMERS = "/admin/customers"
XSS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'-alert(1)-'",
    "</title><svg/onload=alert(1)>",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:alert(1)",
]


async def test_a_customer_is_found_by_prefix_of_e_mail_or_name(dashboard: Dashboard, http: httpx2.AsyncClient) -> None:
    word = f"q{uuid4().hex[:10]}"
    member = await sign_in(http, f"{word}@shoppers.example", first_name=f"F{word}", last_name=f"L{word} Long")

    for text in (word, f"{word}@shoppers.example".upper(), f"f{word}", f"L{word}", f"f{word} l{word}"):
        page = await dashboard.http.get(CUSTOMERS, params={"q": text}, headers=dashboard.cookie)
        assert re.findall(r'class="through" href="([^"]+)"', page.text) == [f"{CUSTOMERS}/{await member.id()}"], text
    for text in (f"z{word}", "%", "_", "%%%", word[1:]):
        page = await dashboard.http.get(CUSTOMERS, params={"q": text}, headers=dashboard.cookie)
        assert "No customers found" in page.text, text


async def test_a_customer_page_shows_details_sessions_and_carts(dashboard: Dashboard, http: httpx2.AsyncClient) -> None:
    member = await sign_in(http, first_name="Ada", last_name="Lovelace")
    cart = (await member.post("/cart"))["number"]

    page = (await dashboard.get(f"{CUSTOMERS}/{await member.id()}")).text

    for text in (member.email, "Ada Lovelace", cart, "End all", "Block", "127.0.0.1"):
        assert text in page


@pytest.mark.security("T-10")
async def test_ending_a_session_ends_only_that_session(dashboard: Dashboard, http: httpx2.AsyncClient, db: Any) -> None:
    member = await sign_in(http)
    other = await sign_in(http, member.email)
    user_id = await member.id()
    newest = await db.fetchval("select id from sessions where user_id = $1 order by created_at desc limit 1", user_id)

    answer = await dashboard.post(f"{CUSTOMERS}/{user_id}/sessions/{newest}/end")

    assert answer.headers["location"] == f"{CUSTOMERS}/{user_id}?done=ended"
    assert (await member.is_signed_in(), await other.is_signed_in()) == (True, False)
    assert ("session_end", "done") in await events(db, actor=dashboard.id, subject=user_id)


async def test_a_session_of_another_customer_is_404(dashboard: Dashboard, http: httpx2.AsyncClient, db: Any) -> None:
    member, other = await sign_in(http), await sign_in(http)
    session_id = await db.fetchval("select id from sessions where user_id = $1", await other.id())

    answer = await dashboard.post(f"{CUSTOMERS}/{await member.id()}/sessions/{session_id}/end")

    assert answer.status_code == 404
    assert await other.is_signed_in()


@pytest.mark.security("T-10")
async def test_ending_all_sessions_ends_every_session_of_the_customer(
    dashboard: Dashboard, http: httpx2.AsyncClient, db: Any
) -> None:
    member = await sign_in(http)
    other = await sign_in(http, member.email)
    user_id = await member.id()

    await dashboard.post(f"{CUSTOMERS}/{user_id}/sessions/end")

    assert (await member.is_signed_in(), await other.is_signed_in()) == (False, False)
    assert (await refresh(http, member.email, member.refresh_token)).status == 401
    assert ("sessions_end", "done") in await events(db, actor=dashboard.id, subject=user_id)


@pytest.mark.security("T-10")
async def test_disabling_a_customer_ends_all_tokens_and_sends_no_login_code(
    dashboard: Dashboard, http: httpx2.AsyncClient, db: Any
) -> None:
    member = await sign_in(http)
    user_id = await member.id()

    await dashboard.post(f"{CUSTOMERS}/{user_id}/disable")

    assert not await member.is_signed_in()
    await ask_for_code(http, member.email)
    mails = (await http.get("/mailbox.json", params={"to": member.email})).json()
    assert len(mails) == 1
    await dashboard.post(f"{CUSTOMERS}/{user_id}/enable")
    assert not await member.is_signed_in()
    assert await _can_sign_in(http, member)
    audit_events = await events(db, actor=dashboard.id, subject=user_id)
    assert audit_events == [("user_disabled", "done"), ("user_enabled", "done")]


async def _can_sign_in(http: httpx2.AsyncClient, member: Member) -> bool:
    return await (await sign_in(http, member.email)).is_signed_in()


async def test_the_timeline_of_a_customer_shows_operator_actions(
    dashboard: Dashboard, http: httpx2.AsyncClient
) -> None:
    user_id = await (await sign_in(http)).id()

    await dashboard.post(f"{CUSTOMERS}/{user_id}/disable")

    page = (await dashboard.get(f"{CUSTOMERS}/{user_id}")).text
    assert f"{dashboard.email}</a></b> disabled the account" in page


@pytest.mark.security("D-05")
@pytest.mark.parametrize("name", XSS)
async def test_names_are_escaped(dashboard: Dashboard, http: httpx2.AsyncClient, db: Any, name: str) -> None:
    member = await sign_in(http, first_name=name)
    user_id = await member.id()
    await db.execute("update sessions set user_agent = $2 where user_id = $1", user_id, name)

    pages = [
        (await dashboard.get(f"{CUSTOMERS}/{user_id}")).text,
        (await dashboard.http.get(CUSTOMERS, params={"q": member.email}, headers=dashboard.cookie)).text,
        (await dashboard.http.get(CUSTOMERS, params={"q": name}, headers=dashboard.cookie)).text,
        (await dashboard.http.get("/admin/orders", params={"q": name, "since": name}, headers=dashboard.cookie)).text,
    ]

    for page in pages:
        assert not re.search(r"<script>|<img src=x|<svg/onload", page)
    assert html.escape(name) in html.escape(html.unescape(pages[0]))


async def test_customers_are_paged_by_keyset(dashboard: Dashboard, db: Any) -> None:
    word = f"p{uuid4().hex[:8]}"
    await db.execute(
        """insert into users (id, email, email_key, created_at, updated_at)
        select gen_random_uuid(), k, k, now() - n * interval '1 second', now()
        from (select n, $1 || lpad(n::text, 3, '0') || '@pages.example' as k from generate_series(1, 60) n) emails""",
        word,
    )

    async def read(path: str) -> tuple[list[str], dict[str, str]]:
        page = (await dashboard.get(path)).text.replace("&amp;", "&")
        rows = re.findall(rf">{word}([0-9]+)@", page)
        return rows, {rel: url for url, rel in re.findall(r'href="([^"]+)" rel="(\w+)"', page)}

    first, first_links = await read(f"{CUSTOMERS}?q={word}")
    second, second_links = await read(first_links["next"])
    third, third_links = await read(second_links["next"])
    back, _ = await read(third_links["prev"])
    start, start_links = await read(second_links["prev"])

    numbers = [f"{number:03}" for number in range(1, 61)]
    assert (first, second, third) == (numbers[:25], numbers[25:50], numbers[50:])
    assert (back, start) == (second, first)
    assert ("prev" in first_links, "next" in third_links, "prev" in start_links) == (False, False, False)
