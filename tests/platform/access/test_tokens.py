"""The token endpoint: which client gets a token, for which scope, and which requests the token allows."""

import json
import statistics
import time
from collections.abc import Callable
from itertools import combinations
from typing import Any

import httpx2
import pytest

from shop.actions.access.applications import get_application, rotate_secret
from shop.actions.context import Context
from shop.base.crypto.secrets import (
    CLIENT_SECRET,
    PLATFORM_ACCESS,
    PLATFORM_REFRESH,
    is_secret,
    new_client_id,
    new_secret,
    secret_hash,
)
from shop.rules.access.permissions import SCOPES
from tests.accounts import sign_in
from tests.platform.client import (
    PREFIX,
    TOKEN,
    App,
    Machine,
    ask_for_token,
    basic,
    new_app,
    new_machine,
    operator_context,
    refresh,
    revoke_app,
)
from tests.sampling import first
from tests.service import Service
from tests.shopper import Answer, Shopper
from tests.timing import Pair, assert_same_time

GRANT = {"grant_type": "client_credentials", "scope": "admin read"}
REQUESTS: dict[str, Callable[[App], dict[str, Any]]] = {
    "json": lambda app: {"json": {**GRANT, **app.in_body}},
    "form": lambda app: {"data": {**GRANT, **app.in_body}},
    "basic, json": lambda app: {"json": GRANT, "headers": app.in_header},
    "basic, form": lambda app: {"data": GRANT, "headers": app.in_header},
    "basic, with client_id in the body": lambda app: {
        "json": {**GRANT, "client_id": app.client_id},
        "headers": app.in_header,
    },
    "json, with an unknown bearer token": lambda app: {
        "json": {**GRANT, **app.in_body},
        "headers": {"Authorization": f"Bearer {new_secret(PLATFORM_ACCESS)}"},
    },
}


@pytest.mark.security("T-06", "T-07")
@pytest.mark.parametrize("path", [TOKEN, "/spree_oauth/token"])
@pytest.mark.parametrize("kind", REQUESTS)
async def test_the_token_response_is_the_same_for_every_client_authentication_method(
    http: httpx2.AsyncClient, db: Any, path: str, kind: str
) -> None:
    app = await new_app(db, "read")

    response = await http.post(path, **REQUESTS[kind](app))

    body = response.json()
    assert response.status_code == 200, response.text
    assert set(body) == {"access_token", "token_type", "expires_in", "refresh_token", "created_at", "scope"}
    assert (body["token_type"], body["expires_in"], body["scope"]) == ("Bearer", 7200, "admin read")
    assert abs(body["created_at"] - time.time()) < 60
    assert is_secret(PLATFORM_ACCESS, body["access_token"])
    assert is_secret(PLATFORM_REFRESH, body["refresh_token"])
    assert (response.headers["cache-control"], response.headers["pragma"]) == ("no-store", "no-cache")
    assert "set-cookie" not in response.headers
    assert await Machine(http, body).may_read()


@pytest.mark.security("T-06")
async def test_created_at_of_a_token_is_rounded_down_to_the_second(http: httpx2.AsyncClient, db: Any) -> None:
    app = await new_app(db)
    # Late in a second, where rounding would name the next one.
    await db.execute("select pg_sleep(greatest(0, 0.6 - extract(epoch from clock_timestamp())::numeric % 1)::float8)")

    token_pair = (await ask_for_token(http, app, "admin")).json

    statement = "select floor(extract(epoch from created_at))::bigint from access_tokens where hash = $1"
    assert token_pair["created_at"] == await db.fetchval(statement, secret_hash(token_pair["access_token"]))


SCOPE_SETS = {" ".join(words): frozenset(words) for count in range(1, 4) for words in combinations(SCOPES, count)} | {
    "admin:read": frozenset({"admin", "read"}),
    "admin:write": frozenset({"admin", "write"}),
    "write admin": frozenset({"admin", "write"}),
    "read read": frozenset({"read"}),
    "admin:read write": frozenset(SCOPES),
}


@pytest.mark.security("P-03")
@pytest.mark.parametrize("level", ["read", "write"])
@pytest.mark.parametrize("scope", SCOPE_SETS)
async def test_a_scope_beyond_the_access_level_is_refused(
    http: httpx2.AsyncClient, db: Any, level: str, scope: str
) -> None:
    words = SCOPE_SETS[scope]

    answer = await ask_for_token(http, await new_app(db, level), scope)

    if level == "read" and "write" in words:
        assert (answer.status, answer.json["error"]) == (400, "invalid_scope")
        return
    assert (answer.status, answer.json["scope"]) == (200, scope)
    machine = Machine(http, answer.json)
    assert await machine.may_read()
    assert await machine.may_write() == (level == "write" and ("write" in words or words == {"admin"}))


@pytest.mark.security("P-03")
async def test_a_read_application_cannot_write_even_if_its_session_has_a_write_scope(
    http: httpx2.AsyncClient, db: Any
) -> None:
    app = await new_app(db, "read")
    machine = Machine(http, (await ask_for_token(http, app, "admin")).json)

    for scope in ("write", "admin write", "admin"):
        await db.execute("update sessions set scope = $2 where application_id = $1", app.id, scope)
        assert not await machine.may_write(), scope


@pytest.mark.security("P-04")
async def test_an_access_token_expires_after_two_hours(http: httpx2.AsyncClient, db: Any) -> None:
    app = await new_app(db)
    token_pair = (await ask_for_token(http, app, "admin")).json
    machine = Machine(http, token_pair)
    age = (
        "update access_tokens set expires_at = expires_at - make_interval(secs => $2)"
        " from sessions where sessions.id = session_id and application_id = $1"
    )

    await db.execute(age, app.id, 7200.0 - 60)
    assert await machine.may_read()
    await db.execute(age, app.id, 61.0)

    late = await machine.get("/orders")
    assert (late.status, late.code) == (401, "invalid_token")
    assert late.headers["www-authenticate"] == 'Bearer realm="shop", error="invalid_token"'


@pytest.mark.security("P-06")
async def test_revoking_an_application_ends_its_tokens_and_its_secret_immediately(
    http: httpx2.AsyncClient, db: Any
) -> None:
    app, other = await new_app(db), await new_machine(http, db)
    machine = Machine(http, (await ask_for_token(http, app, "admin")).json)
    assert await machine.may_write()

    await revoke_app(db, app)

    assert not await machine.may_read()
    assert not await machine.may_write()
    assert (await refresh(http, app, machine.refresh_token)).json["error"] == "invalid_client"
    assert (await ask_for_token(http, app, "admin")).json["error"] == "invalid_client"
    assert await other.may_write()


def comparable_parts(answer: Answer) -> tuple[Any, ...]:
    """The parts of a response that may not differ."""
    varying_headers = {"x-request-id", "date"}
    return (
        answer.status,
        answer.json,
        {name: value for name, value in answer.headers.items() if name not in varying_headers},
    )


async def invalid_clients(db: Any) -> dict[str, App]:
    good, revoked_app, late = [await new_app(db) for _ in range(3)]
    await revoke_app(db, revoked_app)
    await db.execute("update application_secrets set expires_at = now() where application_id = $1", late.id)
    return {
        "an unknown client": App(good.id, new_client_id(), new_secret(CLIENT_SECRET)),
        "an unknown client with a valid secret": App(good.id, new_client_id(), good.secret),
        "a wrong secret": App(good.id, good.client_id, new_secret(CLIENT_SECRET)),
        "a malformed secret": App(good.id, good.client_id, "secret"),
        "the secret of another application": App(good.id, good.client_id, late.secret),
        "no secret": App(good.id, good.client_id, ""),
        "a revoked application": revoked_app,
        "an expired secret": late,
        "an overlong client id": App(good.id, "x" * 5000, good.secret),
    }


@pytest.mark.security("P-02")
async def test_every_client_authentication_failure_gets_the_same_response(http: httpx2.AsyncClient, db: Any) -> None:
    answers = {why: await ask_for_token(http, app, "admin") for why, app in (await invalid_clients(db)).items()}

    assert {answer.status for answer in answers.values()} == {401}
    for why, answer in answers.items():
        assert comparable_parts(answer) == comparable_parts(answers["a wrong secret"]), why
    assert answers["a wrong secret"].json["error"] == "invalid_client"
    assert answers["a wrong secret"].headers["www-authenticate"] == 'Basic realm="shop"'


async def measure_pairs(http: httpx2.AsyncClient, app: App, count: int) -> list[Pair]:
    """The seconds of a request of a known and of an unknown client; each is as often first as second."""
    pairs = []
    for number in range(count):
        known_app = App(app.id, app.client_id, new_secret(CLIENT_SECRET))
        pair = {"known": known_app, "unknown": App(app.id, new_client_id(), known_app.secret)}
        times = {}
        for kind in pair if number % 2 else reversed(pair):
            start = time.perf_counter()
            await ask_for_token(http, pair[kind], "admin")
            times[kind] = time.perf_counter() - start
        pairs.append((times["known"], times["unknown"]))
    return pairs


async def has_gap(http: httpx2.AsyncClient, app: App, count: int) -> bool:
    """Whether the median difference exceeds 2 ms, or a quarter of a request on a slow machine."""
    pairs = await measure_pairs(http, app, count)
    gap = abs(statistics.median(known_seconds - unknown for known_seconds, unknown in pairs))
    return gap > max(0.002, statistics.median(unknown for _, unknown in pairs) / 4)


@pytest.mark.security("P-02")
@pytest.mark.torture
async def test_an_unknown_client_takes_as_long_as_a_wrong_secret(http: httpx2.AsyncClient, db: Any) -> None:
    app = await new_app(db)

    # A real gap is there each time; a gap because of a busy machine is not.
    assert not await has_gap(http, app, 40) or not await has_gap(http, app, 300)


@pytest.mark.security("P-02")
@pytest.mark.torture
async def test_response_times_do_not_reveal_whether_a_client_exists(http: httpx2.AsyncClient, db: Any) -> None:
    app = await new_app(db)

    await assert_same_time(lambda: measure_pairs(http, app, 500))


async def rotate_app_secret(ctx: Context, app: App, overlap: int) -> App:
    newest = (await get_application(ctx, app.id)).secrets[0]
    secret = await rotate_secret(ctx, app.id, overlap, replaces=newest.id)
    assert secret
    return App(app.id, app.client_id, secret)


@pytest.mark.security("P-06")
async def test_an_old_secret_works_during_the_overlap_and_at_most_two_are_valid(
    http: httpx2.AsyncClient, db: Any, database_url: str
) -> None:
    first = await new_app(db)
    async with operator_context(database_url) as ctx:
        second = await rotate_app_secret(ctx, first, 3600)
        during = [(await ask_for_token(http, app, "admin")).status for app in (first, second)]
        third = await rotate_app_secret(ctx, second, 3600)

    two = [(await ask_for_token(http, app, "admin")).status for app in (first, second, third)]
    age = "update application_secrets set expires_at = expires_at - interval '1 hour' where application_id = $1"
    await db.execute(age, first.id)
    one = [(await ask_for_token(http, app, "admin")).status for app in (first, second, third)]

    assert (during, two, one) == ([200, 200], [401, 200, 200], [401, 401, 200])


async def test_rotation_without_overlap_ends_the_secret_immediately_but_not_its_tokens(
    http: httpx2.AsyncClient, db: Any, database_url: str
) -> None:
    app = await new_app(db)
    machine = Machine(http, (await ask_for_token(http, app, "admin")).json)

    async with operator_context(database_url) as ctx:
        await rotate_app_secret(ctx, app, 0)

    assert (await ask_for_token(http, app, "admin")).status == 401
    assert await machine.may_read()


@pytest.mark.security("T-11")
async def test_no_kind_of_credential_is_accepted_as_another(http: httpx2.AsyncClient, guest: Shopper, db: Any) -> None:
    app, member = await new_app(db), await sign_in(http)
    machine = Machine(http, (await ask_for_token(http, app, "admin")).json)
    await guest.post("/cart")
    tokens = [member.access_token, member.refresh_token, machine.refresh_token, app.secret, guest.order_token]

    for token in tokens:
        answer = await http.get(f"{PREFIX}/orders", headers={"Authorization": f"Bearer {token}"})
        assert (answer.status_code, answer.json()["code"]) == (401, "invalid_token"), token
    for path in ("/account", "/cart", "/account/orders"):
        request_headers = {"Authorization": f"Bearer {machine.access_token}"}
        assert (await http.get(f"/api/v2/storefront{path}", headers=request_headers)).json()["code"] == "invalid_token"
    for headers in ({"X-Shop-Order-Token": guest.order_token or ""}, app.in_header):
        response = await http.get(f"{PREFIX}/orders", headers=headers)
        assert (response.status_code, response.headers["www-authenticate"]) == (401, 'Bearer realm="shop"')
    for token in (member.refresh_token, machine.access_token):
        assert (await refresh(http, app, token)).json["error"] == "invalid_grant"


@pytest.mark.security("T-07")
async def test_an_access_token_in_the_query_string_is_ignored(http: httpx2.AsyncClient, writer: Machine) -> None:
    answer = await http.get(f"{PREFIX}/orders", params={"access_token": writer.access_token})

    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")


@pytest.mark.security("T-04", "T-02")
@pytest.mark.parametrize(
    "header", first(2, ["Bearer " + "a" * 10_000, "Bearer \x80\x81", "Bearer é", "Bearer", "Bearer a b"])
)
async def test_a_malformed_bearer_token_is_refused_without_a_statement(
    http: httpx2.AsyncClient, service: Service, header: str
) -> None:
    answer = await http.get(f"{PREFIX}/orders", headers={b"Authorization": header.encode("latin-1")})

    assert (answer.status_code, answer.json()["code"]) == (401, "invalid_token")
    assert service.request_line(answer.headers["x-request-id"])["statements"] == 0


@pytest.mark.security("T-03", "A-01")
async def test_no_secret_is_stored_in_the_database_or_the_log(
    http: httpx2.AsyncClient, db: Any, service: Service
) -> None:
    app = await new_app(db)
    first = (await ask_for_token(http, app, "admin")).json
    second = (await refresh(http, app, first["refresh_token"])).json
    last = await http.post(TOKEN, data=GRANT, headers=basic(app.client_id, app.secret))
    service.request_line(last.headers["x-request-id"])
    secrets = [app.secret, *(pair[name] for pair in (first, second) for name in ("access_token", "refresh_token"))]

    tables = await db.fetch("select tablename from pg_tables where schemaname = 'public'")
    for secret in secrets:
        for spelling in (secret, secret.encode().hex()):
            for (table,) in tables:
                assert not await db.fetchval(
                    f"select count(*) from {table} as t where t::text like $1", f"%{spelling}%"
                )
        assert not any(secret in line for line in service.lines)


@pytest.mark.security("A-02")
async def test_every_grant_is_audited(http: httpx2.AsyncClient, db: Any) -> None:
    app = await new_app(db)
    response = await ask_for_token(http, app, "admin:read")
    refresh_response = await refresh(http, app, response.json["refresh_token"])

    events = "select action, outcome, actor_kind from audit_events where actor_id = $1 order by id"
    assert [tuple(row) for row in await db.fetch(events, app.id)] == [
        ("token_granted", "done", "application"),
        ("refresh", "done", "application"),
    ]
    assert refresh_response.status == 200


async def test_repeated_refusals_for_insufficient_scope_are_audited_once(http: httpx2.AsyncClient, db: Any) -> None:
    app = await new_app(db, "read")
    machine = Machine(http, (await ask_for_token(http, app, "admin read")).json)

    for _ in range(3):
        await machine.post("/orders", {"order": {}})

    events = await db.fetch(
        "select action, detail from audit_events where actor_id = $1 and outcome = 'refused'", app.id
    )
    assert [(event["action"], json.loads(event["detail"])) for event in events] == [("access", {"needed": "write"})]


async def test_an_internal_note_of_an_order_may_contain_any_unicode_text(http: httpx2.AsyncClient, db: Any) -> None:
    machine = await new_machine(http, db)
    note = "\u6771\u4eac\u90fd\u3000\u6e2f\u533a\n\U0001f469\u200d\U0001f373"

    order = await machine.post("/orders", {"order": {"internal_note": note}})

    assert (order.status, order["internal_note"]) == (201, note)
