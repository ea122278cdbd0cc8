"""How often a password may be tried: for each operator, and from each source."""

import asyncio
import itertools
from typing import Any

import httpx
import pytest

from tests.admin.desk import PASSWORD, SAME_ORIGIN, Desk, code, new_operator, new_session, sign_in

ALLOWED = 3
_numbers = itertools.count()


def new_source() -> dict[str, str]:
    """As the proxy tells it: nobody who was here before."""
    return {"X-Forwarded-For": f"198.18.7.{next(_numbers) + 1}"}


async def limits_audited(db: Any, answers: list[httpx.Response]) -> list[str]:
    ids = [answer.headers["x-request-id"] for answer in answers]
    rows = await db.fetch(
        "select detail->>'limit' as name from audit_events where action = 'limit' and request_id = any($1)", ids
    )
    return [row["name"] for row in rows]


async def test_an_operator_may_be_tried_so_often_and_then_not_even_rightly(
    empty: httpx.AsyncClient, empty_db: Any
) -> None:
    _, email = await new_operator(empty_db)

    answers = [await sign_in(empty, email, "wrong password, sorry", **new_source()) for _ in range(ALLOWED)]
    answers += [await sign_in(empty, email, PASSWORD, **new_source()) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [401] * ALLOWED + [429] * 3
    assert "Too many tries" in answers[-1].text
    assert int(answers[-1].headers["retry-after"]) > 0
    assert answers[-1].headers["content-type"] == "text/html; charset=utf-8"
    assert await limits_audited(empty_db, answers) == ["sign-ins by operator"]


@pytest.mark.torture
async def test_an_unknown_operator_is_limited_alike(empty: httpx.AsyncClient, empty_db: Any) -> None:
    answers = [await sign_in(empty, "nobody@operators.example", **new_source()) for _ in range(ALLOWED + 1)]

    assert [answer.status_code for answer in answers] == [401] * ALLOWED + [429]


@pytest.mark.security("D-02")
async def test_a_source_may_try_so_often_whoever_it_tries(empty: httpx.AsyncClient, empty_db: Any) -> None:
    source = new_source()
    emails = [(await new_operator(empty_db))[1] for _ in range(ALLOWED + 1)]

    answers = [await sign_in(empty, email, "wrong password, sorry", **source) for email in emails]
    elsewhere = await sign_in(empty, emails[-1], PASSWORD, **new_source())

    assert [answer.status_code for answer in answers] == [401] * ALLOWED + [429]
    assert elsewhere.status_code == 303
    assert await limits_audited(empty_db, answers) == ["sign-ins by source"]


async def test_tries_at_once_are_all_counted(empty: httpx.AsyncClient, empty_db: Any) -> None:
    _, email = await new_operator(empty_db)

    answers = await asyncio.gather(*(sign_in(empty, email, "wrong password, sorry", **new_source()) for _ in range(8)))

    assert sorted(answer.status_code for answer in answers) == [401] * ALLOWED + [429] * 5


async def test_guesses_at_the_code_and_at_the_confirmation_count_too(empty: httpx.AsyncClient, empty_db: Any) -> None:
    operator_id, email = await new_operator(empty_db, totp=True)
    page = await sign_in(empty, email, **new_source())
    ticket = page.text.partition('name="ticket" value="')[2].partition('"')[0]
    guess = {"ticket": ticket, "code": code(7)}

    headers = {**SAME_ORIGIN, **new_source()}
    guesses = [await empty.post("/admin/sign-in/code", data=guess, headers=headers) for _ in range(ALLOWED)]
    desk = Desk(empty, operator_id, email, await new_session(empty_db, operator_id))
    confirmed = await desk.post("/admin/confirm", headers=new_source(), password=PASSWORD, code=code())

    assert [answer.status_code for answer in guesses] == [401, 401, 429]
    assert confirmed.status_code == 429
    assert await desk.is_signed_in()
