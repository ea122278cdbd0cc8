"""Passkeys: one with user verification replaces password and code; forged, foreign and repeated answers do nothing."""

import asyncio
import json
import re
from hashlib import sha256
from typing import Any

import cbor2
import httpx2
import pytest

from shop.base.crypto.keys import parse_keys
from shop.rules.access.passkeys import SIGN_IN, new_challenge
from tests.admin.authenticator import (
    PASSKEYS,
    PRESENT,
    Authenticator,
    decode,
    encode,
    host_header,
    new_options,
    open_sign_in,
    origin_of,
    register,
    session_of,
    submit,
)
from tests.admin.dashboard import SAME_ORIGIN, Dashboard, backdate_session, events, new_dashboard
from tests.service import KEYS

OPTIONS = f"{PASSKEYS}/new/options"


async def count_passkeys(db: Any, dashboard: Dashboard) -> int:
    count: int = await db.fetchval("select count(*) from operator_passkeys where operator_id = $1", dashboard.id)
    return count


async def passkey_path(db: Any, dashboard: Dashboard) -> str:
    passkey_id = await db.fetchval("select id from operator_passkeys where operator_id = $1", dashboard.id)
    return f"{PASSKEYS}/{passkey_id}"


async def is_opened(http: httpx2.AsyncClient, answer: httpx2.Response) -> bool:
    secret = session_of(answer)
    return (
        secret is not None
        and (await http.get("/admin/account", headers={"Cookie": f"__Host-shop_operator={secret}"})).status_code == 200
    )


@pytest.mark.security("D-13")
async def test_a_passkey_signs_in_without_password_and_code(http: httpx2.AsyncClient, db: Any) -> None:
    dashboard = await new_dashboard(http, db, totp=True)
    authenticator = await register(dashboard)
    browser = await open_sign_in(http)

    answer = await browser.sign_in(authenticator.sign(browser.options), next="/admin/orders")

    assert answer.status_code == 303, answer.text
    assert (answer.status_code, answer.headers["location"]) == (303, "/admin/orders")
    assert await is_opened(http, answer)
    assert await events(db, actor=dashboard.id) == [("passkey_added", "done"), ("sign_in", "done")]


@pytest.mark.security("D-13")
async def test_the_options_of_a_sign_in_name_no_passkey(dashboard: Dashboard) -> None:
    await register(dashboard)
    browser = await open_sign_in(dashboard.http)

    assert browser.options["allowCredentials"] == []
    assert browser.options["userVerification"] == "required"
    assert browser.options["rpId"] == "localhost"


@pytest.mark.security("D-13")
async def test_a_challenge_works_once(dashboard: Dashboard) -> None:
    authenticator = await register(dashboard)
    browser = await open_sign_in(dashboard.http)
    authenticator.count = -1
    credential = authenticator.sign(browser.options)

    answers = [await browser.sign_in(credential) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [303, 401, 401]
    assert "was not accepted" in answers[1].text


@pytest.mark.security("D-13")
async def test_of_two_concurrent_uses_of_a_challenge_one_signs_in(dashboard: Dashboard) -> None:
    authenticator = await register(dashboard)
    browser = await open_sign_in(dashboard.http)
    credential = authenticator.sign(browser.options)

    answers = await asyncio.gather(*(browser.sign_in(credential) for _ in range(5)))

    assert sorted(answer.status_code for answer in answers) == [303, 401, 401, 401, 401]


@pytest.mark.security("D-13")
async def test_a_registration_cannot_be_repeated_after_its_removal(dashboard: Dashboard, db: Any) -> None:
    authenticator = Authenticator(origin_of(dashboard.http))
    credential = authenticator.create(await new_options(dashboard, OPTIONS))
    await submit(dashboard, f"{PASSKEYS}/new", credential, name="Laptop")
    await dashboard.post(f"{await passkey_path(db, dashboard)}/remove")

    answer = await submit(dashboard, f"{PASSKEYS}/new", credential, name="Laptop")

    assert answer.status_code == 409
    assert await count_passkeys(db, dashboard) == 0


@pytest.mark.security("D-13")
async def test_a_challenge_works_only_in_the_browser_that_asked_for_it(dashboard: Dashboard) -> None:
    authenticator = await register(dashboard)
    browser, other = await open_sign_in(dashboard.http), await open_sign_in(dashboard.http)

    assert (await other.sign_in(authenticator.sign(browser.options))).status_code == 401
    other.cookie = ""
    assert (await other.sign_in(authenticator.sign(other.options))).status_code == 401
    assert (await browser.sign_in(authenticator.sign(browser.options))).status_code == 303


@pytest.mark.security("D-13")
@pytest.mark.parametrize(("age", "status"), [(290, 303), (301, 401), (-60, 401)])
async def test_a_challenge_expires_after_five_minutes(dashboard: Dashboard, db: Any, age: int, status: int) -> None:
    authenticator = await register(dashboard)
    await db.execute("update operators set passkey_step = 0 where id = $1", dashboard.id)
    browser = await open_sign_in(dashboard.http)
    issued_at = int(decode(browser.options["challenge"]).split(b".")[1]) - age * 1_000_000
    cookie = browser.cookie.partition("=")[2]
    browser_hash = sha256(f"{origin_of(dashboard.http)}\0{cookie}".encode()).digest()
    challenge = new_challenge(parse_keys(KEYS), SIGN_IN, browser_hash, bytes(16), issued_at)

    assert (await browser.sign_in(authenticator.sign({"challenge": encode(challenge)}))).status_code == status


@pytest.mark.security("D-13")
async def test_a_challenge_is_for_one_purpose(dashboard: Dashboard) -> None:
    authenticator = await register(dashboard)
    for path in ("/admin/confirm/passkey/options", OPTIONS):
        options = await new_options(dashboard, path)
        browser = await open_sign_in(dashboard.http)

        assert (await browser.sign_in(authenticator.sign(options))).status_code == 401


@pytest.mark.security("D-13")
@pytest.mark.parametrize(
    "change",
    [
        {"origin": "https://evil.example"},
        {"origin": "http://localhost:1"},
        {"rp_id": "evil.example"},
        {"flags": PRESENT},
        {"flags": 4},
    ],
    ids=str,
)
async def test_a_foreign_or_unverified_answer_is_refused(dashboard: Dashboard, db: Any, change: dict[str, Any]) -> None:
    authenticator, stranger = await register(dashboard), Authenticator(origin_of(dashboard.http))
    browser = await open_sign_in(dashboard.http)
    for name, value in change.items():
        setattr(authenticator, name, value)
        setattr(stranger, name, value)

    signed_in = await browser.sign_in(authenticator.sign(browser.options))
    added = await submit(
        dashboard, f"{PASSKEYS}/new", stranger.create(await new_options(dashboard, OPTIONS)), name="Phone"
    )

    assert (signed_in.status_code, added.status_code) == (401, 409)
    assert session_of(signed_in) is None
    assert await count_passkeys(db, dashboard) == 1


@pytest.mark.security("D-13")
async def test_a_use_count_that_does_not_grow_is_refused(dashboard: Dashboard, db: Any) -> None:
    authenticator = await register(dashboard)
    for count, status in ((6, 303), (5, 401), (6, 401), (7, 303)):
        browser = await open_sign_in(dashboard.http)
        authenticator.count = count - 1

        assert (await browser.sign_in(authenticator.sign(browser.options))).status_code == status


@pytest.mark.security("D-13")
async def test_another_operators_passkey_confirms_nothing(dashboard: Dashboard, other_dashboard: Dashboard) -> None:
    await register(dashboard)
    foreign = await register(other_dashboard)
    options = await new_options(dashboard, "/admin/confirm/passkey/options")

    assert (await submit(dashboard, "/admin/confirm/passkey", foreign.sign(options))).status_code == 401


@pytest.mark.security("D-13")
async def test_a_signature_of_another_key_does_not_sign_in(dashboard: Dashboard, other_dashboard: Dashboard) -> None:
    own, foreign = await register(dashboard), await register(other_dashboard)
    browser = await open_sign_in(dashboard.http)
    foreign.id = own.id

    assert (await browser.sign_in(foreign.sign(browser.options))).status_code == 401
    foreign.user_handle = own.user_handle
    assert (await browser.sign_in(foreign.sign(browser.options))).status_code == 401
    own.user_handle = b"someone else"
    assert (await browser.sign_in(own.sign(browser.options))).status_code == 401


async def test_a_passkey_confirms_like_the_password(dashboard: Dashboard, db: Any) -> None:
    authenticator = await register(dashboard)
    await backdate_session(db, dashboard, "authenticated_at", "11 minutes")
    page = await dashboard.get("/admin/confirm?next=/admin/account/password", **host_header(dashboard.http))
    options = await new_options(dashboard, "/admin/confirm/passkey/options")

    answer = await submit(
        dashboard, "/admin/confirm/passkey", authenticator.sign(options), next="/admin/account/password"
    )

    assert "Use a passkey instead" in page.text
    assert answer.headers["location"] == "/admin/account/password"
    assert not await dashboard.is_signed_in()
    dashboard.secret = session_of(answer) or ""
    assert (await dashboard.get("/admin/account/password")).status_code == 200


@pytest.mark.security("D-13")
async def test_a_removed_passkey_or_disabled_operator_does_not_sign_in(dashboard: Dashboard, db: Any) -> None:
    authenticator = await register(dashboard)
    browser = await open_sign_in(dashboard.http)
    await db.execute("update operators set disabled_at = now() where id = $1", dashboard.id)
    disabled = await browser.sign_in(authenticator.sign(browser.options))
    await db.execute("update operators set disabled_at = null where id = $1", dashboard.id)
    await dashboard.post(f"{await passkey_path(db, dashboard)}/remove")

    removed = await browser.sign_in(authenticator.sign(browser.options))

    assert (disabled.status_code, removed.status_code) == (401, 401)
    assert await count_passkeys(db, dashboard) == 0


@pytest.mark.security("D-13")
async def test_removing_a_passkey_ends_the_other_sessions_and_notifies(dashboard: Dashboard, db: Any) -> None:
    authenticator = await register(dashboard)
    browser = await open_sign_in(dashboard.http)
    answer = await browser.sign_in(authenticator.sign(browser.options))
    assert await is_opened(dashboard.http, answer)

    removal = await dashboard.post(f"{await passkey_path(db, dashboard)}/remove")

    assert removal.headers["location"] == "/admin/account?done=passkey-removed"
    assert await dashboard.is_signed_in()
    assert not await is_opened(dashboard.http, answer)
    actions = await db.fetch(
        """select a.action from outbox_mails m join audit_events a on a.id = m.ref_id
        where m.recipient = $1 order by a.at""",
        dashboard.email,
    )
    assert [row["action"] for row in actions] == ["passkey_added", "passkey_removed"]


async def test_several_passkeys_have_names(dashboard: Dashboard, db: Any) -> None:
    await register(dashboard, "Laptop")
    await dashboard.post(await passkey_path(db, dashboard), name="Old laptop")
    await register(dashboard, "Phone <b>")
    wrong = await dashboard.post(await passkey_path(db, dashboard), name="x\x07")
    page = await dashboard.get("/admin/account")

    assert re.findall(r'<a href="/admin/account/passkeys/[0-9a-f-]+">([^<]*)<', page.text) == [
        "Old laptop",
        "Phone &lt;b&gt;",
    ]
    assert wrong.status_code == 422
    assert ("passkey_renamed", "done") in await events(db, actor=dashboard.id)


@pytest.mark.security("D-13")
async def test_another_operators_passkeys_are_not_found(
    dashboard: Dashboard, other_dashboard: Dashboard, db: Any
) -> None:
    await register(dashboard)
    path = await passkey_path(db, dashboard)

    assert (await other_dashboard.get(path)).status_code == 404
    assert (await other_dashboard.post(path, name="Mine")).status_code == 404
    assert (await other_dashboard.post(f"{path}/remove")).status_code == 404
    assert await count_passkeys(db, dashboard) == 1


async def test_a_credential_is_added_once(dashboard: Dashboard, other_dashboard: Dashboard, db: Any) -> None:
    authenticator = await register(dashboard)
    credential = authenticator.create(await new_options(other_dashboard, OPTIONS))

    assert (await submit(other_dashboard, f"{PASSKEYS}/new", credential, name="Stolen")).status_code == 409
    assert await count_passkeys(db, other_dashboard) == 0


async def test_an_operator_has_at_most_20_passkeys(dashboard: Dashboard, db: Any) -> None:
    await db.execute(
        """insert into operator_passkeys (id, operator_id, name, credential_id, public_key, rp_id, created_at)
        select gen_random_uuid(), $1, 'x', uuid_send(gen_random_uuid()), '', 'localhost', now()
        from generate_series(1, 20)""",
        dashboard.id,
    )
    credential = Authenticator(origin_of(dashboard.http)).create(await new_options(dashboard, OPTIONS))

    answer = await submit(dashboard, f"{PASSKEYS}/new", credential, name="One more")

    assert (answer.status_code, "You have 20 passkeys" in answer.text) == (409, True)


@pytest.mark.security("D-13")
async def test_other_algorithms_and_attestations_are_refused(dashboard: Dashboard, db: Any) -> None:
    for changes in ({"algorithm": -65535}, {"algorithm": -36}, {"format_name": "tpm"}, {"format_name": "none2"}):
        authenticator = Authenticator(origin_of(dashboard.http))
        credential = authenticator.create(await new_options(dashboard, OPTIONS), **changes)

        assert (await submit(dashboard, f"{PASSKEYS}/new", credential, name="x")).status_code == 409
    assert await count_passkeys(db, dashboard) == 0


def hostile_credentials(credential: dict[str, Any]) -> list[str]:
    """Answers that no authenticator gives: malformed JSON, base64, CBOR, and values of other types."""
    response = credential["response"]
    blobs = [b"", b"\x00", b"\xff" * 64, b"\x81" * 5000, cbor2.dumps({"fmt": [], "attStmt": 1, "authData": 2})]
    blobs += [b"\x9b" + b"\xff" * 8, b"\xbb" + b"\x7f" * 8, b"\x5b" + b"\x7f" * 8, b"[" * 5000, b'{"challenge": 1}']
    values: list[object] = [None, 1, [], {}, "", "é", "=", "a", "A" * 20_000, *map(encode, blobs)]
    changed = [
        {**credential, "response": {**response, name: value}}
        for name in response
        for value in values
        if value is not None
    ]
    changed += [{**credential, name: value} for name in credential for value in values]
    return ["", "null", "[]", "{", '"x"', "[" * 5000, "{}", '{"id": "AA", "response": {}}', *map(json.dumps, changed)]


@pytest.mark.security("D-13")
@pytest.mark.torture
async def test_a_malformed_answer_is_refused_and_never_an_error(http: httpx2.AsyncClient, db: Any) -> None:
    dashboard = await new_dashboard(http, db)
    authenticator = await register(dashboard)
    browser = await open_sign_in(http)
    creation = Authenticator(origin_of(http)).create(await new_options(dashboard, OPTIONS))

    for text in hostile_credentials(authenticator.sign(browser.options)):
        answer = await browser.sign_in(text)
        assert answer.status_code in (400, 401), (text[:200], answer.text)
    for text in hostile_credentials(creation):
        answer = await submit(dashboard, f"{PASSKEYS}/new", text, name="x")
        assert answer.status_code in (400, 409), (text[:200], answer.text)
    assert await count_passkeys(db, dashboard) == 1


@pytest.mark.security("D-13")
@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("127.0.0.1", "open the dashboard by its host name, not its IP address"),
        ("[::1]:80", "open the dashboard by its host name, not its IP address"),
        ("evil.example", "set SHOP_PUBLIC_URL"),
        ("localhost.evil.example", "set SHOP_PUBLIC_URL"),
    ],
)
async def test_an_address_without_passkeys_says_why_and_does_not_offer_them(
    dashboard: Dashboard, host: str, reason: str
) -> None:
    account = await dashboard.get("/admin/account", Host=host)
    sign_in = await dashboard.http.get("/admin/sign-in", headers={"Host": host})
    start = await dashboard.http.post("/admin/sign-in/passkey/options", headers={**SAME_ORIGIN, "Host": host})

    assert reason in account.text
    assert "Add a passkey" not in account.text
    assert "passkey" not in sign_in.text
    assert start.status_code == 409


@pytest.mark.security("D-07", "D-13")
async def test_failed_sign_ins_with_a_passkey_are_limited(empty_client: httpx2.AsyncClient, empty_db: Any) -> None:
    dashboard = await new_dashboard(empty_client, empty_db)
    authenticator = await register(dashboard)
    stranger = Authenticator(origin_of(empty_client))
    stranger.id = authenticator.id
    browser = await open_sign_in(empty_client)
    browser.headers = {"X-Forwarded-For": "203.0.113.77"}

    statuses = [(await browser.sign_in(stranger.sign(browser.options))).status_code for _ in range(4)]

    assert statuses == [401, 401, 401, 429]
