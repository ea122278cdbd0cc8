"""Recovery codes, and replacing or removing an authenticator: never without the second factor."""

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
    code,
    events,
    new_desk,
    new_operator,
    new_recovery_code,
    new_session,
    secret_of,
    ticket_of,
    waiting,
)

AUTHENTICATOR, REMOVE, CODES = (
    "/admin/account/authenticator",
    "/admin/account/authenticator/remove",
    "/admin/account/recovery-codes",
)
CODE = re.compile(r"\b[0-9A-HJKMNP-TV-Z]{4}(?:-[0-9A-HJKMNP-TV-Z]{4}){5}\b")


async def give(http: httpx.AsyncClient, ticket: str, **fields: str) -> httpx.Response:
    return await http.post("/admin/sign-in/code", data={"ticket": ticket, **fields}, headers=SAME_ORIGIN)


async def enrol(desk: Desk, **fields: str) -> httpx.Response:
    """Sets up another authenticator, with a code of it."""
    page = (await desk.get(AUTHENTICATOR)).text
    text = re.search(r'id="totp-secret"[^>]*>([A-Z2-7 ]+)<', page)
    match = re.search(r'name="sealed" value="([0-9a-f]+)"', page)
    assert text
    assert match
    now = pyotp.TOTP(text[1].replace(" ", "")).now()
    return await desk.post(AUTHENTICATOR, sealed=match[1], code=now, **fields)


async def notices(desk: Desk) -> list[str]:
    """Subjects of the mails to this operator, newest first."""
    mails = (await desk.http.get("/mailbox.json", params={"to": desk.email})).json()
    return [mail["subject"].removesuffix(" (Tested)") for mail in mails]


async def other_session(desk: Desk, db: Any) -> Desk:
    return Desk(desk.http, desk.id, desk.email, await new_session(db, desk.id))


@pytest.mark.security("D-02", "D-08")
async def test_ten_codes_come_with_the_authenticator_and_only_their_hashes_are_stored(desk: Desk, db: Any) -> None:
    other = await other_session(desk, db)

    response = await enrol(desk)

    codes = CODE.findall(response.text)
    assert (response.status_code, len(codes), len(set(codes))) == (200, 10, 10)
    assert response.headers["cache-control"] == "no-store"
    rows = await db.fetch("select hash, used_at from operator_recovery_codes where operator_id = $1", desk.id)
    assert {row["hash"] for row in rows} == {secret_hash(each) for each in codes}
    assert "10 of 10" in (await desk.get("/admin/account")).text
    assert not CODE.search((await desk.get(CODES)).text)
    assert (await desk.is_signed_in(), await other.is_signed_in()) == (True, False)
    assert await notices(desk) == ["An authenticator was set up"]


@pytest.mark.security("D-02", "D-08", "A-02")
async def test_a_recovery_code_signs_in_once_in_place_of_the_authenticators(http: httpx.AsyncClient, db: Any) -> None:
    desk = await new_desk(http, db, totp=True)
    recovery_code = await new_recovery_code(db, desk.id)

    first = await give(http, await ticket_of(http, desk.email), recovery_code=recovery_code.lower().replace("-", " "))
    again = await give(http, await ticket_of(http, desk.email), recovery_code=recovery_code)

    assert (first.status_code, again.status_code) == (303, 401)
    assert await Desk(http, desk.id, desk.email, secret_of(first)).is_signed_in()
    assert await events(db, actor=desk.id) == [
        ("recovery_code_used", "done"),
        ("sign_in", "done"),
        ("sign_in", "refused"),
    ]
    (mail,) = (await http.get("/mailbox.json", params={"to": desk.email})).json()
    assert mail["subject"] == "A recovery code was used (Tested)"
    assert "Codes left: 0." in mail["text"]
    assert "127.0.0.1" in html.unescape(mail["html"])


async def test_of_three_who_bring_the_same_recovery_code_at_once_one_comes_in(http: httpx.AsyncClient, db: Any) -> None:
    operator_id, email = await new_operator(db, totp=True)
    recovery_code, ticket = await new_recovery_code(db, operator_id), await ticket_of(http, email)

    async with db.transaction():
        await db.execute("select from operator_recovery_codes where operator_id = $1 for update", operator_id)
        three = [asyncio.create_task(give(http, ticket, recovery_code=recovery_code)) for _ in range(3)]
        await waiting(db, 3)

    assert sorted([(await one).status_code for one in three]) == [303, 401, 401]


async def test_another_operators_recovery_code_is_worth_nothing(http: httpx.AsyncClient, db: Any) -> None:
    operator_id, _ = await new_operator(db, totp=True)
    _, email = await new_operator(db, totp=True)

    answer = await give(http, await ticket_of(http, email), recovery_code=await new_recovery_code(db, operator_id))

    assert answer.status_code == 401


async def test_a_recovery_code_confirms_too(http: httpx.AsyncClient, db: Any) -> None:
    desk = await new_desk(http, db, totp=True)

    answer = await desk.post("/admin/confirm", password=PASSWORD, recovery_code=await new_recovery_code(db, desk.id))

    assert answer.status_code == 303


@pytest.mark.security("D-06", "D-08")
@pytest.mark.parametrize("path", [AUTHENTICATOR, REMOVE, CODES])
@pytest.mark.parametrize("typed", ["", "000000", "2222-2222-2222-2222-2222-2222"])
async def test_a_fresh_session_alone_changes_no_second_factor(
    http: httpx.AsyncClient, db: Any, path: str, typed: str
) -> None:
    desk = await new_desk(http, db, totp=True)
    other, before = await other_session(desk, db), await _second_factor(db, desk)

    answer = await (enrol(desk, current_code=typed) if path == AUTHENTICATOR else desk.post(path, current_code=typed))

    assert answer.status_code == 422
    assert "is not the current code of your authenticator or an unused recovery code" in html.unescape(answer.text)
    assert await _second_factor(db, desk) == before
    assert await other.is_signed_in()
    assert await events(db, actor=desk.id) == [("second_factor", "refused")]


@pytest.mark.security("D-08")
@pytest.mark.parametrize("by", ["code", "recovery code"])
async def test_an_authenticator_is_replaced_with_the_present_second_factor(
    http: httpx.AsyncClient, db: Any, by: str
) -> None:
    desk = await new_desk(http, db, totp=True)
    other, old = await other_session(desk, db), await new_recovery_code(db, desk.id)
    current = {"recovery_code": await new_recovery_code(db, desk.id)} if by == "recovery code" else {}

    response = await enrol(desk, **(current or {"current_code": code()}))

    assert (response.status_code, len(CODE.findall(response.text))) == (200, 10)
    assert (await desk.is_signed_in(), await other.is_signed_in()) == (True, False)
    assert (await give(http, await ticket_of(http, desk.email), code=code(1))).status_code == 401
    assert (await give(http, await ticket_of(http, desk.email), recovery_code=old)).status_code == 401
    assert (await notices(desk))[0] == "Your authenticator was replaced"
    assert ("totp_replaced", "done") in await events(db, actor=desk.id)


@pytest.mark.security("D-08")
async def test_an_authenticator_is_removed_with_the_present_second_factor(http: httpx.AsyncClient, db: Any) -> None:
    desk = await new_desk(http, db, totp=True)
    other = await other_session(desk, db)
    await new_recovery_code(db, desk.id)

    answer = await desk.post(REMOVE, current_code=code())

    assert answer.headers["location"] == "/admin/account?done=removed"
    assert await _second_factor(db, desk) == (None, 0)
    assert (await desk.is_signed_in(), await other.is_signed_in()) == (True, False)
    assert await notices(desk) == ["Your authenticator was removed"]


async def test_new_recovery_codes_end_the_old_ones(http: httpx.AsyncClient, db: Any) -> None:
    desk = await new_desk(http, db, totp=True)
    old = await new_recovery_code(db, desk.id)

    response = await desk.post(CODES, current_code=code())

    codes = CODE.findall(response.text)
    assert len(codes) == 10
    assert (await give(http, await ticket_of(http, desk.email), recovery_code=old)).status_code == 401
    assert (await give(http, await ticket_of(http, desk.email), recovery_code=codes[9])).status_code == 303
    assert "9 of 10" in (await desk.get("/admin/account")).text
    assert await notices(desk) == ["A recovery code was used", "You have new recovery codes"]


async def test_an_authenticator_that_appeared_meanwhile_is_not_replaced_without_its_code(desk: Desk, db: Any) -> None:
    async with db.transaction():
        await db.execute("select from operators where id = $1 for update", desk.id)
        await db.execute("update operators set totp_sealed = 'another' where id = $1", desk.id)
        enrolling = asyncio.create_task(enrol(desk))
        await waiting(db, 1)

    assert (await enrolling).status_code == 409
    assert await db.fetchval("select totp_sealed from operators where id = $1", desk.id) == b"another"


async def _second_factor(db: Any, desk: Desk) -> tuple[bytes | None, int]:
    sealed_secret = await db.fetchval("select totp_sealed from operators where id = $1", desk.id)
    codes = await db.fetchval("select count(*) from operator_recovery_codes where operator_id = $1", desk.id)
    return sealed_secret, codes
