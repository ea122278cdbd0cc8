"""The authenticator: asked for where it is set up, each code once."""

import asyncio
import html
import re
from typing import Any

import httpx
import pyotp
import pytest

from shop.base.secrets import secret_hash
from tests.admin.dashboard import (
    PASSWORD,
    SAME_ORIGIN,
    Desk,
    age,
    code,
    events,
    new_desk,
    new_operator,
    secret_of,
    sign_in,
    ticket_of,
    waiting,
)


async def give(http: httpx.AsyncClient, ticket: str, code_text: str) -> httpx.Response:
    return await http.post("/admin/sign-in/code", data={"ticket": ticket, "code": code_text}, headers=SAME_ORIGIN)


@pytest.mark.security("D-02")
async def test_without_the_code_there_is_no_entry(http: httpx.AsyncClient, db: Any) -> None:
    operator_id, email = await new_operator(db, totp=True)
    ticket = await ticket_of(http, email)

    for code_text in ("", "000000", "12345", "abcdef", "١٢٣٤٥٦", code(-9)):
        assert (await give(http, ticket, code_text)).status_code == 401

    assert await db.fetchval("select count(*) from operator_sessions where operator_id = $1", operator_id) == 0
    assert await events(db, actor=operator_id) == [("sign_in", "refused")] * 6


async def test_password_and_code_open_a_session(http: httpx.AsyncClient, db: Any) -> None:
    operator_id, email = await new_operator(db, totp=True)

    answer = await give(http, await ticket_of(http, email), f"{code()[:3]} {code()[3:]}")

    assert (answer.status_code, answer.headers["location"]) == (303, "/admin")
    assert await Desk(http, operator_id, email, secret_of(answer)).is_signed_in()


@pytest.mark.security("D-02")
async def test_a_code_counts_once(http: httpx.AsyncClient, db: Any) -> None:
    _, email = await new_operator(db, totp=True)
    used_code = code()
    assert (await give(http, await ticket_of(http, email), used_code)).status_code == 303

    assert (await give(http, await ticket_of(http, email), used_code)).status_code == 401
    assert (await give(http, await ticket_of(http, email), code(-1))).status_code == 401
    assert (await give(http, await ticket_of(http, email), code(1))).status_code == 303


async def test_a_code_does_not_bring_back_an_authenticator_that_was_removed_meanwhile(
    http: httpx.AsyncClient, db: Any
) -> None:
    operator_id, email = await new_operator(db, totp=True)
    ticket = await ticket_of(http, email)

    async with db.transaction():
        await db.execute("update operators set totp_sealed = null, totp_step = 0 where id = $1", operator_id)
        entering = asyncio.create_task(give(http, ticket, code()))
        await waiting(db, 1)

    assert (await entering).status_code == 401
    assert await db.fetchval("select totp_sealed from operators where id = $1", operator_id) is None


@pytest.mark.security("D-02")
async def test_of_three_who_bring_the_same_code_at_once_one_comes_in(http: httpx.AsyncClient, db: Any) -> None:
    operator_id, email = await new_operator(db, totp=True)
    ticket, code_text = await ticket_of(http, email), code()

    async with db.transaction():
        # Held here, so that all three have found the code unused before the first can use it.
        await db.execute("select from operators where id = $1 for update", operator_id)
        three = [asyncio.create_task(give(http, ticket, code_text)) for _ in range(3)]
        await waiting(db, 3)

    assert sorted([(await one).status_code for one in three]) == [303, 401, 401]
    assert await db.fetchval("select count(*) from operator_sessions where operator_id = $1", operator_id) == 1


async def test_a_ticket_is_worth_nothing_when_it_is_forged_or_of_an_old_password(
    http: httpx.AsyncClient, db: Any
) -> None:
    operator_id, email = await new_operator(db, totp=True)
    _, other = await new_operator(db, totp=True)
    ticket, others = await ticket_of(http, email), await ticket_of(http, other)
    key, owner, moment, proof = ticket.split(".")
    forgeries = [
        f"{key}.{owner}.{moment}.{others.split('.')[3]}",
        f"{key}.{others.split('.')[1]}.{moment}.{proof}",
        f"{key}.{owner}.{int(moment) + 1}.{proof}",
        f"nokey.{owner}.{moment}.{proof}",
        "",
        "nonsense",
    ]

    for value in forgeries:
        assert "The sign-in has expired; sign in again." in (await give(http, value, code())).text
    await db.execute("update operators set password_hash = password_hash || 'x' where id = $1", operator_id)

    assert (await give(http, ticket, code())).status_code == 401


async def test_an_authenticator_is_set_up_with_a_code_of_it_and_its_secret_is_kept_sealed(desk: Desk, db: Any) -> None:
    page = await desk.get("/admin/account/authenticator")
    text = re.search(r'id="totp-secret"[^>]*>([A-Z2-7 ]+)<', page.text)
    match = re.search(r'name="sealed" value="([0-9a-f]+)"', page.text)
    assert text
    assert match
    generator = pyotp.TOTP(text[1].replace(" ", ""))

    wrong = await desk.post("/admin/account/authenticator", sealed=match[1], code="000000")
    right = await desk.post("/admin/account/authenticator", sealed=match[1], code=generator.now())

    assert wrong.status_code == 422
    assert text[1] in wrong.text
    assert right.status_code == 200
    sealed_secret = await db.fetchval("select totp_sealed from operators where id = $1", desk.id)
    assert text[1].replace(" ", "").encode() not in sealed_secret
    assert generator.byte_secret() not in sealed_secret
    assert re.search(r'name="ticket"', (await sign_in(desk.http, desk.email)).text)
    assert await events(db, actor=desk.id) == [("totp_enrolled", "done")]


async def test_the_drawing_carries_no_style_and_the_address_of_the_operator(desk: Desk) -> None:
    page = html.unescape((await desk.get("/admin/account/authenticator")).text)

    assert "<svg" in page
    assert not re.search(r"\sstyle=", page)


async def test_a_secret_offered_to_one_operator_is_of_no_use_to_another(desk: Desk, another_desk: Desk) -> None:
    page = await desk.get("/admin/account/authenticator")
    match = re.search(r'name="sealed" value="([0-9a-f]+)"', page.text)
    assert match

    for value in (match[1], "zz", "", "00"):
        answer = await another_desk.post("/admin/account/authenticator", sealed=value, code="123456")
        assert answer.status_code == 409


async def test_an_authenticator_is_removed_only_with_a_fresh_password(http: httpx.AsyncClient, db: Any) -> None:
    desk = await new_desk(http, db, totp=True)
    await age(db, desk, "authenticated_at", "11 minutes")

    stale = await desk.post("/admin/account/authenticator/remove")
    sealed_secret = await db.fetchval("select totp_sealed from operators where id = $1", desk.id)
    confirmation = await desk.post("/admin/confirm", password=PASSWORD, code=code(), next="/admin/account")
    desk.secret = secret_of(confirmation)
    fresh = await desk.post("/admin/account/authenticator/remove", current_code=code(1))

    assert stale.headers["location"].startswith("/admin/confirm")
    assert sealed_secret is not None
    assert fresh.headers["location"] == "/admin/account?done=removed"
    assert await db.fetchval("select totp_sealed from operators where id = $1", desk.id) is None


async def test_confirming_asks_for_the_code_too_and_uses_it_up(http: httpx.AsyncClient, db: Any) -> None:
    desk = await new_desk(http, db, totp=True)
    code_text = code()

    without = await desk.post("/admin/confirm", password=PASSWORD)
    right = await desk.post("/admin/confirm", password=PASSWORD, code=code_text)
    desk.secret = secret_of(right)
    again = await desk.post("/admin/confirm", password=PASSWORD, code=code_text)

    assert (without.status_code, right.status_code, again.status_code) == (401, 303, 401)
    assert await db.fetchval("select hash from operator_sessions where operator_id = $1", desk.id) == secret_hash(
        desk.secret
    )
