"""Signing in to the dashboard: the password, the cookie, the end of a session."""

import asyncio
import json
import re
from typing import Any

import httpx2
import psutil
import pytest
from argon2 import PasswordHasher

from shop.base.crypto.passwords import hash_password
from shop.base.crypto.secrets import secret_hash
from tests.admin.dashboard import (
    COOKIE,
    PASSWORD,
    PASSWORD_HASH,
    SAME_ORIGIN,
    Dashboard,
    backdate_session,
    events,
    new_dashboard,
    new_operator,
    secret_of,
    sign_in,
)
from tests.concurrency import wait_for_locks
from tests.sampling import first
from tests.service import Service


async def test_the_right_password_creates_a_session_and_redirects_to_the_overview(
    http: httpx2.AsyncClient, db: Any
) -> None:
    operator_id, email = await new_operator(db)

    answer = await sign_in(http, email.upper())

    assert (answer.status_code, answer.headers["location"]) == (303, "/admin")
    page = await http.get("/admin", headers={"Cookie": f"{COOKIE}={secret_of(answer)}"})
    assert page.status_code == 200
    assert email in page.text
    assert await events(db, actor=operator_id) == [("sign_in", "done")]


@pytest.mark.security("D-03")
async def test_the_cookie_has_strict_attributes_and_only_its_hash_is_stored(http: httpx2.AsyncClient, db: Any) -> None:
    operator_id, email = await new_operator(db)

    first, second = await sign_in(http, email), await sign_in(http, email)

    value, *attributes = first.headers["set-cookie"].split("; ")
    assert re.fullmatch(COOKIE + r"=shpos_[0-9A-Za-z]{49}", value)
    assert set(attributes) == {"Path=/", "Secure", "HttpOnly", "SameSite=Strict"}
    assert secret_of(first) != secret_of(second)
    hashes = [
        row[0] for row in await db.fetch("select hash from operator_sessions where operator_id = $1", operator_id)
    ]
    assert set(hashes) == {secret_hash(secret_of(first)), secret_hash(secret_of(second))}


@pytest.mark.security("D-03")
async def test_signing_in_ignores_the_session_cookie_of_the_request(http: httpx2.AsyncClient, db: Any) -> None:
    _, email = await new_operator(db)
    other = await new_dashboard(http, db)

    answer = await sign_in(http, email, **other.cookie)

    assert secret_of(answer) != other.secret
    assert other.email in (await other.get("/admin/account")).text


@pytest.mark.parametrize("account", ["known", "unknown", "invited", "disabled", "no address"])
async def test_every_refusal_has_the_same_response(http: httpx2.AsyncClient, db: Any, account: str) -> None:
    operator_id, email = await new_operator(db, password_hash=None if account == "invited" else PASSWORD_HASH)
    if account == "disabled":
        await db.execute("update operators set disabled_at = now() where id = $1", operator_id)
    typed_email = {"unknown": f"x{email}", "no address": "nonsense"}.get(account, email)

    answer = await sign_in(http, typed_email, PASSWORD if account == "disabled" else "wrong password, sorry")

    assert answer.status_code == 401
    assert "Wrong e-mail or password." in answer.text
    assert "set-cookie" not in answer.headers
    assert typed_email in answer.text
    assert "wrong password" not in answer.text
    plain = re.sub(r'nonce="[^"]+"', "", answer.text).replace(typed_email, "")
    response = await sign_in(http, email, "wrong password, sorry")
    assert plain == re.sub(r'nonce="[^"]+"', "", response.text).replace(email, "")


async def test_a_refusal_is_audited_without_the_e_mail_address(http: httpx2.AsyncClient, db: Any) -> None:
    operator_id, email = await new_operator(db)

    answer = await sign_in(http, email, "wrong password, sorry")

    row = await db.fetchrow("select * from audit_events where request_id = $1", answer.headers["x-request-id"])
    assert (row["actor_kind"], row["actor_id"], row["action"]) == ("operator", operator_id, "sign_in")
    assert row["outcome"] == "refused"
    assert email not in row["detail"]
    assert json.loads(row["detail"])["reason"] == "password"


@pytest.mark.torture
async def test_an_unknown_operator_takes_as_long_as_a_known_one(
    http: httpx2.AsyncClient, db: Any, service: Service
) -> None:
    """Compares the CPU time of the worker: other processes of the machine do not affect it."""
    (worker,) = map(psutil.Process, service.worker_pids())
    password_hash = hash_password(PASSWORD)
    durations: dict[bool, float] = {}

    for is_known in (True, False):
        before = worker.cpu_times().user
        for _ in range(8):
            _, email = await new_operator(db, password_hash=password_hash)
            await sign_in(http, email if is_known else f"x{email}", "wrong password, sorry")
        durations[is_known] = worker.cpu_times().user - before

    # A hash takes tens of milliseconds; all other work of a sign-in takes far less.
    assert 0.7 < durations[True] / durations[False] < 1.4, durations


async def test_a_password_with_an_outdated_hash_is_rehashed(http: httpx2.AsyncClient, db: Any) -> None:
    old_hash = PasswordHasher(time_cost=1, memory_cost=8192, parallelism=1).hash(PASSWORD)
    operator_id, email = await new_operator(db, password_hash=old_hash)

    assert (await sign_in(http, email)).status_code == 303

    new_hash = await db.fetchval("select password_hash from operators where id = $1", operator_id)
    assert new_hash.startswith("$argon2id$")
    memory, rounds, lanes = (int(text) for text in re.findall(r"[mtp]=([0-9]+)", new_hash))
    assert (memory >= 46 * 1024, rounds >= 1, lanes) == (True, True, 1)
    assert (await sign_in(http, email)).status_code == 303


async def test_an_overlong_password_is_refused(http: httpx2.AsyncClient, db: Any) -> None:
    _, email = await new_operator(db)

    assert (await sign_in(http, email, "x" * 1_000_000)).status_code == 413
    assert (await sign_in(http, email, PASSWORD + "x" * 2000)).status_code == 401


@pytest.mark.parametrize("change", ["password_hash = 'another'", "disabled_at = now()"])
async def test_an_operator_disabled_during_the_sign_in_is_refused(
    http: httpx2.AsyncClient, db: Any, change: str
) -> None:
    operator_id, email = await new_operator(db)

    async with db.transaction():
        await db.execute(f"update operators set {change} where id = $1", operator_id)
        # `for update` also blocks inserts that reference the operator, such as the new session.
        await db.execute("select from operators where id = $1 for update", operator_id)
        task = asyncio.create_task(sign_in(http, email))
        await wait_for_locks(db, 1)

    assert (await task).status_code == 401
    assert await db.fetchval("select count(*) from operator_sessions where operator_id = $1", operator_id) == 0


async def test_signing_in_redirects_to_the_requested_page(http: httpx2.AsyncClient, db: Any) -> None:
    _, email = await new_operator(db)
    page = await http.get("/admin/orders?state=open")
    assert page.status_code == 401
    assert 'name="next" value="/admin/orders?state=open"' in page.text

    fields = {"email": email, "password": PASSWORD, "next": "/admin/orders?state=open"}
    answer = await http.post("/admin/sign-in", data=fields, headers=SAME_ORIGIN)

    assert answer.headers["location"] == "/admin/orders?state=open"


@pytest.mark.parametrize(
    "next_path",
    first(4, ["https://evil.example", "//evil.example", "/admin/../mailbox", "/admin/\r\nset-cookie: a=b",
              "/admin//evil.example", "/\\evil.example", "/administrator", "/mailbox", "javascript:alert(1)",
              "/admin@evil.example", ""]),
)  # fmt: skip
async def test_signing_in_redirects_only_to_dashboard_pages(http: httpx2.AsyncClient, db: Any, next_path: str) -> None:
    _, email = await new_operator(db)

    fields = {"email": email, "password": PASSWORD, "next": next_path}
    answer = await http.post("/admin/sign-in", data=fields, headers=SAME_ORIGIN)

    assert (answer.status_code, answer.headers["location"]) == (303, "/admin")


async def test_signing_out_ends_the_session_and_clears_the_cookie(dashboard: Dashboard, db: Any) -> None:
    answer = await dashboard.post("/admin/sign-out")

    assert (answer.status_code, answer.headers["location"]) == (303, "/admin/sign-in")
    assert f"{COOKIE}=; Max-Age=0" in answer.headers["set-cookie"]
    assert not await dashboard.is_signed_in()
    assert await events(db, actor=dashboard.id) == [("sign_out", "done")]


@pytest.mark.security("D-03")
@pytest.mark.parametrize(
    ("column", "interval", "is_valid"),
    [
        ("seen_at", "29 minutes", True),
        ("seen_at", "31 minutes", False),
        ("created_at", "11 hours 59 minutes", True),
        ("created_at", "12 hours 1 second", False),
    ],
)
async def test_a_session_ends_after_30_idle_minutes_or_12_hours(
    dashboard: Dashboard, db: Any, column: str, interval: str, is_valid: bool
) -> None:
    await backdate_session(db, dashboard, column, interval)

    assert await dashboard.is_signed_in() is is_valid


async def test_a_request_extends_the_idle_time_of_a_session(dashboard: Dashboard, db: Any) -> None:
    await backdate_session(db, dashboard, "seen_at", "29 minutes")
    await dashboard.get("/admin/account")

    await backdate_session(db, dashboard, "seen_at", "29 minutes")

    assert await dashboard.is_signed_in()


async def test_seen_at_of_a_session_is_updated_at_most_once_a_minute(dashboard: Dashboard, db: Any) -> None:
    query = "select seen_at from operator_sessions where hash = $1"
    await dashboard.get("/admin/account")
    before = await db.fetchval(query, secret_hash(dashboard.secret))
    await dashboard.get("/admin/account")

    assert await db.fetchval(query, secret_hash(dashboard.secret)) == before


async def test_the_session_of_a_disabled_operator_is_refused(dashboard: Dashboard, db: Any) -> None:
    await db.execute("update operators set disabled_at = now() where id = $1", dashboard.id)

    assert not await dashboard.is_signed_in()


async def test_a_request_with_two_session_cookies_is_refused(dashboard: Dashboard, other_dashboard: Dashboard) -> None:
    headers = {"Cookie": f"{COOKIE}={dashboard.secret}; {COOKIE}={other_dashboard.secret}"}

    assert (await dashboard.http.get("/admin/account", headers=headers)).status_code == 401


@pytest.mark.security("A-01")
async def test_no_secret_of_a_sign_in_is_logged(http: httpx2.AsyncClient, db: Any, service: Service) -> None:
    _, email = await new_operator(db)
    answer = await sign_in(http, email)
    await http.get("/admin", headers={"Cookie": f"{COOKIE}={secret_of(answer)}"})

    service.request_line(answer.headers["x-request-id"])

    log = "".join(service.lines)
    assert secret_of(answer) not in log
    assert PASSWORD not in log
