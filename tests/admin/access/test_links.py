"""Links to choose a password, for the first operator, an invitation or a reset; each works once."""

import asyncio
from typing import Any

import httpx2
import pytest

from shop.admin.routes import admin_routes
from shop.app.routes import describe_platform_events
from shop.base.crypto.secrets import OPERATOR_LINK, new_secret, secret_hash
from shop.rules.access.permissions import OWNER_ID
from tests.admin.dashboard import (
    SAME_ORIGIN,
    Dashboard,
    events,
    new_dashboard,
    new_link,
    new_operator,
    secret_of,
    sign_in,
)
from tests.concurrency import wait_for_locks
from tests.service import Service

NEW_PASSWORD = "a quite different password"


async def use_link(http: httpx2.AsyncClient, link: str, password: str = NEW_PASSWORD, **fields: str) -> httpx2.Response:
    data = {"password": password, "again": password, **fields}
    return await http.post(link, data=data, headers=SAME_ORIGIN)


async def test_viewing_a_link_does_not_use_it(http: httpx2.AsyncClient, db: Any) -> None:
    operator_id, email = await new_operator(db, password_hash=None)
    link = await new_link(db, operator_id)

    first, second = await http.get(link), await http.head(link)

    assert (first.status_code, second.status_code) == (200, 200)
    assert email in first.text
    assert (await use_link(http, link)).status_code == 303


@pytest.mark.security("D-01")
async def test_a_link_works_once_and_is_then_410_with_instructions(http: httpx2.AsyncClient, db: Any) -> None:
    operator_id, email = await new_operator(db, password_hash=None)
    link = await new_link(db, operator_id)

    first = await use_link(http, link)
    again, page = await use_link(http, link, "and yet another password"), await http.get(link)

    assert (first.status_code, first.headers["location"]) == (303, "/admin")
    assert await Dashboard(http, operator_id, email, secret_of(first)).is_signed_in()
    assert (again.status_code, page.status_code) == (410, 410)
    assert "shop admin create" in page.text
    assert (await sign_in(http, email, NEW_PASSWORD)).status_code == 303
    assert await events(db, actor=operator_id) == [("link_used", "done"), ("sign_in", "done"), ("sign_in", "done")]


async def test_of_four_concurrent_uses_of_a_link_one_succeeds(http: httpx2.AsyncClient, db: Any) -> None:
    operator_id, _ = await new_operator(db, password_hash=None)
    link = await new_link(db, operator_id)

    answers = await asyncio.gather(*(use_link(http, link, f"the password of number {number}") for number in range(4)))

    assert sorted(answer.status_code for answer in answers) == [303, 410, 410, 410]


@pytest.mark.security("D-01")
@pytest.mark.parametrize("defect", ["expired", "operator disabled", "unknown", "malformed"])
async def test_an_expired_disabled_or_unknown_link_is_410(http: httpx2.AsyncClient, db: Any, defect: str) -> None:
    operator_id, _ = await new_operator(db, password_hash=None)
    link = await new_link(db, operator_id)
    if defect == "expired":
        await db.execute("update operator_links set expires_at = now() where operator_id = $1", operator_id)
    if defect == "operator disabled":
        await db.execute("update operators set disabled_at = now() where id = $1", operator_id)
    link = {"unknown": f"/admin/join/{new_secret(OPERATOR_LINK)}", "malformed": "/admin/join/x"}.get(defect, link)

    page, response = await http.get(link), await use_link(http, link)

    assert (page.status_code, response.status_code) == (410, 410)
    assert await db.fetchval("select password_hash from operators where id = $1", operator_id) is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"password": "fourteen chars", "again": "fourteen chars"}, "must have at least 15 characters"),
        ({"password": "x" * 1025, "again": "x" * 1025}, "must have at most 1024 characters"),
        ({"password": "aaaaaaaaaaaaaaaaaaaa", "again": "aaaaaaaaaaaaaaaaaaaa"}, "is easy to guess"),
        ({"password": "one good password", "again": "another good one"}, "The passwords do not match."),
    ],
)
async def test_a_refused_password_does_not_use_the_link(
    http: httpx2.AsyncClient, db: Any, fields: dict[str, str], message: str
) -> None:
    operator_id, _ = await new_operator(db, password_hash=None)
    link = await new_link(db, operator_id)

    answer = await http.post(link, data=fields, headers=SAME_ORIGIN)

    assert answer.status_code == 422
    assert message in answer.text
    assert fields["password"] not in answer.text
    assert (await http.get(link)).status_code == 200


async def test_a_password_must_not_contain_the_e_mail_address(http: httpx2.AsyncClient, db: Any) -> None:
    operator_id, email = await new_operator(db, password_hash=None)

    answer = await use_link(http, await new_link(db, operator_id), f"My{email.upper()}!")

    assert answer.status_code == 422
    assert "your e-mail address" in answer.text


async def test_a_new_password_ends_every_session_and_every_other_link(dashboard: Dashboard, db: Any) -> None:
    link, other = await new_link(db, dashboard.id), await new_link(db, dashboard.id)

    answer = await use_link(dashboard.http, link)

    assert answer.status_code == 303
    assert not await dashboard.is_signed_in()
    assert (await dashboard.http.get(other)).status_code == 410


async def test_a_link_does_not_replace_the_authenticator(http: httpx2.AsyncClient, db: Any) -> None:
    dashboard = await new_dashboard(http, db, totp=True)

    answer = await use_link(http, await new_link(db, dashboard.id))

    assert answer.headers["location"] == "/admin/sign-in"
    assert "set-cookie" not in answer.headers


async def test_the_first_operator_enters_an_e_mail_address(empty_client: httpx2.AsyncClient, empty_db: Any) -> None:
    link = await new_link(empty_db, None)

    page = await empty_client.get(link)
    answer = await use_link(empty_client, link, email="First@Operators.Example")

    assert "Create the first operator" in page.text
    assert answer.status_code == 303
    row = await empty_db.fetchrow("select * from operators")
    assert (row["email"], row["email_key"]) == ("First@operators.example", "first@operators.example")
    assert await Dashboard(empty_client, row["id"], row["email"], secret_of(answer)).is_signed_in()


async def test_an_invalid_e_mail_of_the_first_operator_does_not_use_the_link(
    empty_client: httpx2.AsyncClient, empty_db: Any
) -> None:
    link = await new_link(empty_db, None)

    answer = await use_link(empty_client, link, email="nonsense")

    assert answer.status_code == 422
    assert "Give an e-mail address" in answer.text
    assert (await empty_client.get(link)).status_code == 200


@pytest.mark.security("D-01")
async def test_the_first_operators_link_is_refused_once_an_operator_exists(
    empty_client: httpx2.AsyncClient, empty_db: Any
) -> None:
    link = await new_link(empty_db, None)
    await new_operator(empty_db, password_hash=None)

    page, response = await empty_client.get(link), await use_link(empty_client, link, email="second@operators.example")

    assert (page.status_code, response.status_code) == (410, 410)
    assert await empty_db.fetchval("select count(*) from operators") == 1


async def test_of_two_concurrent_first_operators_one_is_created(
    empty_client: httpx2.AsyncClient, empty_db: Any
) -> None:
    links = [await new_link(empty_db, None) for _ in range(2)]

    async with empty_db.transaction():
        # The lock makes both requests find no operator before either of them adds one.
        await empty_db.execute("lock table operators in share mode")
        tasks = [
            asyncio.create_task(use_link(empty_client, link, email=f"{link[-9:]}@operators.example")) for link in links
        ]
        await wait_for_locks(empty_db, 2)

    assert sorted([(await task).status_code for task in tasks]) == [303, 410]
    assert await empty_db.fetchval("select count(*) from operators") == 1


@pytest.mark.security("D-01")
@pytest.mark.torture
async def test_no_route_creates_an_operator_without_a_link(empty_client: httpx2.AsyncClient, empty_db: Any) -> None:
    fields = {
        "email": "someone@operators.example",
        "password": NEW_PASSWORD,
        "again": NEW_PASSWORD,
        "name": "x",
        "ticket": "x",
    }

    for route in admin_routes(has_mailbox=True, events=describe_platform_events()):
        path = route.path.replace("{token}", new_secret(OPERATOR_LINK)).replace("{", "").replace("}", "")
        if route.method == "GET":
            answer = await empty_client.get(path, params=fields)
        else:
            answer = await empty_client.post(path, data=fields, headers=SAME_ORIGIN)
        assert answer.status_code < 500, route.path
        assert "set-cookie" not in answer.headers

    assert await empty_db.fetchval("select count(*) from operators") == 0
    assert await empty_db.fetchval("select count(*) from operator_links") == 0


async def test_the_link_of_an_invitation_is_shown_once(dashboard: Dashboard, db: Any) -> None:
    email = f"{dashboard.id}@invited.example"

    answer = await dashboard.post("/admin/settings/operators/new", email=email, role_id=str(OWNER_ID))
    link = answer.text.partition('data-secret aria-labelledby="label-link">')[2].partition("<")[0]

    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    row = await db.fetchrow("select * from operator_links order by created_at desc limit 1")
    assert row["hash"] == secret_hash(link.rpartition("/")[2])
    assert link.rpartition("/")[2] not in (await dashboard.get("/admin/settings/operators")).text
    assert "invited" in (await dashboard.get("/admin/settings/operators")).text
    path = link.partition(str(dashboard.http.base_url).rstrip("/"))[2]
    assert (await use_link(dashboard.http, path)).status_code == 303
    assert (
        await dashboard.post("/admin/settings/operators/new", email=email, role_id=str(OWNER_ID))
    ).status_code == 422


async def test_a_new_invitation_ends_the_previous_one(dashboard: Dashboard, db: Any) -> None:
    email = f"{dashboard.id}@invited.example"
    for _ in range(2):
        await dashboard.post("/admin/settings/operators/new", email=email, role_id=str(OWNER_ID))

    row = await db.fetchrow(
        """select count(*) as all, count(*) filter (where used_at is null) as live from operator_links
        join operators on operators.id = operator_id where email = $1""",
        email,
    )
    assert (row["all"], row["live"]) == (2, 1)


@pytest.mark.security("A-01")
async def test_the_token_of_a_link_is_not_logged(http: httpx2.AsyncClient, db: Any, service: Service) -> None:
    operator_id, _ = await new_operator(db, password_hash=None)
    link = await new_link(db, operator_id)

    answers = [await http.get(link), await use_link(http, link), await use_link(http, link)]

    lines = [service.request_line(answer.headers["x-request-id"]) for answer in answers]
    assert {line["route"] for line in lines} == {"/admin/join/{token}"}
    assert link.rpartition("/")[2] not in "".join(service.lines)
