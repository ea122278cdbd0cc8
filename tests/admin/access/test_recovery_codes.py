"""Recovery codes, and replacing or removing an authenticator, which needs the second factor."""

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
    code,
    events,
    new_dashboard,
    new_operator,
    new_recovery_code,
    new_session,
    secret_of,
    ticket_of,
)
from tests.concurrency import wait_for_locks

AUTHENTICATOR, REMOVE, CODES = (
    "/admin/account/authenticator",
    "/admin/account/authenticator/remove",
    "/admin/account/recovery-codes",
)
CODE = re.compile(r"\b[0-9A-HJKMNP-TV-Z]{4}(?:-[0-9A-HJKMNP-TV-Z]{4}){5}\b")


async def submit_code(http: httpx2.AsyncClient, ticket: str, **fields: str) -> httpx2.Response:
    return await http.post("/admin/sign-in/code", data={"ticket": ticket, **fields}, headers=SAME_ORIGIN)


async def enrol(dashboard: Dashboard, **fields: str) -> httpx2.Response:
    """Sets up a new authenticator and confirms it with its code."""
    page = (await dashboard.get(AUTHENTICATOR)).text
    secret_match = re.search(r'id="totp-secret"[^>]*>([A-Z2-7 ]+)<', page)
    sealed_match = re.search(r'name="sealed" value="([0-9a-f]+)"', page)
    assert secret_match
    assert sealed_match
    new_code = pyotp.TOTP(secret_match[1].replace(" ", "")).now()
    return await dashboard.post(AUTHENTICATOR, sealed=sealed_match[1], code=new_code, **fields)


async def mail_subjects(dashboard: Dashboard) -> list[str]:
    """The subjects of the e-mails to this operator, newest first."""
    mails = (await dashboard.http.get("/mailbox.json", params={"to": dashboard.email})).json()
    return [mail["subject"].removesuffix(" (Tested)") for mail in mails]


async def other_session(dashboard: Dashboard, db: Any) -> Dashboard:
    return Dashboard(dashboard.http, dashboard.id, dashboard.email, await new_session(db, dashboard.id))


@pytest.mark.security("D-02", "D-08")
async def test_setting_up_an_authenticator_creates_ten_codes_stored_as_hashes(dashboard: Dashboard, db: Any) -> None:
    other = await other_session(dashboard, db)

    response = await enrol(dashboard)

    codes = CODE.findall(response.text)
    assert (response.status_code, len(codes), len(set(codes))) == (200, 10, 10)
    assert response.headers["cache-control"] == "no-store"
    rows = await db.fetch("select hash, used_at from operator_recovery_codes where operator_id = $1", dashboard.id)
    assert {row["hash"] for row in rows} == {secret_hash(each) for each in codes}
    assert "10 of 10" in (await dashboard.get("/admin/account")).text
    assert not CODE.search((await dashboard.get(CODES)).text)
    assert (await dashboard.is_signed_in(), await other.is_signed_in()) == (True, False)
    assert await mail_subjects(dashboard) == ["An authenticator was set up"]


@pytest.mark.security("D-02", "D-08", "A-02")
async def test_a_recovery_code_replaces_the_authenticator_code_once(http: httpx2.AsyncClient, db: Any) -> None:
    dashboard = await new_dashboard(http, db, totp=True)
    recovery_code = await new_recovery_code(db, dashboard.id)

    first = await submit_code(
        http, await ticket_of(http, dashboard.email), recovery_code=recovery_code.lower().replace("-", " ")
    )
    again = await submit_code(http, await ticket_of(http, dashboard.email), recovery_code=recovery_code)

    assert (first.status_code, again.status_code) == (303, 401)
    assert await Dashboard(http, dashboard.id, dashboard.email, secret_of(first)).is_signed_in()
    assert await events(db, actor=dashboard.id) == [
        ("recovery_code_used", "done"),
        ("sign_in", "done"),
        ("sign_in", "refused"),
    ]
    (mail,) = (await http.get("/mailbox.json", params={"to": dashboard.email})).json()
    assert mail["subject"] == "A recovery code was used (Tested)"
    assert "Codes left: 0." in mail["text"]
    assert "127.0.0.1" in html.unescape(mail["html"])


async def test_of_three_concurrent_uses_of_a_recovery_code_one_succeeds(http: httpx2.AsyncClient, db: Any) -> None:
    operator_id, email = await new_operator(db, totp=True)
    recovery_code, ticket = await new_recovery_code(db, operator_id), await ticket_of(http, email)

    async with db.transaction():
        await db.execute("select from operator_recovery_codes where operator_id = $1 for update", operator_id)
        tasks = [asyncio.create_task(submit_code(http, ticket, recovery_code=recovery_code)) for _ in range(3)]
        await wait_for_locks(db, 3)

    assert sorted([(await task).status_code for task in tasks]) == [303, 401, 401]


async def test_a_recovery_code_of_another_operator_is_refused(http: httpx2.AsyncClient, db: Any) -> None:
    operator_id, _ = await new_operator(db, totp=True)
    _, email = await new_operator(db, totp=True)

    answer = await submit_code(
        http, await ticket_of(http, email), recovery_code=await new_recovery_code(db, operator_id)
    )

    assert answer.status_code == 401


async def test_a_recovery_code_is_accepted_for_confirmation(http: httpx2.AsyncClient, db: Any) -> None:
    dashboard = await new_dashboard(http, db, totp=True)

    answer = await dashboard.post(
        "/admin/confirm", password=PASSWORD, recovery_code=await new_recovery_code(db, dashboard.id)
    )

    assert answer.status_code == 303


@pytest.mark.security("D-06", "D-08")
@pytest.mark.parametrize("path", [AUTHENTICATOR, REMOVE, CODES])
@pytest.mark.parametrize("code_text", ["", "000000", "2222-2222-2222-2222-2222-2222"])
async def test_changing_the_second_factor_needs_a_valid_code(
    http: httpx2.AsyncClient, db: Any, path: str, code_text: str
) -> None:
    dashboard = await new_dashboard(http, db, totp=True)
    other, before = await other_session(dashboard, db), await _second_factor(db, dashboard)

    answer = await (
        enrol(dashboard, current_code=code_text)
        if path == AUTHENTICATOR
        else dashboard.post(path, current_code=code_text)
    )

    assert answer.status_code == 422
    assert "Enter the newest code of your app, or an unused recovery code." in html.unescape(answer.text)
    assert await _second_factor(db, dashboard) == before
    assert await other.is_signed_in()
    assert await events(db, actor=dashboard.id) == [("second_factor", "refused")]


@pytest.mark.security("D-08")
@pytest.mark.parametrize("factor", ["code", "recovery code"])
async def test_replacing_an_authenticator_needs_the_current_second_factor(
    http: httpx2.AsyncClient, db: Any, factor: str
) -> None:
    dashboard = await new_dashboard(http, db, totp=True)
    other, old = await other_session(dashboard, db), await new_recovery_code(db, dashboard.id)
    current = {"recovery_code": await new_recovery_code(db, dashboard.id)} if factor == "recovery code" else {}

    response = await enrol(dashboard, **(current or {"current_code": code()}))

    assert (response.status_code, len(CODE.findall(response.text))) == (200, 10)
    assert (await dashboard.is_signed_in(), await other.is_signed_in()) == (True, False)
    assert (await submit_code(http, await ticket_of(http, dashboard.email), code=code(1))).status_code == 401
    assert (await submit_code(http, await ticket_of(http, dashboard.email), recovery_code=old)).status_code == 401
    assert (await mail_subjects(dashboard))[0] == "Your authenticator was replaced"
    assert ("totp_replaced", "done") in await events(db, actor=dashboard.id)


@pytest.mark.security("D-08")
async def test_removing_an_authenticator_needs_the_current_second_factor(http: httpx2.AsyncClient, db: Any) -> None:
    dashboard = await new_dashboard(http, db, totp=True)
    other = await other_session(dashboard, db)
    await new_recovery_code(db, dashboard.id)

    answer = await dashboard.post(REMOVE, current_code=code())

    assert answer.headers["location"] == "/admin/account?done=removed"
    assert await _second_factor(db, dashboard) == (None, 0)
    assert (await dashboard.is_signed_in(), await other.is_signed_in()) == (True, False)
    assert await mail_subjects(dashboard) == ["Your authenticator was removed"]


async def test_new_recovery_codes_replace_the_old_ones(http: httpx2.AsyncClient, db: Any) -> None:
    dashboard = await new_dashboard(http, db, totp=True)
    old = await new_recovery_code(db, dashboard.id)

    response = await dashboard.post(CODES, current_code=code())

    codes = CODE.findall(response.text)
    assert len(codes) == 10
    assert (await submit_code(http, await ticket_of(http, dashboard.email), recovery_code=old)).status_code == 401
    assert (await submit_code(http, await ticket_of(http, dashboard.email), recovery_code=codes[9])).status_code == 303
    assert "9 of 10" in (await dashboard.get("/admin/account")).text
    assert await mail_subjects(dashboard) == ["A recovery code was used", "You have new recovery codes"]


async def test_a_concurrently_added_authenticator_is_not_replaced_without_its_code(
    dashboard: Dashboard, db: Any
) -> None:
    async with db.transaction():
        await db.execute("select from operators where id = $1 for update", dashboard.id)
        await db.execute("update operators set totp_sealed = 'another' where id = $1", dashboard.id)
        task = asyncio.create_task(enrol(dashboard))
        await wait_for_locks(db, 1)

    assert (await task).status_code == 409
    assert await db.fetchval("select totp_sealed from operators where id = $1", dashboard.id) == b"another"


async def _second_factor(db: Any, dashboard: Dashboard) -> tuple[bytes | None, int]:
    sealed_secret = await db.fetchval("select totp_sealed from operators where id = $1", dashboard.id)
    codes = await db.fetchval("select count(*) from operator_recovery_codes where operator_id = $1", dashboard.id)
    return sealed_secret, codes
