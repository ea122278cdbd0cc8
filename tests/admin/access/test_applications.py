"""API applications in the dashboard: create, rotate and revoke; a secret is shown once."""

import asyncio
import html
import json
import re
import subprocess
from typing import Any
from uuid import UUID

import httpx2
import pytest

from shop.base.crypto.secrets import secret_hash
from shop.base.ids import new_id
from tests.admin.dashboard import Dashboard, events, new_dashboard
from tests.concurrency import wait_for_locks
from tests.service import Service

APPLICATIONS = "/admin/integrations/api"
SECRET = re.compile(r"shpcs_[0-9A-Za-z]{49}")


async def create_application(
    dashboard: Dashboard, application_id: UUID, *, name: str = "Warehouse", level: str = "write"
) -> httpx2.Response:
    return await dashboard.post(
        f"{APPLICATIONS}/new", id=str(application_id), name=name, access_level=level, step="create"
    )


def field_text(page: httpx2.Response, field: str) -> str:
    match = re.search(rf'id="{field}"[^>]*>([^<]*)<', page.text)
    assert match, page.text
    return html.unescape(match[1])


async def test_creating_an_application_asks_for_confirmation_and_shows_id_and_secret(
    dashboard: Dashboard, db: Any
) -> None:
    form = await dashboard.get(f"{APPLICATIONS}/new")
    match = re.search(r'name="id" value="([^"]+)"', form.text)
    assert match
    application_id = UUID(match[1])

    review = await dashboard.post(f"{APPLICATIONS}/new", id=match[1], name=" Warehouse ", access_level="read")
    before = await db.fetchval("select count(*) from applications where id = $1", application_id)
    response = await create_application(dashboard, application_id, level="read")

    assert before == 0
    assert "Create this application?" in review.text
    row = await db.fetchrow("select * from applications where id = $1", application_id)
    assert (row["name"], row["access_level"], row["created_by_id"]) == ("Warehouse", "read", dashboard.id)
    assert field_text(response, "client-id") == row["client_id"]
    stored_hash = await db.fetchval("select hash from application_secrets where application_id = $1", application_id)
    assert stored_hash == secret_hash(field_text(response, "client-secret"))
    assert (response.status_code, response.headers["cache-control"]) == (200, "no-store")
    assert await events(db, actor=dashboard.id, subject=application_id) == [("application_created", "done")]


async def test_the_page_shows_the_lifetime_of_a_token(
    dashboard: Dashboard, empty_client: httpx2.AsyncClient, empty_db: Any
) -> None:
    pages = [
        await create_application(each, new_id()) for each in (dashboard, await new_dashboard(empty_client, empty_db))
    ]

    matches = [re.search(r"Get a token, valid for ([^<]*)<", page.text) for page in pages]
    assert [match and match[1] for match in matches] == ["2 hours", "90 minutes"]


async def test_the_shown_commands_work_as_pasted(dashboard: Dashboard) -> None:
    response = await create_application(dashboard, new_id())

    script = f"{field_text(response, 'curl-token')}\n{field_text(response, 'curl-orders')}"
    process = await asyncio.create_subprocess_exec("bash", "-euo", "pipefail", "-c", script, stdout=subprocess.PIPE)
    out, _ = await process.communicate()

    assert isinstance(json.loads(out)["data"], list)


@pytest.mark.security("P-06")
async def test_a_form_submitted_twice_creates_one_application_and_shows_its_secret_once(
    dashboard: Dashboard, db: Any
) -> None:
    application_id = new_id()
    first = await create_application(dashboard, application_id)

    again = await create_application(dashboard, application_id, name="Something else", level="read")

    assert SECRET.search(first.text)
    assert (again.status_code, again.headers["location"]) == (303, f"{APPLICATIONS}/{application_id}?done=made")
    assert not SECRET.search(again.text)
    assert await db.fetchval("select name from applications where id = $1", application_id) == "Warehouse"
    assert await db.fetchval("select count(*) from application_secrets where application_id = $1", application_id) == 1


@pytest.mark.security("P-06")
async def test_no_page_shows_a_secret_again(dashboard: Dashboard, service: Service) -> None:
    application_id = new_id()
    secret = field_text(await create_application(dashboard, application_id), "client-secret")

    pages = [
        await dashboard.get(path)
        for path in (APPLICATIONS, f"{APPLICATIONS}/{application_id}", f"{APPLICATIONS}/new", "/admin")
    ]

    assert all(page.status_code == 200 for page in pages)
    assert not any(SECRET.search(page.text) for page in pages)
    assert f"…{secret[-4:]}" in pages[1].text
    service.request_line(pages[-1].headers["x-request-id"])
    assert secret not in "".join(service.lines)


@pytest.mark.parametrize(
    ("name", "level", "message"),
    [
        ("", "read", "Give the application a name."),
        ("x" * 101, "read", "Use at most 100 printable characters."),
        ("a\tb", "read", "Use at most 100 printable characters."),
        ("Warehouse", "", "Choose read or write."),
        ("Warehouse", "admin", "Choose read or write."),
    ],
)
async def test_an_invalid_form_is_refused_with_a_field_error(
    dashboard: Dashboard, db: Any, name: str, level: str, message: str
) -> None:
    application_id = new_id()

    answer = await create_application(dashboard, application_id, name=name, level=level)

    assert answer.status_code == 422
    assert message in answer.text
    assert f'value="{application_id}"' in answer.text
    assert await db.fetchval("select count(*) from applications where id = $1", application_id) == 0


@pytest.mark.parametrize("application_id", ["", "nonsense", "6fa459ea-ee8a-4ca4-894e-db77e160355e"])
async def test_an_invalid_application_id_redirects_to_a_new_form(dashboard: Dashboard, application_id: str) -> None:
    answer = await dashboard.post(
        f"{APPLICATIONS}/new", id=application_id, name="Warehouse", access_level="read", step="create"
    )

    assert answer.headers["location"] == f"{APPLICATIONS}/new"


@pytest.mark.parametrize(("overlap", "seconds"), [("0", 0), ("3600", 3600), ("604800", 604800)])
async def test_rotating_shows_a_new_secret_and_the_old_one_expires_after_the_overlap(
    dashboard: Dashboard, db: Any, overlap: str, seconds: int
) -> None:
    application_id = new_id()
    old_secret = field_text(await create_application(dashboard, application_id), "client-secret")
    replaces = await db.fetchval("select id from application_secrets where application_id = $1", application_id)

    response = await dashboard.post(f"{APPLICATIONS}/{application_id}/rotate", overlap=overlap, replaces=str(replaces))
    again = await dashboard.post(f"{APPLICATIONS}/{application_id}/rotate", overlap=overlap, replaces=str(replaces))

    assert field_text(response, "client-secret") != old_secret
    assert again.headers["location"] == f"{APPLICATIONS}/{application_id}?done=rotated"
    seconds_left = await db.fetchval(
        "select round(extract(epoch from expires_at - now())) from application_secrets where hash = $1",
        secret_hash(old_secret),
    )
    assert abs(int(seconds_left) - seconds) <= 5
    assert ("secret_rotated", "done") in await events(db, actor=dashboard.id, subject=application_id)


async def test_concurrent_rotations_replace_the_secret_once(dashboard: Dashboard, db: Any) -> None:
    application_id = new_id()
    await create_application(dashboard, application_id)
    replaces = await db.fetchval("select id from application_secrets where application_id = $1", application_id)

    async def rotate() -> httpx2.Response:
        return await dashboard.post(f"{APPLICATIONS}/{application_id}/rotate", overlap="604800", replaces=str(replaces))

    async with db.transaction():
        # The lock makes both requests read the secret before either of them replaces it.
        await db.execute("select from applications where id = $1 for update", application_id)
        tasks = [asyncio.create_task(rotate()) for _ in range(2)]
        await wait_for_locks(db, 2)

    assert sorted([(await task).status_code for task in tasks]) == [200, 303]
    query = "select count(*) from application_secrets where application_id = $1 and coalesce(expires_at > now(), true)"
    assert await db.fetchval(query, application_id) == 2


@pytest.mark.security("P-06")
async def test_an_overlap_that_is_not_offered_is_refused(dashboard: Dashboard) -> None:
    application_id = new_id()
    await create_application(dashboard, application_id)

    assert (await dashboard.post(f"{APPLICATIONS}/{application_id}/rotate", overlap="99999999")).status_code == 422


@pytest.mark.security("P-06")
async def test_revoking_asks_for_confirmation_and_ends_the_tokens_immediately(dashboard: Dashboard, db: Any) -> None:
    application_id = new_id()
    response = await create_application(dashboard, application_id)
    client = {"client_id": field_text(response, "client-id"), "client_secret": field_text(response, "client-secret")}
    token_request = {"grant_type": "client_credentials", "scope": "admin", **client}
    token = (await dashboard.http.post("/shop_oauth/token", json=token_request)).json()["access_token"]
    bearer = {"Authorization": f"Bearer {token}"}
    assert (await dashboard.http.get("/api/v2/platform/orders", headers=bearer)).status_code == 200

    question = await dashboard.get(f"{APPLICATIONS}/{application_id}/revoke")
    answer = await dashboard.post(f"{APPLICATIONS}/{application_id}/revoke")

    assert "Revoke Warehouse?" in question.text
    assert answer.headers["location"] == f"{APPLICATIONS}/{application_id}?done=revoked"
    assert (await dashboard.http.get("/api/v2/platform/orders", headers=bearer)).status_code == 401
    page = await dashboard.get(f"{APPLICATIONS}/{application_id}")
    assert "revoked" in page.text
    assert "Rotate secret" not in page.text
    assert ("application_revoked", "done") in await events(db, actor=dashboard.id, subject=application_id)


async def test_the_list_shows_access_level_creator_and_valid_tokens(dashboard: Dashboard) -> None:
    response = await create_application(dashboard, new_id(), name="Counted by <b>the list</b>")
    client = {"client_id": field_text(response, "client-id"), "client_secret": field_text(response, "client-secret")}
    for _ in range(2):
        await dashboard.http.post(
            "/shop_oauth/token", json={"grant_type": "client_credentials", "scope": "admin", **client}
        )

    listing = (await dashboard.get(APPLICATIONS)).text

    row = next(row for row in re.findall(r"<tr>.*?</tr>", listing, re.DOTALL) if "Counted by" in row)
    cells = [re.sub(r"<[^>]+>", "", cell).strip() for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)]
    assert cells[:3] == ["Counted by &lt;b&gt;the list&lt;/b&gt;", "write", dashboard.email]
    assert (cells[5], cells[6]) == ("2", "active")


@pytest.mark.parametrize("path", ["01890000-0000-7000-8000-000000000000", "nonsense"])
async def test_an_unknown_application_is_404(dashboard: Dashboard, path: str) -> None:
    assert (await dashboard.get(f"{APPLICATIONS}/{path}")).status_code == 404
    assert (await dashboard.post(f"{APPLICATIONS}/{path}/revoke")).status_code == 404
