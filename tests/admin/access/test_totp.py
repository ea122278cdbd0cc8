"""The authenticator: an operator who has one needs its code to sign in, and each code works once."""

import asyncio
import html
import re
from typing import Any

import httpx2
import pyotp
import pytest

from shop.base.crypto.secrets import secret_hash
from tests.admin.dashboard import (
    PASSWORD,
    SAME_ORIGIN,
    Dashboard,
    backdate_session,
    code,
    events,
    new_dashboard,
    new_operator,
    secret_of,
    sign_in,
    ticket_of,
)
from tests.concurrency import wait_for_locks


async def submit_code(http: httpx2.AsyncClient, ticket: str, code_text: str) -> httpx2.Response:
    return await http.post("/admin/sign-in/code", data={"ticket": ticket, "code": code_text}, headers=SAME_ORIGIN)


@pytest.mark.security("D-02")
async def test_an_operator_with_an_authenticator_cannot_sign_in_without_its_code(
    http: httpx2.AsyncClient, db: Any
) -> None:
    operator_id, email = await new_operator(db, totp=True)
    ticket = await ticket_of(http, email)

    for code_text in ("", "000000", "12345", "abcdef", "١٢٣٤٥٦", code(-9)):
        assert (await submit_code(http, ticket, code_text)).status_code == 401

    assert await db.fetchval("select count(*) from operator_sessions where operator_id = $1", operator_id) == 0
    assert await events(db, actor=operator_id) == [("sign_in", "refused")] * 6


async def test_password_and_code_create_a_session(http: httpx2.AsyncClient, db: Any) -> None:
    operator_id, email = await new_operator(db, totp=True)

    answer = await submit_code(http, await ticket_of(http, email), f"{code()[:3]} {code()[3:]}")

    assert (answer.status_code, answer.headers["location"]) == (303, "/admin")
    assert await Dashboard(http, operator_id, email, secret_of(answer)).is_signed_in()


@pytest.mark.security("D-02")
async def test_a_code_works_once(http: httpx2.AsyncClient, db: Any) -> None:
    _, email = await new_operator(db, totp=True)
    used_code = code()
    assert (await submit_code(http, await ticket_of(http, email), used_code)).status_code == 303

    assert (await submit_code(http, await ticket_of(http, email), used_code)).status_code == 401
    assert (await submit_code(http, await ticket_of(http, email), code(-1))).status_code == 401
    assert (await submit_code(http, await ticket_of(http, email), code(1))).status_code == 303


async def test_a_code_of_a_concurrently_removed_authenticator_is_refused(http: httpx2.AsyncClient, db: Any) -> None:
    operator_id, email = await new_operator(db, totp=True)
    ticket = await ticket_of(http, email)

    async with db.transaction():
        await db.execute("update operators set totp_sealed = null, totp_step = 0 where id = $1", operator_id)
        task = asyncio.create_task(submit_code(http, ticket, code()))
        await wait_for_locks(db, 1)

    assert (await task).status_code == 401
    assert await db.fetchval("select totp_sealed from operators where id = $1", operator_id) is None


@pytest.mark.security("D-02")
async def test_of_three_concurrent_uses_of_a_code_one_succeeds(http: httpx2.AsyncClient, db: Any) -> None:
    operator_id, email = await new_operator(db, totp=True)
    ticket, code_text = await ticket_of(http, email), code()

    async with db.transaction():
        # The lock makes all three requests find the code unused before any of them uses it.
        await db.execute("select from operators where id = $1 for update", operator_id)
        tasks = [asyncio.create_task(submit_code(http, ticket, code_text)) for _ in range(3)]
        await wait_for_locks(db, 3)

    assert sorted([(await task).status_code for task in tasks]) == [303, 401, 401]
    assert await db.fetchval("select count(*) from operator_sessions where operator_id = $1", operator_id) == 1


async def test_a_ticket_that_is_forged_or_older_than_the_password_is_refused(http: httpx2.AsyncClient, db: Any) -> None:
    operator_id, email = await new_operator(db, totp=True)
    _, other = await new_operator(db, totp=True)
    ticket, other_ticket = await ticket_of(http, email), await ticket_of(http, other)
    key, owner, timestamp, signature = ticket.split(".")
    forgeries = [
        f"{key}.{owner}.{timestamp}.{other_ticket.split('.')[3]}",
        f"{key}.{other_ticket.split('.')[1]}.{timestamp}.{signature}",
        f"{key}.{owner}.{int(timestamp) + 1}.{signature}",
        f"nokey.{owner}.{timestamp}.{signature}",
        "",
        "nonsense",
    ]

    for value in forgeries:
        assert "The sign-in has expired; sign in again." in (await submit_code(http, value, code())).text
    await db.execute("update operators set password_hash = password_hash || 'x' where id = $1", operator_id)

    assert (await submit_code(http, ticket, code())).status_code == 401


async def test_an_authenticator_is_set_up_with_its_code_and_its_secret_is_encrypted(
    dashboard: Dashboard, db: Any
) -> None:
    page = await dashboard.get("/admin/account/authenticator")
    secret_match = re.search(r'id="totp-secret"[^>]*>([A-Z2-7 ]+)<', page.text)
    sealed_match = re.search(r'name="sealed" value="([0-9a-f]+)"', page.text)
    assert secret_match
    assert sealed_match
    generator = pyotp.TOTP(secret_match[1].replace(" ", ""))

    wrong = await dashboard.post("/admin/account/authenticator", sealed=sealed_match[1], code="000000")
    right = await dashboard.post("/admin/account/authenticator", sealed=sealed_match[1], code=generator.now())

    assert wrong.status_code == 422
    assert secret_match[1] in wrong.text
    assert right.status_code == 200
    sealed_secret = await db.fetchval("select totp_sealed from operators where id = $1", dashboard.id)
    assert secret_match[1].replace(" ", "").encode() not in sealed_secret
    assert generator.byte_secret() not in sealed_secret
    assert re.search(r'name="ticket"', (await sign_in(dashboard.http, dashboard.email)).text)
    assert await events(db, actor=dashboard.id) == [("totp_enrolled", "done")]


async def test_the_qr_code_is_an_svg_without_inline_styles(dashboard: Dashboard) -> None:
    page = html.unescape((await dashboard.get("/admin/account/authenticator")).text)

    assert "<svg" in page
    assert not re.search(r"\sstyle=", page)


async def test_the_authenticator_secret_offered_to_another_operator_is_refused(
    dashboard: Dashboard, other_dashboard: Dashboard
) -> None:
    page = await dashboard.get("/admin/account/authenticator")
    match = re.search(r'name="sealed" value="([0-9a-f]+)"', page.text)
    assert match

    for value in (match[1], "zz", "", "00"):
        answer = await other_dashboard.post("/admin/account/authenticator", sealed=value, code="123456")
        assert answer.status_code == 409


async def test_removing_an_authenticator_requires_a_fresh_session(http: httpx2.AsyncClient, db: Any) -> None:
    dashboard = await new_dashboard(http, db, totp=True)
    await backdate_session(db, dashboard, "authenticated_at", "11 minutes")

    stale = await dashboard.post("/admin/account/authenticator/remove")
    sealed_secret = await db.fetchval("select totp_sealed from operators where id = $1", dashboard.id)
    confirmation = await dashboard.post("/admin/confirm", password=PASSWORD, code=code(), next="/admin/account")
    dashboard.secret = secret_of(confirmation)
    fresh = await dashboard.post("/admin/account/authenticator/remove", current_code=code(1))

    assert stale.headers["location"].startswith("/admin/confirm")
    assert sealed_secret is not None
    assert fresh.headers["location"] == "/admin/account?done=removed"
    assert await db.fetchval("select totp_sealed from operators where id = $1", dashboard.id) is None


async def test_confirming_needs_an_unused_code_too(http: httpx2.AsyncClient, db: Any) -> None:
    dashboard = await new_dashboard(http, db, totp=True)
    code_text = code()

    no_code = await dashboard.post("/admin/confirm", password=PASSWORD)
    right = await dashboard.post("/admin/confirm", password=PASSWORD, code=code_text)
    dashboard.secret = secret_of(right)
    again = await dashboard.post("/admin/confirm", password=PASSWORD, code=code_text)

    assert (no_code.status_code, right.status_code, again.status_code) == (401, 303, 401)
    assert await db.fetchval("select hash from operator_sessions where operator_id = $1", dashboard.id) == secret_hash(
        dashboard.secret
    )
