"""Sessions: refreshing, token reuse, expiry, signing out, and the data that is stored about them."""

import asyncio
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import httpx2
import pytest

from shop.base.crypto.secrets import USER_ACCESS, USER_REFRESH, new_bytes, secret_text
from tests.accounts import AUTH, Member, ask_for_code, exchange_code, mailed_code, new_email, refresh, sign_in
from tests.service import Service
from tests.shopper import PREFIX, Answer, Shopper

MALFORMED_TOKENS = ("x", "%C3%A9", "a%2Fb", "a/b", "%2F", "a//b/", "%00", "a%20b", "%FF", "x" * 1900)
REVOKE = ("/shop_oauth/revoke", "/spree_oauth/revoke")


async def find_session_id(db: Any, member: Member) -> UUID:
    token_hash = sha256(member.access_token.encode()).digest()
    session_id: UUID = await db.fetchval("select session_id from access_tokens where hash = $1", token_hash)
    return session_id


async def age_rotations(db: Any, member: Member, seconds: int) -> None:
    await db.execute(
        "update refresh_tokens set rotated_at = rotated_at - make_interval(secs => $2) where session_id = $1",
        await find_session_id(db, member),
        float(seconds),
    )


async def sign_out(http: httpx2.AsyncClient, token: str) -> Answer:
    return Answer(await http.delete(f"{AUTH}/{token}"))


def without_id(answer: Answer) -> dict[str, Any]:
    return {name: value for name, value in answer.json.items() if name != "request_id"}


async def test_exchanging_a_code_returns_a_token_pair(http: httpx2.AsyncClient) -> None:
    email = new_email()
    await ask_for_code(http, email)

    answer = await exchange_code(http, email, await mailed_code(http, email))

    assert set(answer.json) == {"access_token", "token_type", "expires_in", "refresh_token", "created_at"}
    assert (answer.json["token_type"], answer.json["expires_in"]) == ("Bearer", 86400)
    assert isinstance(answer.json["created_at"], int)
    assert answer.headers["cache-control"] == "no-store"
    assert "set-cookie" not in answer.headers


@pytest.mark.security("R-01")
async def test_a_refresh_returns_a_new_pair_and_the_old_access_token_remains_valid(http: httpx2.AsyncClient) -> None:
    member = await sign_in(http)
    old = Member(http, member.email, vars(member))

    await member.renew()

    assert member.access_token != old.access_token
    assert member.refresh_token != old.refresh_token
    assert await member.is_signed_in()
    assert await old.is_signed_in()


@pytest.mark.security("T-06", "T-07")
async def test_a_refresh_has_the_same_response_format_as_a_code_exchange(http: httpx2.AsyncClient) -> None:
    member = await sign_in(http)

    answer = await member.refresh()

    assert set(answer.json) == {"access_token", "token_type", "expires_in", "refresh_token", "created_at"}
    assert (answer.status, answer.json["token_type"], answer.json["expires_in"]) == (200, "Bearer", 86400)
    assert answer.headers["content-type"].startswith("application/json")
    assert answer.headers["cache-control"] == "no-store"


async def test_an_invalid_bearer_token_does_not_prevent_a_refresh(http: httpx2.AsyncClient) -> None:
    member = await sign_in(http)
    body = {"user": {"email": member.email, "refresh_token": member.refresh_token}}

    answer = await member.ask("POST", "/auth", headers={"Authorization": "Bearer gone"}, json=body)

    assert answer.status == 200


@pytest.mark.security("R-03")
async def test_the_parent_token_within_the_grace_period_returns_the_identical_body(
    http: httpx2.AsyncClient, db: Any
) -> None:
    member = await sign_in(http)
    first = await member.refresh()
    await age_rotations(db, member, 25)

    second = await member.refresh()

    assert (first.status, second.status) == (200, 200)
    assert second.response.content == first.response.content
    assert (await member.refresh(first.json["refresh_token"])).status == 200


@pytest.mark.security("R-04")
async def test_fifty_concurrent_refreshes_of_one_token_create_one_pair(http: httpx2.AsyncClient, db: Any) -> None:
    member = await sign_in(http)

    answers = await asyncio.gather(*(member.refresh() for _ in range(50)))

    assert {answer.status for answer in answers} == {200}
    assert len({answer.response.content for answer in answers}) == 1
    session_id = await find_session_id(db, member)
    assert await db.fetchval("select count(*) from refresh_tokens where session_id = $1", session_id) == 2
    assert await db.fetchval("select count(*) from access_tokens where session_id = $1", session_id) == 2


@pytest.mark.security("R-02")
async def test_the_parent_token_after_the_grace_period_ends_its_session_and_no_other(
    http: httpx2.AsyncClient, db: Any
) -> None:
    member = await sign_in(http)
    elsewhere = await sign_in(http, member.email)
    old_token = member.refresh_token
    await member.renew()
    await age_rotations(db, member, 60)

    refusal = await member.refresh(old_token)

    assert (refusal.status, refusal.code) == (401, "invalid_refresh_token")
    assert not await member.is_signed_in()
    assert (await member.refresh()).status == 401
    assert await elsewhere.is_signed_in()
    assert (await elsewhere.refresh()).status == 200


@pytest.mark.security("R-03")
async def test_the_grace_period_ends_after_thirty_seconds(http: httpx2.AsyncClient, db: Any) -> None:
    member = await sign_in(http)
    await member.refresh()
    await age_rotations(db, member, 31)

    assert (await member.refresh()).status == 401


@pytest.mark.security("R-03")
async def test_a_grandparent_token_within_the_grace_period_is_reuse(http: httpx2.AsyncClient) -> None:
    member = await sign_in(http)
    grandparent = member.refresh_token
    await member.renew()
    await member.renew()

    refusal = await member.refresh(grandparent)

    assert (refusal.status, refusal.code) == (401, "invalid_refresh_token")
    assert not await member.is_signed_in()
    assert (await member.refresh()).status == 401


@pytest.mark.security("R-05")
async def test_a_session_cannot_be_refreshed_after_its_idle_expiry(http: httpx2.AsyncClient, db: Any) -> None:
    member = await sign_in(http)
    statement = "update sessions set idle_expires_at = now() - interval '1 second' where id = $1"
    await db.execute(statement, await find_session_id(db, member))

    assert without_id(await member.refresh())["code"] == "invalid_refresh_token"


@pytest.mark.security("R-05")
async def test_a_refresh_extends_the_idle_expiry_and_not_the_absolute_one(http: httpx2.AsyncClient, db: Any) -> None:
    member = await sign_in(http)
    session_id = await find_session_id(db, member)
    lifetimes = """select extract(epoch from idle_expires_at - now())::float as idle,
                          extract(epoch from absolute_expires_at - now())::float as absolute
                   from sessions where id = $1"""
    statement = """update sessions set idle_expires_at = idle_expires_at - interval '20 days',
                                  absolute_expires_at = absolute_expires_at - interval '20 days' where id = $1"""
    await db.execute(statement, session_id)

    await member.renew()

    remaining = await db.fetchrow(lifetimes, session_id)
    assert remaining["idle"] == pytest.approx(30 * 86400, abs=60)
    assert remaining["absolute"] == pytest.approx(70 * 86400, abs=60)


@pytest.mark.security("R-05")
async def test_a_session_ends_at_its_absolute_expiry(http: httpx2.AsyncClient, db: Any) -> None:
    member = await sign_in(http)
    statement = "update sessions set absolute_expires_at = now() - interval '1 second' where id = $1"
    await db.execute(statement, await find_session_id(db, member))

    assert (await member.refresh()).status == 401
    assert not await member.is_signed_in()


@pytest.mark.security("R-06")
async def test_a_refresh_with_another_users_address_consumes_nothing_and_is_audited(
    http: httpx2.AsyncClient, db: Any
) -> None:
    member, other = await sign_in(http), await sign_in(http)

    wrong = await refresh(http, other.email, member.refresh_token)
    right = await member.refresh()

    assert (wrong.status, wrong.code) == (401, "invalid_refresh_token")
    assert right.status == 200
    row = await db.fetchrow("select action, outcome from audit_events where request_id = $1", wrong.request_id)
    assert tuple(row) == ("refresh", "refused")


@pytest.mark.security("R-06")
async def test_a_rotated_token_with_another_users_address_ends_no_session(http: httpx2.AsyncClient, db: Any) -> None:
    member = await sign_in(http)
    old = member.refresh_token
    await member.renew()
    await age_rotations(db, member, 60)

    assert (await refresh(http, new_email(), old)).status == 401
    assert await member.is_signed_in()


async def test_a_refresh_accepts_the_address_in_any_case(http: httpx2.AsyncClient) -> None:
    member = await sign_in(http)

    assert (await refresh(http, member.email.upper(), member.refresh_token)).status == 200


async def test_every_invalid_refresh_token_gets_the_same_response(http: httpx2.AsyncClient, db: Any) -> None:
    member, purged_member, ended_member = [await sign_in(http) for _ in range(3)]
    await db.execute("delete from sessions where id = $1", await find_session_id(db, purged_member))
    await sign_out(http, ended_member.refresh_token)
    wrong_token = member.refresh_token[:-1] + ("0" if member.refresh_token[-1] != "0" else "1")
    bad = [
        (purged_member.email, purged_member.refresh_token),
        (ended_member.email, ended_member.refresh_token),
        (member.email, secret_text(USER_REFRESH, new_bytes())),
        (member.email, wrong_token),
        (member.email, "x"),
        (member.email, "é" * 100),
        (member.email, member.access_token),
        (new_email(), member.refresh_token),
    ]

    answers = [await refresh(http, email, token) for email, token in bad]

    assert {answer.status for answer in answers} == {401}
    assert all(without_id(answer) == without_id(answers[0]) for answer in answers)
    assert answers[0].code == "invalid_refresh_token"


@pytest.mark.security("T-02")
async def test_a_refresh_token_with_a_bad_checksum_is_not_looked_up(http: httpx2.AsyncClient, db: Any) -> None:
    member = await sign_in(http)

    answer = await member.refresh(member.refresh_token[:-1] + "!")

    detail = await db.fetchval("select detail->>'reason' from audit_events where request_id = $1", answer.request_id)
    assert (answer.status, detail) == (401, "form")


@pytest.mark.security("T-09")
async def test_signing_out_returns_the_same_response_for_any_token(http: httpx2.AsyncClient) -> None:
    member = await sign_in(http)
    unknown = [secret_text(kind, new_bytes()) for kind in (USER_ACCESS, USER_REFRESH)]

    answers = [
        await sign_out(http, token)
        for token in (member.access_token, member.access_token, member.refresh_token, *unknown, *MALFORMED_TOKENS)
    ]

    assert {(answer.status, answer.response.content) for answer in answers} == {(200, b"{}")}


@pytest.mark.security("T-09", "R-01")
@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
async def test_signing_out_with_either_token_ends_the_whole_session_and_no_other(
    http: httpx2.AsyncClient, kind: str
) -> None:
    member = await sign_in(http)
    elsewhere = await sign_in(http, member.email)
    older = Member(http, member.email, vars(member))
    await member.renew()

    await sign_out(http, vars(member)[kind])

    assert not await member.is_signed_in()
    assert not await older.is_signed_in()
    assert (await member.refresh()).status == 401
    assert await elsewhere.is_signed_in()


async def test_signing_out_with_a_rotated_refresh_token_works_within_the_grace_period(http: httpx2.AsyncClient) -> None:
    member = await sign_in(http)
    old_token = member.refresh_token
    await member.renew()

    await sign_out(http, old_token)

    assert not await member.is_signed_in()


@pytest.mark.parametrize("path", ["/auth", *REVOKE])
async def test_signing_out_with_a_rotated_refresh_token_does_nothing_after_the_grace_period(
    http: httpx2.AsyncClient, db: Any, path: str
) -> None:
    member = await sign_in(http)
    old_token = member.refresh_token
    await member.renew()
    await age_rotations(db, member, 31)

    request = http.delete(f"{AUTH}/{old_token}") if path == "/auth" else http.post(path, json={"token": old_token})
    answer = await request

    assert (answer.status_code, answer.content) == (200, b"{}")
    assert await member.is_signed_in()
    assert (await member.refresh()).status == 200


async def test_signing_out_with_a_grandparent_token_does_nothing(http: httpx2.AsyncClient) -> None:
    member = await sign_in(http)
    grandparent = member.refresh_token
    await member.renew()
    await member.renew()

    await sign_out(http, grandparent)

    assert await member.is_signed_in()


async def test_signing_out_ignores_the_bearer_token(http: httpx2.AsyncClient) -> None:
    member, other = await sign_in(http), await sign_in(http)

    answer = await other.delete(f"/auth/{member.access_token}", headers={"Authorization": "Bearer gone"})

    assert (answer.status, answer.json) == (200, {})
    assert not await member.is_signed_in()
    assert await other.is_signed_in()


@pytest.mark.parametrize("path", REVOKE)
@pytest.mark.parametrize("form", ["json", "data"])
async def test_revoking_a_token_ends_its_session(http: httpx2.AsyncClient, path: str, form: str) -> None:
    for kind in ("access_token", "refresh_token"):
        member = await sign_in(http)

        answer = await http.post(path, **{form: {"token": vars(member)[kind]}})  # type: ignore[arg-type]

        assert (answer.status_code, answer.content) == (200, b"{}")
        assert not await member.is_signed_in()
        assert (await member.refresh()).status == 401


@pytest.mark.parametrize("path", REVOKE)
async def test_revoking_returns_the_same_response_for_any_token(http: httpx2.AsyncClient, path: str) -> None:
    for token in (secret_text(USER_ACCESS, new_bytes()), secret_text(USER_REFRESH, new_bytes()), "x", "é"):
        answer = await http.post(path, json={"token": token})

        assert (answer.status_code, answer.content) == (200, b"{}")


@pytest.mark.security("T-07")
@pytest.mark.parametrize("path", REVOKE)
async def test_a_token_in_the_query_is_refused_with_an_oauth_error(http: httpx2.AsyncClient, path: str) -> None:
    member = await sign_in(http)
    refusals = [
        await http.post(path, params={"token": member.access_token}),
        await http.post(path, params={"token": member.access_token}, json={"token": member.access_token}),
        await http.post(path),
        await http.post(path, json={"token": ["x"]}),
    ]

    for answer in refusals:
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")
        assert set(answer.json()) == {"error", "error_description"}
    assert await member.is_signed_in()


async def test_server_failures_of_revoke_are_oauth_errors(http: httpx2.AsyncClient, db: Any) -> None:
    member = await sign_in(http)
    body = {"token": member.access_token}

    await db.execute("alter table sessions add constraint full_up check (false) not valid")
    failure = await http.post(REVOKE[0], json=body)
    await db.execute("alter table sessions drop constraint full_up")
    await db.execute("alter table access_tokens rename to hidden")
    unavailable = await http.post(REVOKE[0], json=body)
    await db.execute("alter table hidden rename to access_tokens")

    assert (failure.status_code, failure.json()["error"]) == (500, "server_error")
    assert (unavailable.status_code, unavailable.json()["error"]) == (503, "temporarily_unavailable")
    assert (await http.post(REVOKE[0], json=body)).status_code == 200
    assert not await member.is_signed_in()


async def test_an_expired_access_token_is_refused_everywhere(http: httpx2.AsyncClient, db: Any) -> None:
    member = await sign_in(http)
    statement = "update access_tokens set expires_at = now() - interval '1 second' where session_id = $1"
    await db.execute(statement, await find_session_id(db, member))

    routes = [
        ("GET", "/account"),
        ("PATCH", "/account"),
        ("GET", "/account/addresses"),
        ("POST", "/account/addresses"),
        ("GET", "/account/orders"),
        ("GET", "/account/sessions"),
        ("POST", "/cart"),
        ("GET", "/cart"),
        ("DELETE", "/cart"),
        ("PATCH", "/cart/associate"),
    ]
    for method, path in routes:
        answer = await member.ask(method, path, json=None if method == "GET" else {"user": {}, "address": {}})

        assert (answer.status, answer.code) == (401, "invalid_token"), path
        assert 'error="invalid_token"' in answer.headers["www-authenticate"]
    assert (await member.refresh()).status == 200


@pytest.mark.security("T-11")
async def test_tokens_of_one_kind_are_not_accepted_as_another(http: httpx2.AsyncClient, guest: Shopper) -> None:
    member = await sign_in(http)
    await guest.post("/cart")

    for wrong in (member.refresh_token, str(guest.order_token), secret_text("shppt_", new_bytes())):
        answer = await member.get("/account", headers={"Authorization": f"Bearer {wrong}"})
        assert (answer.status, answer.code) == (401, "invalid_token")
    assert (await guest.get("/cart", headers={"X-Shop-Order-Token": member.access_token})).status == 404


@pytest.mark.security("T-07")
async def test_an_access_token_in_the_query_is_ignored(http: httpx2.AsyncClient) -> None:
    member = await sign_in(http)

    answer = await http.get(PREFIX + "/account", params={"access_token": member.access_token})

    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")


@pytest.mark.security("T-02")
async def test_a_forged_access_token_never_reaches_the_database(http: httpx2.AsyncClient, service: Service) -> None:
    member = await sign_in(http)
    token = member.access_token
    positions = range(6, len(token), 9)
    forged_tokens = [token[:at] + ("0" if token[at] != "0" else "1") + token[at + 1 :] for at in positions]

    answers = [await member.get("/account", headers={"Authorization": f"Bearer {each}"}) for each in forged_tokens]

    assert [answer.status for answer in answers] == [401] * len(positions)
    assert [service.request_line(answer.request_id)["statements"] for answer in answers] == [0] * len(positions)


@pytest.mark.security("T-10")
async def test_a_disabled_user_loses_every_token_at_once(http: httpx2.AsyncClient, db: Any) -> None:
    member = await sign_in(http)
    elsewhere = await sign_in(http, member.email)
    await ask_for_code(http, member.email)
    code = await mailed_code(http, member.email)
    await db.execute("update users set disabled_at = now() where id = $1", await member.id())

    assert [await member.is_signed_in(), await elsewhere.is_signed_in()] == [False, False]
    assert [(await member.refresh()).status, (await elsewhere.refresh()).status] == [401, 401]
    assert (await member.post("/cart")).status == 401
    refusal = await exchange_code(http, member.email, code)
    assert (refusal.status, refusal.code) == (401, "invalid_code")


@pytest.mark.security("T-03")
async def test_no_token_or_code_is_stored_in_the_database(http: httpx2.AsyncClient, db: Any) -> None:
    email = new_email()
    await ask_for_code(http, email, first_name="Ada")
    code = await mailed_code(http, email)
    member = Member(http, email, (await exchange_code(http, email, code)).json)
    secrets = [member.access_token, member.refresh_token]
    await member.renew()
    cart = await member.post("/cart")
    secrets += [member.access_token, member.refresh_token, cart["token"]]
    plain = [secret[6:] for secret in secrets] + [secret[6:].encode().hex() for secret in secrets]

    tables = await db.fetch("select tablename from pg_tables where schemaname = 'public'")
    for (table,) in tables:
        for (row,) in await db.fetch(f"select t::text from {table} t"):
            assert not any(secret in row for secret in plain), table
    own = "select t::text from login_requests t where email_key = $1"
    requests = [row for (row,) in await db.fetch(own, email)]
    mails = [row for (row,) in await db.fetch("select t::text from outbox_mails t where recipient = $1", email)]
    assert (len(requests), len(mails)) == (1, 1)
    columns = {part for row in requests + mails for part in row.strip("()").split(",")}
    assert code not in columns
    assert sha256(code.encode()).hexdigest() not in requests[0]


@pytest.mark.security("A-02")
async def test_signing_in_refreshing_and_signing_out_are_audited(http: httpx2.AsyncClient, db: Any) -> None:
    member = await sign_in(http)
    user_id, session_id = await member.id(), await find_session_id(db, member)
    await member.renew()
    await sign_out(http, member.access_token)

    query = "select action, outcome, detail->>'session_id' from audit_events where actor_id = $1 order by at"
    rows = [tuple(row) for row in await db.fetch(query, user_id)]
    assert [row[:2] for row in rows] == [("sign_in", "done"), ("refresh", "done"), ("sign_out", "done")]
    assert [row[2] for row in rows[1:]] == [str(session_id)] * 2


@pytest.mark.security("A-02")
async def test_token_reuse_is_audited_with_user_and_source(http: httpx2.AsyncClient, db: Any) -> None:
    member = await sign_in(http)
    user_id, session_id = await member.id(), await find_session_id(db, member)
    await member.refresh()
    await age_rotations(db, member, 60)
    refusal = await member.refresh()

    events = "select actor_id, outcome, source, detail from audit_events where request_id = $1 and action = 'reuse'"
    row = await db.fetchrow(events, refusal.request_id)
    assert (row["actor_id"], row["outcome"], row["source"]) == (user_id, "ended", "127.0.0.1")
    assert str(session_id) in row["detail"]
    reason = await db.fetchval("select revoke_reason from sessions where id = $1", session_id)
    assert reason == "a rotated refresh token was used again"


async def test_a_second_sign_out_is_not_audited_again(http: httpx2.AsyncClient, db: Any) -> None:
    member = await sign_in(http)
    user_id = await member.id()
    for token in (member.access_token, member.refresh_token, member.access_token):
        await sign_out(http, token)

    events = "select count(*) from audit_events where actor_id = $1 and action = 'sign_out'"
    assert await db.fetchval(events, user_id) == 1


@pytest.mark.security("A-02")
@pytest.mark.parametrize(
    "change",
    [
        "update audit_events set outcome = 'done'",
        "update audit_events set at = at - interval '400 days'",
        "delete from audit_events",
        "truncate audit_events",
        "truncate audit_events cascade",
    ],
)
async def test_the_database_refuses_changes_of_audit_events(http: httpx2.AsyncClient, db: Any, change: str) -> None:
    await sign_in(http)
    before = await db.fetchval("select count(*) from audit_events")

    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="kept as they are"):
        await db.execute(change)

    assert await db.fetchval("select count(*) from audit_events") >= before


@pytest.mark.security("A-02")
async def test_an_audit_event_can_be_deleted_after_a_year_and_not_before(db: Any) -> None:
    insert = """insert into audit_events (id, at, actor_kind, action, outcome)
                values ($1, now() - make_interval(days => $2), 'guest', 'sign_in', 'refused')"""
    old, young = uuid4(), uuid4()
    await db.execute(insert, old, 366)
    await db.execute(insert, young, 364)

    assert await db.execute("delete from audit_events where id = $1", old) == "DELETE 1"
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await db.execute("delete from audit_events where id = $1", young)


@pytest.mark.security("R-04")
async def test_the_database_refuses_two_children_of_one_token(http: httpx2.AsyncClient, db: Any) -> None:
    member = await sign_in(http)
    await member.refresh()
    parent = sha256(member.refresh_token.encode()).digest()
    child = """insert into refresh_tokens (hash, session_id, parent_hash, created_at)
               values ($1, $2, $3, now())"""

    with pytest.raises(asyncpg.UniqueViolationError):
        await db.execute(child, new_bytes(), await find_session_id(db, member), parent)


async def test_a_sign_out_concurrent_with_refreshes_ends_the_session(http: httpx2.AsyncClient) -> None:
    member = await sign_in(http)

    answers = await asyncio.gather(
        *(member.refresh() for _ in range(10)), sign_out(http, member.refresh_token), *(member.refresh() for _ in "ab")
    )

    assert {answer.status for answer in answers} <= {200, 401}
    assert not await member.is_signed_in()
    for answer in answers:
        if "access_token" in answer.json:
            assert not await Member(http, member.email, answer.json).is_signed_in()


async def test_checking_a_bearer_token_costs_one_statement(http: httpx2.AsyncClient, service: Service) -> None:
    member = await sign_in(http)

    responses = [await member.get("/account"), await member.get("/cart"), await member.post("/cart")]

    assert [service.request_line(answer.request_id)["statements"] for answer in responses] == [1, 1, 4]
