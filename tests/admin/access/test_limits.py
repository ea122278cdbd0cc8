"""How often a password or a code may be tried: by source, by operator and source, by session; not by operator."""

import asyncio
import itertools
from collections import Counter
from typing import Any

import httpx
import pytest
from argon2 import PasswordHasher

from shop.base.passwords import hash_password
from tests.admin.dashboard import (
    PASSWORD,
    SAME_ORIGIN,
    Desk,
    code,
    new_operator,
    new_recovery_code,
    new_session,
    sign_in,
    ticket_of,
)
from tests.http_client import NO_CERTIFICATES
from tests.service import Service

ALLOWED = 3
CODES_ALLOWED = 4
WRONG = "wrong password, sorry"
_numbers = itertools.count()


def new_source() -> dict[str, str]:
    """As the proxy tells it: nobody who was here before."""
    return {"X-Forwarded-For": f"198.18.7.{next(_numbers) + 1}"}


async def limits_audited(db: Any, answers: list[httpx.Response]) -> list[str]:
    ids = [answer.headers["x-request-id"] for answer in answers]
    rows = await db.fetch(
        "select detail->>'limit' as name from audit_events where action = 'limit' and request_id = any($1)", ids
    )
    return sorted(row["name"] for row in rows)


async def give(http: httpx.AsyncClient, ticket: str, code_text: str, **headers: str) -> httpx.Response:
    fields = {"ticket": ticket, "code": code_text}
    return await http.post("/admin/sign-in/code", data=fields, headers={**SAME_ORIGIN, **headers})


@pytest.mark.security("D-02", "D-07")
async def test_the_right_password_from_a_clean_source_succeeds_however_often_others_guessed(
    empty: httpx.AsyncClient, empty_db: Any
) -> None:
    _, email = await new_operator(empty_db)
    attackers = [new_source() for _ in range(3)]
    guesses = [await sign_in(empty, email, WRONG, **source) for source in attackers for _ in range(ALLOWED + 1)]

    owner = await sign_in(empty, email, PASSWORD, **new_source())

    assert [answer.status_code for answer in guesses] == ([401] * ALLOWED + [429]) * 3
    assert owner.status_code == 303


@pytest.mark.security("D-02", "D-07", "A-02")
async def test_a_source_that_failed_too_often_is_refused_even_with_the_right_password(
    empty: httpx.AsyncClient, empty_db: Any
) -> None:
    _, email = await new_operator(empty_db)
    source = new_source()

    answers = [await sign_in(empty, email, WRONG, **source) for _ in range(ALLOWED)]
    answers += [await sign_in(empty, email, PASSWORD, **source) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [401] * ALLOWED + [429] * 3
    assert "Too many attempts" in answers[-1].text
    assert int(answers[-1].headers["retry-after"]) > 0
    assert answers[-1].headers["content-type"] == "text/html; charset=utf-8"
    assert await limits_audited(empty_db, answers) == ["sign-ins by operator and source", "sign-ins by source"]


@pytest.mark.torture
async def test_an_unknown_operator_is_limited_alike(empty: httpx.AsyncClient, empty_db: Any) -> None:
    source = new_source()

    answers = [await sign_in(empty, "nobody@operators.example", **source) for _ in range(ALLOWED + 1)]

    assert [answer.status_code for answer in answers] == [401] * ALLOWED + [429]


@pytest.mark.security("D-02")
async def test_a_source_may_try_so_often_whoever_it_tries(empty: httpx.AsyncClient, empty_db: Any) -> None:
    source = new_source()
    emails = [(await new_operator(empty_db))[1] for _ in range(ALLOWED + 1)]

    answers = [await sign_in(empty, email, WRONG, **source) for email in emails]
    elsewhere = await sign_in(empty, emails[-1], PASSWORD, **new_source())

    assert [answer.status_code for answer in answers] == [401] * ALLOWED + [429]
    assert elsewhere.status_code == 303
    assert await limits_audited(empty_db, answers) == ["sign-ins by source"]


async def test_only_failures_count(empty: httpx.AsyncClient, empty_db: Any) -> None:
    _, email = await new_operator(empty_db)
    source = new_source()

    answers = [await sign_in(empty, email, PASSWORD, **source) for _ in range(ALLOWED + 2)]

    assert {answer.status_code for answer in answers} == {303}


async def test_attempts_at_once_are_all_counted(empty: httpx.AsyncClient, empty_db: Any) -> None:
    _, email = await new_operator(empty_db)
    source = new_source()

    answers = await asyncio.gather(*(sign_in(empty, email, WRONG, **source) for _ in range(8)))

    assert sorted(answer.status_code for answer in answers) == [401] * ALLOWED + [429] * 5


@pytest.mark.security("D-06", "D-07")
async def test_confirming_in_a_session_is_limited_by_that_session_alone(
    empty: httpx.AsyncClient, empty_db: Any
) -> None:
    operator_id, email = await new_operator(empty_db)
    source = new_source()
    for _ in range(ALLOWED + 1):
        refusal = await sign_in(empty, email, WRONG, **source)
    desk = Desk(empty, operator_id, email, await new_session(empty_db, operator_id))
    another = Desk(empty, operator_id, email, await new_session(empty_db, operator_id))

    confirmation = await desk.post("/admin/confirm", headers=source, password=PASSWORD)
    guesses = [await another.post("/admin/confirm", headers=source, password=WRONG) for _ in range(ALLOWED + 1)]

    assert (refusal.status_code, confirmation.status_code) == (429, 303)
    assert [answer.status_code for answer in guesses] == [401] * ALLOWED + [429]
    assert await another.is_signed_in()


@pytest.mark.security("D-02")
async def test_wrong_codes_are_limited_by_operator_and_then_a_recovery_code_still_works(
    empty: httpx.AsyncClient, empty_db: Any
) -> None:
    """Whoever guesses codes has the password; and a botnet has more sources than there are codes."""
    operator_id, email = await new_operator(empty_db, totp=True)
    ticket = await ticket_of(empty, email, **new_source())
    recovery_code = await new_recovery_code(empty_db, operator_id)

    guesses = [await give(empty, ticket, code(7), **new_source()) for _ in range(CODES_ALLOWED)]
    right = await give(empty, ticket, code(), **new_source())
    response = await give(empty, ticket, recovery_code, **new_source())

    assert {answer.status_code for answer in guesses} == {401}
    assert (right.status_code, "Use a recovery code" in right.text) == (401, True)
    assert response.status_code == 303


async def test_guesses_at_the_code_count_against_their_source(empty: httpx.AsyncClient, empty_db: Any) -> None:
    _, email = await new_operator(empty_db, totp=True)
    source = new_source()
    ticket = await ticket_of(empty, email, **source)

    guesses = [await give(empty, ticket, code(7), **source) for _ in range(ALLOWED + 1)]

    assert [answer.status_code for answer in guesses] == [401] * ALLOWED + [429]


@pytest.mark.security("D-10")
async def test_one_source_cannot_use_up_the_hashing_of_passwords(empty_service: Service, empty_db: Any) -> None:
    """From loopback, which no limit counts, against a password whose hash takes long."""
    slow = PasswordHasher(time_cost=8, memory_cost=47_104, parallelism=1).hash(PASSWORD)
    _, target = await new_operator(empty_db, password_hash=slow)
    _, owner = await new_operator(empty_db, password_hash=hash_password(PASSWORD))
    limits = httpx.Limits(max_connections=70)
    async with httpx.AsyncClient(base_url=empty_service.url, verify=NO_CERTIFICATES, timeout=30, limits=limits) as http:
        flood = [asyncio.create_task(sign_in(http, target, WRONG)) for _ in range(60)]
        refusals = itertools.islice(asyncio.as_completed(flood), 30)
        first = [(await answer).status_code for answer in refusals]
        response = await sign_in(http, owner, PASSWORD, **new_source())
        answers = await asyncio.gather(*flood)

    statuses = Counter(answer.status_code for answer in answers)
    assert (set(first), response.status_code) == ({429}, 303)
    assert set(statuses) == {401, 429}, statuses
    assert all(answer.headers["retry-after"] == "1" for answer in answers if answer.status_code == 429)
