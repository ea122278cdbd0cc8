"""Limits of password and code attempts: by source, by operator and source, and by session."""

import asyncio
import itertools
from collections import Counter
from typing import Any

import httpx2
import pytest

from shop.base.crypto.passwords import hash_password
from tests.admin.dashboard import (
    PASSWORD,
    SAME_ORIGIN,
    Dashboard,
    code,
    new_operator,
    new_recovery_code,
    new_session,
    sign_in,
    ticket_of,
)
from tests.http_client import NO_CERTIFICATES
from tests.service import Service

SIGN_IN_LIMIT = 3
CODE_LIMIT = 4
WRONG_PASSWORD = "wrong password, sorry"
_numbers = itertools.count()


def new_source() -> dict[str, str]:
    """The proxy's header with an address that no other test uses."""
    return {"X-Forwarded-For": f"198.18.7.{next(_numbers) + 1}"}


async def audited_limits(db: Any, answers: list[httpx2.Response]) -> list[str]:
    ids = [answer.headers["x-request-id"] for answer in answers]
    rows = await db.fetch(
        "select detail->>'limit' as name from audit_events where action = 'limit' and request_id = any($1)", ids
    )
    return sorted(row["name"] for row in rows)


async def submit_code(http: httpx2.AsyncClient, ticket: str, code_text: str, **headers: str) -> httpx2.Response:
    fields = {"ticket": ticket, "code": code_text}
    return await http.post("/admin/sign-in/code", data=fields, headers={**SAME_ORIGIN, **headers})


@pytest.mark.security("D-02", "D-07")
async def test_failures_of_other_sources_do_not_limit_a_sign_in(
    empty_client: httpx2.AsyncClient, empty_db: Any
) -> None:
    _, email = await new_operator(empty_db)
    attackers = [new_source() for _ in range(3)]
    guesses = [
        await sign_in(empty_client, email, WRONG_PASSWORD, **source)
        for source in attackers
        for _ in range(SIGN_IN_LIMIT + 1)
    ]

    response = await sign_in(empty_client, email, PASSWORD, **new_source())

    assert [answer.status_code for answer in guesses] == ([401] * SIGN_IN_LIMIT + [429]) * 3
    assert response.status_code == 303


@pytest.mark.security("D-02", "D-07", "A-02")
async def test_a_source_over_the_rate_limit_is_refused_even_with_the_right_password(
    empty_client: httpx2.AsyncClient, empty_db: Any
) -> None:
    _, email = await new_operator(empty_db)
    source = new_source()

    answers = [await sign_in(empty_client, email, WRONG_PASSWORD, **source) for _ in range(SIGN_IN_LIMIT)]
    answers += [await sign_in(empty_client, email, PASSWORD, **source) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [401] * SIGN_IN_LIMIT + [429] * 3
    assert "Too many attempts" in answers[-1].text
    assert int(answers[-1].headers["retry-after"]) > 0
    assert answers[-1].headers["content-type"] == "text/html; charset=utf-8"
    assert await audited_limits(empty_db, answers) == ["sign-ins by operator and source", "sign-ins by source"]


@pytest.mark.torture
async def test_sign_ins_of_unknown_operators_are_rate_limited(empty_client: httpx2.AsyncClient, empty_db: Any) -> None:
    source = new_source()

    answers = [await sign_in(empty_client, "nobody@operators.example", **source) for _ in range(SIGN_IN_LIMIT + 1)]

    assert [answer.status_code for answer in answers] == [401] * SIGN_IN_LIMIT + [429]


@pytest.mark.security("D-02")
async def test_sign_in_failures_are_limited_by_source_across_operators(
    empty_client: httpx2.AsyncClient, empty_db: Any
) -> None:
    source = new_source()
    emails = [(await new_operator(empty_db))[1] for _ in range(SIGN_IN_LIMIT + 1)]

    answers = [await sign_in(empty_client, email, WRONG_PASSWORD, **source) for email in emails]
    response = await sign_in(empty_client, emails[-1], PASSWORD, **new_source())

    assert [answer.status_code for answer in answers] == [401] * SIGN_IN_LIMIT + [429]
    assert response.status_code == 303
    assert await audited_limits(empty_db, answers) == ["sign-ins by source"]


async def test_successful_sign_ins_do_not_count_toward_the_rate_limit(
    empty_client: httpx2.AsyncClient, empty_db: Any
) -> None:
    _, email = await new_operator(empty_db)
    source = new_source()

    answers = [await sign_in(empty_client, email, PASSWORD, **source) for _ in range(SIGN_IN_LIMIT + 2)]

    assert {answer.status_code for answer in answers} == {303}


async def test_concurrent_sign_in_failures_are_all_counted(empty_client: httpx2.AsyncClient, empty_db: Any) -> None:
    _, email = await new_operator(empty_db)
    source = new_source()

    answers = await asyncio.gather(*(sign_in(empty_client, email, WRONG_PASSWORD, **source) for _ in range(8)))

    assert sorted(answer.status_code for answer in answers) == [401] * SIGN_IN_LIMIT + [429] * 5


@pytest.mark.security("D-06", "D-07")
async def test_password_confirmations_are_limited_only_by_their_session(
    empty_client: httpx2.AsyncClient, empty_db: Any
) -> None:
    operator_id, email = await new_operator(empty_db)
    source = new_source()
    for _ in range(SIGN_IN_LIMIT + 1):
        refusal = await sign_in(empty_client, email, WRONG_PASSWORD, **source)
    dashboard = Dashboard(empty_client, operator_id, email, await new_session(empty_db, operator_id))
    other = Dashboard(empty_client, operator_id, email, await new_session(empty_db, operator_id))

    confirmation = await dashboard.post("/admin/confirm", headers=source, password=PASSWORD)
    guesses = [
        await other.post("/admin/confirm", headers=source, password=WRONG_PASSWORD) for _ in range(SIGN_IN_LIMIT + 1)
    ]

    assert (refusal.status_code, confirmation.status_code) == (429, 303)
    assert [answer.status_code for answer in guesses] == [401] * SIGN_IN_LIMIT + [429]
    assert await other.is_signed_in()


@pytest.mark.security("D-02")
async def test_wrong_codes_are_limited_by_operator_but_a_recovery_code_still_works(
    empty_client: httpx2.AsyncClient, empty_db: Any
) -> None:
    """An attacker who guesses codes knows the password, and a botnet has more sources than there are codes."""
    operator_id, email = await new_operator(empty_db, totp=True)
    ticket = await ticket_of(empty_client, email, **new_source())
    recovery_code = await new_recovery_code(empty_db, operator_id)

    guesses = [await submit_code(empty_client, ticket, code(7), **new_source()) for _ in range(CODE_LIMIT)]
    totp_response = await submit_code(empty_client, ticket, code(), **new_source())
    recovery_response = await submit_code(empty_client, ticket, recovery_code, **new_source())

    assert {answer.status_code for answer in guesses} == {401}
    assert (totp_response.status_code, "Use a recovery code" in totp_response.text) == (401, True)
    assert recovery_response.status_code == 303


async def test_wrong_codes_are_limited_by_source(empty_client: httpx2.AsyncClient, empty_db: Any) -> None:
    _, email = await new_operator(empty_db, totp=True)
    source = new_source()
    ticket = await ticket_of(empty_client, email, **source)

    guesses = [await submit_code(empty_client, ticket, code(7), **source) for _ in range(SIGN_IN_LIMIT + 1)]

    assert [answer.status_code for answer in guesses] == [401] * SIGN_IN_LIMIT + [429]


@pytest.mark.security("D-10")
@pytest.mark.torture
async def test_one_source_cannot_exhaust_the_password_hashing_threads(empty_service: Service, empty_db: Any) -> None:
    """The requests come from loopback, which no limit counts, and the hash of a password is slow."""
    password_hash = hash_password(PASSWORD)
    _, target = await new_operator(empty_db, password_hash=password_hash)
    _, owner = await new_operator(empty_db, password_hash=password_hash)
    limits = httpx2.Limits(max_connections=30)
    async with httpx2.AsyncClient(
        base_url=empty_service.url, verify=NO_CERTIFICATES, timeout=30, limits=limits
    ) as http:
        tasks = [asyncio.create_task(sign_in(http, target, WRONG_PASSWORD)) for _ in range(24)]
        first_answers = itertools.islice(asyncio.as_completed(tasks), 8)
        first_statuses = [(await answer).status_code for answer in first_answers]
        response = await sign_in(http, owner, PASSWORD, **new_source())
        answers = await asyncio.gather(*tasks)

    statuses = Counter(answer.status_code for answer in answers)
    assert (set(first_statuses), response.status_code) == ({429}, 303)
    assert set(statuses) == {401, 429}, statuses
    assert all(answer.headers["retry-after"] == "1" for answer in answers if answer.status_code == 429)
