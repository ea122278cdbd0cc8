"""Integrations, API: applications are made, rotated and revoked, and a secret is shown once."""

import asyncio
import html
import json
import re
import subprocess
from typing import Any
from uuid import UUID

import httpx
import pytest

from shop.base.ids import new_id
from shop.base.secrets import secret_hash
from tests.admin.dashboard import Desk, events, new_desk, waiting
from tests.service import Service

HERE = "/admin/integrations/api"
SECRET = re.compile(r"shpcs_[0-9A-Za-z]{49}")


async def make(desk: Desk, application_id: UUID, *, name: str = "Warehouse", level: str = "write") -> httpx.Response:
    return await desk.post(f"{HERE}/new", id=str(application_id), name=name, access_level=level, step="create")


def shown(page: httpx.Response, field: str) -> str:
    match = re.search(rf'id="{field}"[^>]*>([^<]*)<', page.text)
    assert match, page.text
    return html.unescape(match[1])


async def test_making_one_asks_to_be_sure_then_shows_id_and_secret(desk: Desk, db: Any) -> None:
    form = await desk.get(f"{HERE}/new")
    match = re.search(r'name="id" value="([^"]+)"', form.text)
    assert match
    application_id = UUID(match[1])

    review = await desk.post(f"{HERE}/new", id=match[1], name=" Warehouse ", access_level="read")
    before = await db.fetchval("select count(*) from applications where id = $1", application_id)
    response = await make(desk, application_id, level="read")

    assert before == 0
    assert "Create this application?" in review.text
    row = await db.fetchrow("select * from applications where id = $1", application_id)
    assert (row["name"], row["access_level"], row["created_by_id"]) == ("Warehouse", "read", desk.id)
    assert shown(response, "client-id") == row["client_id"]
    stored_hash = await db.fetchval("select hash from application_secrets where application_id = $1", application_id)
    assert stored_hash == secret_hash(shown(response, "client-secret"))
    assert (response.status_code, response.headers["cache-control"]) == (200, "no-store")
    assert await events(db, actor=desk.id, subject=application_id) == [("application_created", "done")]


async def test_the_page_says_how_long_a_token_lives_here(desk: Desk, empty: httpx.AsyncClient, empty_db: Any) -> None:
    pages = [await make(at, new_id()) for at in (desk, await new_desk(empty, empty_db))]

    matches = [re.search(r"Get a token, valid for ([^<]*)<", page.text) for page in pages]
    assert [match and match[1] for match in matches] == ["2 hours", "90 minutes"]


async def test_the_shown_commands_work_as_pasted(desk: Desk) -> None:
    response = await make(desk, new_id())

    script = f"{shown(response, 'curl-token')}\n{shown(response, 'curl-orders')}"
    process = await asyncio.create_subprocess_exec("bash", "-euo", "pipefail", "-c", script, stdout=subprocess.PIPE)
    out, _ = await process.communicate()

    assert isinstance(json.loads(out)["data"], list)


@pytest.mark.security("P-06")
async def test_a_form_sent_twice_makes_one_and_tells_once(desk: Desk, db: Any) -> None:
    application_id = new_id()
    first = await make(desk, application_id)

    again = await make(desk, application_id, name="Something else", level="read")

    assert SECRET.search(first.text)
    assert (again.status_code, again.headers["location"]) == (303, f"{HERE}/{application_id}?done=made")
    assert not SECRET.search(again.text)
    assert await db.fetchval("select name from applications where id = $1", application_id) == "Warehouse"
    assert await db.fetchval("select count(*) from application_secrets where application_id = $1", application_id) == 1


@pytest.mark.security("P-06")
async def test_no_page_shows_a_secret_again(desk: Desk, service: Service) -> None:
    application_id = new_id()
    secret = shown(await make(desk, application_id), "client-secret")

    pages = [await desk.get(path) for path in (HERE, f"{HERE}/{application_id}", f"{HERE}/new", "/admin")]

    assert all(page.status_code == 200 for page in pages)
    assert not any(SECRET.search(page.text) for page in pages)
    assert f"…{secret[-4:]}" in pages[1].text
    service.request_line(pages[-1].headers["x-request-id"])
    assert secret not in "".join(service.lines)


@pytest.mark.parametrize(
    ("name", "level", "says"),
    [
        ("", "read", "Give the application a name."),
        ("x" * 101, "read", "Use at most 100 printable characters."),
        ("a\tb", "read", "Use at most 100 printable characters."),
        ("Warehouse", "", "Choose read or write."),
        ("Warehouse", "admin", "Choose read or write."),
    ],
)
async def test_what_will_not_do_is_said_at_the_field_and_what_was_typed_stays(
    desk: Desk, db: Any, name: str, level: str, says: str
) -> None:
    application_id = new_id()

    answer = await make(desk, application_id, name=name, level=level)

    assert answer.status_code == 422
    assert says in answer.text
    assert f'value="{application_id}"' in answer.text
    assert await db.fetchval("select count(*) from applications where id = $1", application_id) == 0


@pytest.mark.parametrize("bad", ["", "nonsense", "6fa459ea-ee8a-4ca4-894e-db77e160355e"])
async def test_an_id_that_we_did_not_offer_is_answered_with_a_new_form(desk: Desk, bad: str) -> None:
    answer = await desk.post(f"{HERE}/new", id=bad, name="Warehouse", access_level="read", step="create")

    assert answer.headers["location"] == f"{HERE}/new"


@pytest.mark.parametrize(("overlap", "seconds"), [("0", 0), ("3600", 3600), ("604800", 604800)])
async def test_rotating_shows_a_new_secret_and_lets_the_old_one_go_on(
    desk: Desk, db: Any, overlap: str, seconds: int
) -> None:
    application_id = new_id()
    old = shown(await make(desk, application_id), "client-secret")
    replaces = await db.fetchval("select id from application_secrets where application_id = $1", application_id)

    response = await desk.post(f"{HERE}/{application_id}/rotate", overlap=overlap, replaces=str(replaces))
    again = await desk.post(f"{HERE}/{application_id}/rotate", overlap=overlap, replaces=str(replaces))

    assert shown(response, "client-secret") != old
    assert again.headers["location"] == f"{HERE}/{application_id}?done=rotated"
    left = await db.fetchval(
        "select round(extract(epoch from expires_at - now())) from application_secrets where hash = $1",
        secret_hash(old),
    )
    assert abs(int(left) - seconds) <= 5
    assert ("secret_rotated", "done") in await events(db, actor=desk.id, subject=application_id)


async def test_rotating_twice_at_once_replaces_the_secret_once(desk: Desk, db: Any) -> None:
    application_id = new_id()
    await make(desk, application_id)
    replaces = await db.fetchval("select id from application_secrets where application_id = $1", application_id)

    async def rotate() -> httpx.Response:
        return await desk.post(f"{HERE}/{application_id}/rotate", overlap="604800", replaces=str(replaces))

    async with db.transaction():
        # Held here, so that both have seen the secret in use before the first can replace it.
        await db.execute("select from applications where id = $1 for update", application_id)
        both = [asyncio.create_task(rotate()) for _ in range(2)]
        await waiting(db, 2)

    assert sorted([(await one).status_code for one in both]) == [200, 303]
    live = "select count(*) from application_secrets where application_id = $1 and coalesce(expires_at > now(), true)"
    assert await db.fetchval(live, application_id) == 2


@pytest.mark.security("P-06")
async def test_an_overlap_that_is_not_offered_is_refused(desk: Desk) -> None:
    application_id = new_id()
    await make(desk, application_id)

    assert (await desk.post(f"{HERE}/{application_id}/rotate", overlap="99999999")).status_code == 422


@pytest.mark.security("P-06")
async def test_revoking_asks_first_and_kills_the_token_at_once(desk: Desk, db: Any) -> None:
    application_id = new_id()
    response = await make(desk, application_id)
    client = {"client_id": shown(response, "client-id"), "client_secret": shown(response, "client-secret")}
    token_request = {"grant_type": "client_credentials", "scope": "admin", **client}
    token = (await desk.http.post("/shop_oauth/token", json=token_request)).json()["access_token"]
    bearer = {"Authorization": f"Bearer {token}"}
    assert (await desk.http.get("/api/v2/platform/orders", headers=bearer)).status_code == 200

    question = await desk.get(f"{HERE}/{application_id}/revoke")
    answer = await desk.post(f"{HERE}/{application_id}/revoke")

    assert "Revoke Warehouse?" in question.text
    assert answer.headers["location"] == f"{HERE}/{application_id}?done=revoked"
    assert (await desk.http.get("/api/v2/platform/orders", headers=bearer)).status_code == 401
    page = await desk.get(f"{HERE}/{application_id}")
    assert "revoked" in page.text
    assert "Rotate the secret" not in page.text
    assert ("application_revoked", "done") in await events(db, actor=desk.id, subject=application_id)


async def test_the_list_says_level_maker_use_and_live_tokens(desk: Desk) -> None:
    response = await make(desk, new_id(), name="Counted by <b>the list</b>")
    client = {"client_id": shown(response, "client-id"), "client_secret": shown(response, "client-secret")}
    for _ in range(2):
        await desk.http.post("/shop_oauth/token", json={"grant_type": "client_credentials", "scope": "admin", **client})

    listing = (await desk.get(HERE)).text

    row = next(row for row in re.findall(r"<tr>.*?</tr>", listing, re.DOTALL) if "Counted by" in row)
    cells = [re.sub(r"<[^>]+>", "", cell).strip() for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)]
    assert cells[:3] == ["Counted by &lt;b&gt;the list&lt;/b&gt;", "write", desk.email]
    assert (cells[5], cells[6]) == ("2", "active")


@pytest.mark.parametrize("path", ["01890000-0000-7000-8000-000000000000", "nonsense"])
async def test_an_application_that_is_not_there_is_not_found(desk: Desk, path: str) -> None:
    assert (await desk.get(f"{HERE}/{path}")).status_code == 404
    assert (await desk.post(f"{HERE}/{path}/revoke")).status_code == 404
