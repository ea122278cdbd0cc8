"""Grants of applications: refresh, narrower scopes, reuse, introspection, revocation, and the server metadata."""

import asyncio
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from shop.base.crypto.secrets import PLATFORM_ACCESS, PLATFORM_REFRESH, new_secret, secret_hash
from shop.rules.access.permissions import PERMISSIONS
from tests.accounts import sign_in
from tests.platform.client import TOKEN, App, Machine, ask_for_token, new_app, new_machine, refresh, revoke_app
from tests.shopper import Answer

INTROSPECT, REVOKE = "/shop_oauth/introspect", "/shop_oauth/revoke"


async def grant(http: httpx2.AsyncClient, app: App, scope: str = "admin") -> Machine:
    response = await ask_for_token(http, app, scope)
    assert response.status == 200, response
    return Machine(http, response.json)


async def age_rotations(db: Any, machine: Machine, seconds: float) -> None:
    await db.execute(
        "update refresh_tokens set rotated_at = rotated_at - make_interval(secs => $2) where session_id ="
        " (select session_id from access_tokens where hash = $1)",
        secret_hash(machine.access_token),
        seconds,
    )


async def test_a_refresh_returns_a_new_pair_and_the_old_access_token_remains_valid(
    http: httpx2.AsyncClient, db: Any
) -> None:
    app = await new_app(db)
    machine = await grant(http, app, "admin:write")

    answer = await refresh(http, app, machine.refresh_token)

    assert set(answer.json) == {"access_token", "token_type", "expires_in", "refresh_token", "created_at", "scope"}
    assert (answer.json["expires_in"], answer.json["scope"]) == (7200, "admin:write")
    assert answer.json["access_token"] != machine.access_token
    assert answer.json["refresh_token"] != machine.refresh_token
    assert answer.headers["cache-control"] == "no-store"
    assert await Machine(http, answer.json).may_write()
    assert await machine.may_write()


async def test_a_repeated_refresh_within_the_grace_returns_the_same_pair(http: httpx2.AsyncClient, db: Any) -> None:
    app = await new_app(db)
    machine = await grant(http, app)

    first = await refresh(http, app, machine.refresh_token, scope="admin")
    await age_rotations(db, machine, 15)
    again = await refresh(http, app, machine.refresh_token, scope="admin")

    assert (again.status, again.json) == (200, first.json)


@pytest.mark.security("R-04")
async def test_concurrent_refreshes_create_one_pair(http: httpx2.AsyncClient, db: Any) -> None:
    app = await new_app(db)
    machine = await grant(http, app)

    answers = await asyncio.gather(*(refresh(http, app, machine.refresh_token) for _ in range(10)))

    assert {answer.status for answer in answers} == {200}
    assert len({answer.response.text for answer in answers}) == 1


@pytest.mark.security("R-02")
async def test_refresh_token_reuse_after_the_grace_ends_only_that_grant(http: httpx2.AsyncClient, db: Any) -> None:
    app = await new_app(db)
    machine, other = await grant(http, app), await grant(http, app)
    newer = Machine(http, (await refresh(http, app, machine.refresh_token)).json)
    await age_rotations(db, machine, 31)

    response = await refresh(http, app, machine.refresh_token)

    assert (response.status, response.json["error"]) == (400, "invalid_grant")
    assert not await machine.may_read()
    assert not await newer.may_read()
    assert (await refresh(http, app, newer.refresh_token)).json["error"] == "invalid_grant"
    assert await other.may_read()
    assert (await refresh(http, app, other.refresh_token)).status == 200
    reuses = "select count(*) from audit_events where action = 'reuse' and actor_id = $1"
    assert await db.fetchval(reuses, app.id) == 1


async def test_a_refresh_token_two_rotations_old_counts_as_reuse_within_the_grace(
    http: httpx2.AsyncClient, db: Any
) -> None:
    app = await new_app(db)
    machine = await grant(http, app)
    child = (await refresh(http, app, machine.refresh_token)).json
    await refresh(http, app, child["refresh_token"])

    assert (await refresh(http, app, machine.refresh_token)).json["error"] == "invalid_grant"
    assert not await machine.may_read()


@pytest.mark.security("R-06")
async def test_a_refresh_by_another_client_is_refused_and_leaves_the_token_valid(
    http: httpx2.AsyncClient, db: Any
) -> None:
    app, other_app = await new_app(db), await new_app(db)
    machine = await grant(http, app)

    refusal = await refresh(http, other_app, machine.refresh_token)

    assert (refusal.status, refusal.json["error"]) == (400, "invalid_grant")
    assert (await refresh(http, app, machine.refresh_token)).status == 200
    refusals = "select detail ->> 'reason' from audit_events where action = 'refresh' and request_id = $1"
    assert await db.fetchval(refusals, refusal.request_id) == "owner"


@pytest.mark.parametrize(
    ("grant_scope", "scope", "writes"),
    [
        ("admin write", "admin write", True),
        ("admin write", "write", True),
        ("admin read write", "admin read", False),
        ("admin:write", "write", True),
        ("read write", "read", False),
        ("admin", "admin", True),
    ],
)
async def test_a_refresh_may_narrow_the_scope(
    http: httpx2.AsyncClient, db: Any, grant_scope: str, scope: str, writes: bool
) -> None:
    app = await new_app(db)
    machine = await grant(http, app, grant_scope)

    answer = await refresh(http, app, machine.refresh_token, scope=scope)

    assert (answer.status, answer.json["scope"]) == (200, scope)
    assert await Machine(http, answer.json).may_read()
    assert await Machine(http, answer.json).may_write() == writes
    assert await machine.may_write()


@pytest.mark.security("R-06")
@pytest.mark.parametrize(
    ("grant_scope", "scope"),
    [
        ("read", "write"),
        ("read", "admin"),
        ("read", "read write"),
        ("write", "admin:write"),
        # Fewer words, but more rights: a bare `admin` of a write application may write.
        ("admin read", "admin"),
        ("admin:read", "admin"),
        ("admin", "everything"),
    ],
)
async def test_a_refresh_with_a_wider_scope_is_refused_and_leaves_the_token_valid(
    http: httpx2.AsyncClient, db: Any, grant_scope: str, scope: str
) -> None:
    app = await new_app(db)
    machine = await grant(http, app, grant_scope)

    refusal = await refresh(http, app, machine.refresh_token, scope=scope)

    assert (refusal.status, refusal.json["error"]) == (400, "invalid_scope")
    after = await refresh(http, app, machine.refresh_token)
    assert (after.status, after.json["scope"]) == (200, grant_scope)


@pytest.mark.security("R-05")
@pytest.mark.parametrize("column", ["idle_expires_at", "absolute_expires_at"])
async def test_a_grant_past_its_idle_or_absolute_lifetime_is_not_refreshed(
    http: httpx2.AsyncClient, db: Any, column: str
) -> None:
    app = await new_app(db)
    machine = await grant(http, app)
    await db.execute(f"update sessions set {column} = now() where application_id = $1", app.id)

    answer = await refresh(http, app, machine.refresh_token)

    assert (answer.status, answer.json["error"]) == (400, "invalid_grant")
    assert await machine.may_read() == (column == "idle_expires_at")


@pytest.mark.parametrize("kind", ["access", "refresh"])
@pytest.mark.parametrize("path", [REVOKE, "/spree_oauth/revoke"])
async def test_revoking_either_token_ends_the_whole_grant(
    http: httpx2.AsyncClient, db: Any, kind: str, path: str
) -> None:
    app = await new_app(db)
    machine, other = await grant(http, app), await grant(http, app)
    token = machine.access_token if kind == "access" else machine.refresh_token

    answers = [
        await http.post(path, data={"token": candidate, **app.in_body}) for candidate in (token, token, "unknown")
    ]

    assert [(answer.status_code, answer.json()) for answer in answers] == [(200, {})] * 3
    assert not await machine.may_read()
    assert (await refresh(http, app, machine.refresh_token)).json["error"] == "invalid_grant"
    assert await other.may_read()


@pytest.mark.security("P-07")
@pytest.mark.parametrize("kind", ["access", "refresh"])
async def test_only_its_own_application_can_revoke_a_grant(http: httpx2.AsyncClient, db: Any, kind: str) -> None:
    app, other = await new_app(db), await new_app(db)
    machine = await grant(http, app)
    token = machine.access_token if kind == "access" else machine.refresh_token
    wrong = App(app.id, app.client_id, other.secret)

    answers = [
        await http.post(REVOKE, data={"token": token}),
        await http.post(REVOKE, data={"token": token, **wrong.in_body}),
        await http.post(REVOKE, data={"token": token, **other.in_body}),
        await http.delete(f"/api/v2/storefront/auth/{token}"),
    ]

    assert [answer.status_code for answer in answers] == [401, 401, 200, 200]
    assert answers[0].json()["error"] == "invalid_client"
    assert await machine.may_read()
    assert (await http.post(REVOKE, data={"token": token}, headers=app.in_header)).status_code == 200
    assert not await machine.may_read()


async def introspect(http: httpx2.AsyncClient, app: App | None, token: str) -> Answer:
    return Answer(await http.post(INTROSPECT, json={"token": token, **(app.in_body if app else {})}))


@pytest.mark.security("P-07")
async def test_introspection_describes_a_valid_token_of_the_application(http: httpx2.AsyncClient, db: Any) -> None:
    app = await new_app(db)
    token_pair = (await ask_for_token(http, app, "admin:write")).json

    access_introspection = (await introspect(http, app, token_pair["access_token"])).json
    refresh_introspection = (await introspect(http, app, token_pair["refresh_token"])).json

    expected = {"active": True, "scope": "admin:write", "client_id": app.client_id, "token_type": "Bearer"}
    issued_at = token_pair["created_at"]
    assert access_introspection == {**expected, "iat": issued_at, "exp": issued_at + 7200}
    assert refresh_introspection == {**expected, "iat": issued_at, "exp": issued_at + 2_592_000}


async def test_introspection_shows_the_narrowed_scope(http: httpx2.AsyncClient, db: Any) -> None:
    app = await new_app(db)
    machine = await grant(http, app, "admin write")
    narrow = (await refresh(http, app, machine.refresh_token, scope="write")).json

    introspections = [
        (await introspect(http, app, token)).json for token in (narrow["access_token"], machine.refresh_token)
    ]

    assert introspections[0]["scope"] == "write"
    assert introspections[1] == {"active": False}


@pytest.mark.security("P-07")
async def test_introspection_of_any_other_token_is_inactive(http: httpx2.AsyncClient, db: Any) -> None:
    app, member = await new_app(db), await sign_in(http)
    foreign, revoked_machine, expired_machine = (
        await new_machine(http, db),
        await grant(http, app),
        await grant(http, app),
    )
    await http.post(REVOKE, json={"token": revoked_machine.access_token, **app.in_body})
    await db.execute(
        "update access_tokens set expires_at = now() where hash = $1", secret_hash(expired_machine.access_token)
    )
    tokens = [foreign.access_token, foreign.refresh_token, revoked_machine.access_token, revoked_machine.refresh_token]
    tokens += [expired_machine.access_token, member.access_token, member.refresh_token, app.secret, "nothing"]
    tokens += [new_secret(PLATFORM_ACCESS), new_secret(PLATFORM_REFRESH)]

    answers = [await introspect(http, app, token) for token in tokens]

    assert [(answer.status, answer.json) for answer in answers] == [(200, {"active": False})] * len(tokens)


@pytest.mark.security("P-07")
async def test_introspection_without_valid_client_credentials_is_refused(http: httpx2.AsyncClient, db: Any) -> None:
    app = await new_app(db)
    machine = await grant(http, app)
    revoked_app = await new_app(db)
    await revoke_app(db, revoked_app)

    for client in (None, revoked_app, App(app.id, app.client_id, "wrong")):
        answer = await introspect(http, client, machine.access_token)
        assert (answer.status, answer.json["error"]) == (401, "invalid_client")


@pytest.mark.security("P-07")
async def test_the_server_metadata_lists_exactly_the_supported_features(http: httpx2.AsyncClient, db: Any) -> None:
    app = await new_app(db)

    metadata = (await http.get("/.well-known/oauth-authorization-server")).json()

    base = str(http.base_url).rstrip("/")
    assert metadata["issuer"] == base
    assert metadata["token_endpoint_auth_methods_supported"] == ["client_secret_basic", "client_secret_post", "none"]
    assert metadata["grant_types_supported"] == ["client_credentials", "refresh_token"]
    assert metadata["response_types_supported"] == []
    assert metadata["scopes_supported"] == ["admin", "read", "write", "admin:read", "admin:write", *PERMISSIONS]
    for scope in metadata["scopes_supported"]:
        body = {"grant_type": metadata["grant_types_supported"][0], "scope": scope}
        pair = (await http.post(metadata["token_endpoint"], data=body, headers=app.in_header)).json()
        body = {
            "grant_type": metadata["grant_types_supported"][1],
            "refresh_token": pair["refresh_token"],
            **app.in_body,
        }
        pair = (await http.post(metadata["token_endpoint"], data=body)).json()
        form = {"token": pair["access_token"]}
        for client in ({"data": {**form, **app.in_body}}, {"data": form, "headers": app.in_header}):
            assert (await http.post(metadata["introspection_endpoint"], **client)).json()["scope"] == scope  # type: ignore[arg-type]
        assert (await http.post(metadata["revocation_endpoint"], data={**form, **app.in_body})).json() == {}
        assert not await Machine(http, pair).may_read()
    assert {urlsplit(url).path for name, url in metadata.items() if name.endswith("_endpoint")} == {
        TOKEN,
        REVOKE,
        INTROSPECT,
    }
