"""A form that needs a sign-in or a confirmation first is shown again afterwards, to the same operator only."""

import html
import re
from base64 import urlsafe_b64encode
from typing import Any
from urllib.parse import urlencode

import httpx2
import pytest

from shop.actions.access.sealed_secrets import encrypt_secret
from shop.base.crypto.keys import parse_keys
from shop.rules.access.permissions import OWNER_ID
from tests.admin.authenticator import open_sign_in, register, session_of
from tests.admin.dashboard import (
    PASSWORD,
    SAME_ORIGIN,
    Dashboard,
    backdate_session,
    code,
    csrf_of,
    new_dashboard,
    secret_of,
)
from tests.service import KEYS

PATH = "/admin/customer-groups"
FIELDS = {"name": 'Caf\u00e9s & "bars"', "description": "One\r\ntwo <b>"}


def sealed_of(page: httpx2.Response) -> str:
    match = re.search(r'name="interrupted" value="([^"]+)"', page.text)
    assert match, page.text
    return match[1]


def form_of(page: httpx2.Response) -> tuple[str, list[tuple[str, str]]]:
    """The path and the fields of the form that can be sent again."""
    action = re.search(r'<form method="post" action="([^"]+)"', page.text)
    assert action, page.text
    pairs = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', page.text)
    return action[1], [(html.unescape(name), html.unescape(value)) for name, value in pairs]


async def end_session(db: Any, dashboard: Dashboard) -> None:
    await dashboard.csrf()
    await db.execute("update operator_sessions set revoked_at = now() where operator_id = $1", dashboard.id)


async def sign_in_again(dashboard: Dashboard, sealed_form: str, **fields: str) -> httpx2.Response:
    data = {"email": dashboard.email, "password": PASSWORD, "interrupted": sealed_form, **fields}
    return await dashboard.http.post("/admin/sign-in", data=data, headers=SAME_ORIGIN)


@pytest.mark.security("D-14")
@pytest.mark.parametrize("reason", ["revoked", "idle", "old"])
async def test_a_form_of_an_ended_session_can_be_sent_after_the_sign_in(
    dashboard: Dashboard, db: Any, reason: str
) -> None:
    name = f"{FIELDS['name']} {dashboard.id}"
    await end_session(db, dashboard)
    if reason != "revoked":
        await db.execute("update operator_sessions set revoked_at = null where operator_id = $1", dashboard.id)
        column, age = ("seen_at", "31 minutes") if reason == "idle" else ("created_at", "13 hours")
        await backdate_session(db, dashboard, column, age)

    refusal = await dashboard.post(PATH, name=name, description="One, two <b>")
    page = await sign_in_again(dashboard, sealed_of(refusal))
    action, fields = form_of(page)
    dashboard.secret = secret_of(page)
    answer = await dashboard.http.post(action, data=dict(fields), headers={**dashboard.cookie, **SAME_ORIGIN})

    assert refusal.status_code == 401
    assert name not in html.unescape(refusal.text)
    assert page.status_code == 200
    assert action == PATH
    assert name in html.unescape(page.text)
    assert "set-cookie" in page.headers
    assert answer.status_code == 303
    row = await db.fetchrow("select name, description from customer_groups where name = $1", name)
    assert (row["name"], row["description"]) == (name, "One, two <b>")


@pytest.mark.security("D-14")
async def test_another_operator_never_sees_the_form(dashboard: Dashboard, other_dashboard: Dashboard, db: Any) -> None:
    await end_session(db, dashboard)
    refusal = await dashboard.post(PATH, **FIELDS)

    answer = await sign_in_again(other_dashboard, sealed_of(refusal), next="/admin/orders")

    assert (answer.status_code, answer.headers["location"]) == (303, "/admin/orders")


async def test_the_form_survives_a_wrong_password_and_the_authenticator_code(http: httpx2.AsyncClient, db: Any) -> None:
    dashboard = await new_dashboard(http, db, totp=True)
    await end_session(db, dashboard)
    refusal = await dashboard.post(PATH, **FIELDS)
    wrong = await sign_in_again(dashboard, sealed_of(refusal), password="not the password at all")
    code_page = await sign_in_again(dashboard, sealed_of(wrong))
    ticket = re.search(r'name="ticket" value="([^"]+)"', code_page.text)
    assert ticket

    fields = {"ticket": ticket[1], "code": code(), "interrupted": sealed_of(code_page)}
    page = await http.post("/admin/sign-in/code", data=fields, headers=SAME_ORIGIN)

    assert form_of(page)[1][1:] == list(FIELDS.items())


async def test_the_form_survives_a_sign_in_with_a_passkey(dashboard: Dashboard, db: Any) -> None:
    authenticator = await register(dashboard)
    await end_session(db, dashboard)
    refusal = await dashboard.post(PATH, **FIELDS)
    browser = await open_sign_in(dashboard.http)

    page = await browser.sign_in(authenticator.sign(browser.options), interrupted=sealed_of(refusal))

    assert session_of(page)
    assert form_of(page)[1][1:] == list(FIELDS.items())


async def test_repeated_fields_keep_their_order(dashboard: Dashboard, db: Any) -> None:
    token = await dashboard.csrf()
    await end_session(db, dashboard)
    pairs = [("ids[]", "2"), ("note", ""), ("ids[]", "1")]
    headers = {**dashboard.cookie, **SAME_ORIGIN, "Content-Type": "application/x-www-form-urlencoded"}
    path = f"{PATH}?page=2&sort=name"
    refusal = await dashboard.http.post(path, content=urlencode([("csrf", token), *pairs]), headers=headers)

    action, fields = form_of(await sign_in_again(dashboard, sealed_of(refusal)))

    assert (html.unescape(action), fields[1:]) == (path, pairs)


@pytest.mark.security("D-14")
async def test_secrets_and_forms_of_the_own_account_are_not_carried(dashboard: Dashboard, db: Any) -> None:
    await end_session(db, dashboard)
    for path in ("/admin/account/password", "/admin/account/authenticator", "/admin/confirm", "/admin/sign-out"):
        assert "interrupted" not in (await dashboard.post(path, password="x", code="123456", note="y")).text
    fields = {"name": "x", "password": "p1", "new_password": "p2", "client_secret": "p3", "recovery_code": "p4"}
    refusal = await dashboard.post(PATH, **fields)

    page = await sign_in_again(dashboard, sealed_of(refusal))

    assert form_of(page)[1][1:] == [("name", "x")]


@pytest.mark.security("D-14")
async def test_nothing_is_carried_without_a_former_session(dashboard: Dashboard, db: Any) -> None:
    token = await dashboard.csrf()
    anonymous = await dashboard.http.post(PATH, data={"csrf": token, **FIELDS}, headers=SAME_ORIGIN)
    await db.execute("delete from operator_sessions where operator_id = $1", dashboard.id)
    unknown = await dashboard.http.post(
        PATH, data={"csrf": token, **FIELDS}, headers={**SAME_ORIGIN, **dashboard.cookie}
    )

    assert (anonymous.status_code, unknown.status_code) == (403, 401)
    assert "interrupted" not in anonymous.text + unknown.text


@pytest.mark.security("D-14")
async def test_nothing_is_carried_for_a_disabled_operator_or_a_forged_form(dashboard: Dashboard, db: Any) -> None:
    await end_session(db, dashboard)
    forged = await dashboard.http.post(
        PATH, data={"csrf": "t1.00", **FIELDS}, headers={**SAME_ORIGIN, **dashboard.cookie}
    )
    foreign = await dashboard.post(PATH, headers={"Sec-Fetch-Site": "cross-site"}, **FIELDS)
    await db.execute("update operators set disabled_at = now() where id = $1", dashboard.id)
    disabled = await dashboard.post(PATH, **FIELDS)

    assert (forged.status_code, foreign.status_code, disabled.status_code) == (403, 403, 401)
    assert "interrupted" not in forged.text + foreign.text + disabled.text


async def test_a_large_form_is_carried_up_to_its_limit(dashboard: Dashboard, db: Any) -> None:
    await end_session(db, dashboard)
    fits = await dashboard.post(PATH, name="x", description="y" * 60_000)
    too_large = await dashboard.post(PATH, name="x", description="\x01" * 20_000)

    page = await sign_in_again(dashboard, sealed_of(fits))

    assert form_of(page)[1][2] == ("description", "y" * 60_000)
    assert len(page.text) < 70_000
    assert (too_large.status_code, "interrupted" in too_large.text) == (401, False)


def seal(dashboard: Dashboard, path: str, *, expires_at: int = 2**40) -> str:
    """A form as the shop would seal it, to show that other guards hold too."""
    text = f'{{"path": "{path}", "title": "x", "fields": [["a", "b"]], "expires_at": {expires_at}}}'
    sealed = encrypt_secret(parse_keys(KEYS), "interrupted form", text.encode(), dashboard.id.bytes)
    return urlsafe_b64encode(sealed).decode()


@pytest.mark.security("D-14")
@pytest.mark.torture
async def test_an_expired_damaged_or_foreign_form_is_ignored(dashboard: Dashboard) -> None:
    whole = seal(dashboard, PATH)
    texts = ["", "x", "é", "====", "A" * 100, whole[:-8], whole[:-4] + "AAA=", seal(dashboard, PATH, expires_at=1)]
    texts += [seal(dashboard, path) for path in ("https://evil.example", "//evil.example", "/mailbox", "/admin/../x")]
    for text in texts:
        answer = await sign_in_again(dashboard, text)
        assert (answer.status_code, answer.headers.get("location")) == (303, "/admin"), text

    assert form_of(await sign_in_again(dashboard, whole))[0] == PATH


@pytest.mark.security("D-06", "D-14")
async def test_a_form_is_carried_through_the_confirmation(dashboard: Dashboard, db: Any) -> None:
    path, email = "/admin/settings/operators/new", f"{dashboard.id}@invited.example"
    await backdate_session(db, dashboard, "authenticated_at", "11 minutes")

    confirmation = await dashboard.post(path, email=email, role_id=str(OWNER_ID))
    wrong = await dashboard.post("/admin/confirm", password="wrong", interrupted=sealed_of(confirmation))
    page = await dashboard.post("/admin/confirm", password=PASSWORD, interrupted=sealed_of(wrong))
    count = await db.fetchval("select count(*) from operators where email = $1", email)
    action, fields = form_of(page)
    dashboard.secret = secret_of(page)
    answer = await dashboard.http.post(action, data=dict(fields), headers={**dashboard.cookie, **SAME_ORIGIN})

    assert (confirmation.status_code, wrong.status_code, count) == (401, 401, 0)
    assert "Confirm it is you" in confirmation.text
    assert csrf_of(confirmation.text) == csrf_of(wrong.text)
    assert (action, fields[1:], answer.status_code) == (
        path,
        [("email", email), ("role_id", str(OWNER_ID))],
        200,
    )
    assert await db.fetchval("select count(*) from operators where email = $1", email) == 1
