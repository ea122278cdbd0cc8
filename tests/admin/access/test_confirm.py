"""Dangerous pages and forms ask for the password again if it was entered more than ten minutes ago."""

from typing import Any
from uuid import uuid4

import httpx2
import pytest

from shop.base.crypto.secrets import secret_hash
from shop.base.ids import new_id
from shop.rules.access.permissions import OWNER_ID
from tests.admin.dashboard import (
    PASSWORD,
    SAME_ORIGIN,
    UNKNOWN_ID,
    Dashboard,
    backdate_session,
    events,
    new_dashboard,
    secret_of,
)

FRESH_PAGES = [
    "/admin/integrations/api/new",
    f"/admin/integrations/api/{UNKNOWN_ID}/revoke",
    "/admin/settings/operators/new",
    "/admin/account/password",
    "/admin/account/authenticator",
    "/admin/account/authenticator/remove",
    "/admin/account/recovery-codes",
    "/admin/account/passkeys/new",
    f"/admin/account/passkeys/{UNKNOWN_ID}",
]
FRESH_FORMS = [
    "/admin/integrations/api/new",
    f"/admin/integrations/api/{UNKNOWN_ID}/rotate",
    f"/admin/integrations/api/{UNKNOWN_ID}/revoke",
    "/admin/settings/operators/new",
    f"/admin/settings/operators/{UNKNOWN_ID}/disable",
    f"/admin/settings/operators/{UNKNOWN_ID}/enable",
    "/admin/account/password",
    "/admin/account/authenticator",
    "/admin/account/authenticator/remove",
    "/admin/account/recovery-codes",
    "/admin/account/passkeys/new",
    "/admin/account/passkeys/new/options",
    f"/admin/account/passkeys/{UNKNOWN_ID}",
    f"/admin/account/passkeys/{UNKNOWN_ID}/remove",
]


@pytest.mark.security("D-06")
@pytest.mark.parametrize("path", FRESH_PAGES)
async def test_a_protected_page_requires_a_fresh_session(dashboard: Dashboard, db: Any, path: str) -> None:
    await backdate_session(db, dashboard, "authenticated_at", "11 minutes")

    answer = await dashboard.get(path)

    assert (answer.status_code, answer.headers["location"]) == (303, f"/admin/confirm?next={path}")


@pytest.mark.security("D-06")
@pytest.mark.parametrize("path", FRESH_FORMS)
async def test_a_protected_form_requires_a_fresh_session(dashboard: Dashboard, db: Any, path: str) -> None:
    await backdate_session(db, dashboard, "authenticated_at", "11 minutes")

    answer = await dashboard.post(path)

    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/admin/confirm?next=/admin/")


@pytest.mark.security("D-06")
async def test_nothing_is_created_without_a_fresh_session(dashboard: Dashboard, db: Any) -> None:
    await backdate_session(db, dashboard, "authenticated_at", "11 minutes")
    application_id, email = new_id(), f"{uuid4()}@invited.example"

    await dashboard.post(
        "/admin/integrations/api/new", id=str(application_id), name="x", access_level="write", step="create"
    )
    await dashboard.post("/admin/settings/operators/new", email=email, role_id=str(OWNER_ID))

    assert await db.fetchval("select count(*) from applications where id = $1", application_id) == 0
    assert await db.fetchval("select count(*) from operators where email = $1", email) == 0


async def test_a_session_is_fresh_for_nine_minutes(dashboard: Dashboard, db: Any) -> None:
    await backdate_session(db, dashboard, "authenticated_at", "9 minutes")

    assert (await dashboard.get("/admin/integrations/api/new")).status_code == 200


async def test_confirming_the_password_makes_the_session_fresh_and_changes_the_cookie(
    dashboard: Dashboard, db: Any
) -> None:
    await backdate_session(db, dashboard, "authenticated_at", "11 minutes")
    old_secret = dashboard.secret

    answer = await dashboard.post("/admin/confirm", password=PASSWORD, next="/admin/integrations/api/new")
    dashboard.secret = secret_of(answer)

    assert answer.headers["location"] == "/admin/integrations/api/new"
    assert (await dashboard.get("/admin/integrations/api/new")).status_code == 200
    assert dashboard.secret != old_secret
    assert not await Dashboard(dashboard.http, dashboard.id, dashboard.email, old_secret).is_signed_in()
    assert await events(db, actor=dashboard.id) == [("confirm", "done")]


async def test_a_wrong_password_confirms_nothing(dashboard: Dashboard, db: Any) -> None:
    await backdate_session(db, dashboard, "authenticated_at", "11 minutes")

    answer = await dashboard.post("/admin/confirm", password="not the password at all")

    assert answer.status_code == 401
    assert "Wrong password." in answer.text
    assert (await dashboard.get("/admin/integrations/api/new")).status_code == 303
    assert await events(db, actor=dashboard.id) == [("sign_in", "refused")]


@pytest.mark.parametrize("next_path", ["https://evil.example", "//evil.example", "/mailbox"])
async def test_confirming_redirects_only_to_dashboard_pages(dashboard: Dashboard, next_path: str) -> None:
    page = await dashboard.http.get("/admin/confirm", params={"next": next_path}, headers=dashboard.cookie)
    answer = await dashboard.post("/admin/confirm", password=PASSWORD, next=next_path)

    assert 'name="next" value="/admin"' in page.text
    assert answer.headers["location"] == "/admin"


async def test_changing_the_password_ends_all_other_sessions(dashboard: Dashboard, db: Any) -> None:
    other = Dashboard(dashboard.http, dashboard.id, dashboard.email, (await _add_session(dashboard, db)))

    wrong = await dashboard.post("/admin/account/password", password="short", again="short")
    answer = await dashboard.post(
        "/admin/account/password", password="a much better password", again="a much better password"
    )

    assert wrong.status_code == 422
    assert answer.headers["location"] == "/admin/account?done=password"
    assert await dashboard.is_signed_in()
    assert not await other.is_signed_in()
    fields = {"email": dashboard.email, "password": "a much better password"}
    assert (await dashboard.http.post("/admin/sign-in", data=fields, headers=SAME_ORIGIN)).status_code == 303
    assert ("password_changed", "done") in await events(db, actor=dashboard.id)


async def test_all_other_sessions_can_be_ended(dashboard: Dashboard, db: Any) -> None:
    other = Dashboard(dashboard.http, dashboard.id, dashboard.email, (await _add_session(dashboard, db)))

    await dashboard.post("/admin/account/sessions/end")

    assert (await dashboard.is_signed_in(), await other.is_signed_in()) == (True, False)
    assert await events(db, actor=dashboard.id) == [("sessions_end", "done")]


async def _add_session(dashboard: Dashboard, db: Any) -> str:
    other = await new_dashboard(dashboard.http, db)
    await db.execute(
        "update operator_sessions set operator_id = $1 where hash = $2", dashboard.id, secret_hash(other.secret)
    )
    return other.secret


async def test_the_confirmation_page_without_a_session_is_401(http: httpx2.AsyncClient) -> None:
    assert (await http.get("/admin/confirm")).status_code == 401
