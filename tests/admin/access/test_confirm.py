"""The password again before what is dangerous: no older than ten minutes."""

from typing import Any
from uuid import uuid4

import httpx
import pytest

from shop.base.ids import new_id
from shop.base.secrets import secret_hash
from tests.admin.dashboard import NOBODY, PASSWORD, SAME_ORIGIN, Desk, age, events, new_desk, secret_of

FRESH_PAGES = [
    "/admin/integrations/api/new",
    f"/admin/integrations/api/{NOBODY}/revoke",
    "/admin/settings/operators/new",
    "/admin/account/password",
    "/admin/account/authenticator",
    "/admin/account/authenticator/remove",
    "/admin/account/recovery-codes",
]
FRESH_FORMS = [
    "/admin/integrations/api/new",
    f"/admin/integrations/api/{NOBODY}/rotate",
    f"/admin/integrations/api/{NOBODY}/revoke",
    "/admin/settings/operators/new",
    f"/admin/settings/operators/{NOBODY}/disable",
    f"/admin/settings/operators/{NOBODY}/enable",
    "/admin/account/password",
    "/admin/account/authenticator",
    "/admin/account/authenticator/remove",
    "/admin/account/recovery-codes",
]


@pytest.mark.security("D-06")
@pytest.mark.parametrize("path", FRESH_PAGES)
async def test_a_dangerous_page_wants_a_fresh_password(desk: Desk, db: Any, path: str) -> None:
    await age(db, desk, "authenticated_at", "11 minutes")

    answer = await desk.get(path)

    assert (answer.status_code, answer.headers["location"]) == (303, f"/admin/confirm?next={path}")


@pytest.mark.security("D-06")
@pytest.mark.parametrize("path", FRESH_FORMS)
async def test_a_dangerous_form_wants_a_fresh_password(desk: Desk, db: Any, path: str) -> None:
    await age(db, desk, "authenticated_at", "11 minutes")

    answer = await desk.post(path)

    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/admin/confirm?next=/admin/")


@pytest.mark.security("D-06")
async def test_nothing_is_made_with_an_old_password(desk: Desk, db: Any) -> None:
    await age(db, desk, "authenticated_at", "11 minutes")
    application_id, email = new_id(), f"{uuid4()}@invited.example"

    await desk.post(
        "/admin/integrations/api/new", id=str(application_id), name="x", access_level="write", step="create"
    )
    await desk.post("/admin/settings/operators/new", email=email)

    assert await db.fetchval("select count(*) from applications where id = $1", application_id) == 0
    assert await db.fetchval("select count(*) from operators where email = $1", email) == 0


async def test_nine_minutes_are_fresh(desk: Desk, db: Any) -> None:
    await age(db, desk, "authenticated_at", "9 minutes")

    assert (await desk.get("/admin/integrations/api/new")).status_code == 200


async def test_the_password_again_is_fresh_and_changes_the_cookie(desk: Desk, db: Any) -> None:
    await age(db, desk, "authenticated_at", "11 minutes")
    old = desk.secret

    answer = await desk.post("/admin/confirm", password=PASSWORD, next="/admin/integrations/api/new")
    desk.secret = secret_of(answer)

    assert answer.headers["location"] == "/admin/integrations/api/new"
    assert (await desk.get("/admin/integrations/api/new")).status_code == 200
    assert desk.secret != old
    assert not await Desk(desk.http, desk.id, desk.email, old).is_signed_in()
    assert await events(db, actor=desk.id) == [("confirm", "done")]


async def test_a_wrong_password_confirms_nothing(desk: Desk, db: Any) -> None:
    await age(db, desk, "authenticated_at", "11 minutes")

    answer = await desk.post("/admin/confirm", password="not the password at all")

    assert answer.status_code == 401
    assert "Wrong password." in answer.text
    assert (await desk.get("/admin/integrations/api/new")).status_code == 303
    assert await events(db, actor=desk.id) == [("sign_in", "refused")]


@pytest.mark.parametrize("wanted", ["https://evil.example", "//evil.example", "/mailbox"])
async def test_confirming_leads_nowhere_but_into_the_dashboard(desk: Desk, wanted: str) -> None:
    page = await desk.http.get("/admin/confirm", params={"next": wanted}, headers=desk.cookie)
    answer = await desk.post("/admin/confirm", password=PASSWORD, next=wanted)

    assert 'name="next" value="/admin"' in page.text
    assert answer.headers["location"] == "/admin"


async def test_a_new_password_ends_the_others_and_keeps_this_session(desk: Desk, db: Any) -> None:
    other = Desk(desk.http, desk.id, desk.email, (await _second(desk, db)))

    wrong = await desk.post("/admin/account/password", password="short", again="short")
    answer = await desk.post(
        "/admin/account/password", password="a much better password", again="a much better password"
    )

    assert wrong.status_code == 422
    assert answer.headers["location"] == "/admin/account?done=password"
    assert await desk.is_signed_in()
    assert not await other.is_signed_in()
    fields = {"email": desk.email, "password": "a much better password"}
    assert (await desk.http.post("/admin/sign-in", data=fields, headers=SAME_ORIGIN)).status_code == 303
    assert ("password_changed", "done") in await events(db, actor=desk.id)


async def test_all_other_sessions_can_be_ended(desk: Desk, db: Any) -> None:
    other = Desk(desk.http, desk.id, desk.email, (await _second(desk, db)))

    await desk.post("/admin/account/sessions/end")

    assert (await desk.is_signed_in(), await other.is_signed_in()) == (True, False)
    assert await events(db, actor=desk.id) == [("sessions_end", "done")]


async def _second(desk: Desk, db: Any) -> str:
    second = await new_desk(desk.http, db)
    await db.execute(
        "update operator_sessions set operator_id = $1 where hash = $2", desk.id, secret_hash(second.secret)
    )
    return second.secret


async def test_confirming_without_a_session_is_a_sign_in(http: httpx.AsyncClient) -> None:
    assert (await http.get("/admin/confirm")).status_code == 401
