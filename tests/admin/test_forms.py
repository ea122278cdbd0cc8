"""Rules for every page and form of the dashboard: the origin of a form, its CSRF token, the headers."""

import re
from collections.abc import Iterable
from itertools import cycle, product
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from shop.admin.routes import admin_routes
from shop.app.routes import describe_platform_events
from tests.accounts import sign_in as sign_in_shopper
from tests.admin.dashboard import COOKIE, PASSWORD, SAME_ORIGIN, UNKNOWN_ID, Dashboard, csrf_of, new_operator

ROUTES = admin_routes(has_mailbox=True, events=describe_platform_events())
FORMS = [route.path for route in ROUTES if route.method == "POST"]
OPERATORS_FORMS = [route.path for route in ROUTES if route.method == "POST" and route.who == "operator"]
PAGES = [route.path for route in ROUTES if route.method == "GET" and route.who == "operator"]


def take_turns(paths: Iterable[str], header_sets: Iterable[dict[str, str]]) -> Iterable[tuple[str, dict[str, str]]]:
    """Each path with one of the headers."""
    return zip(paths, cycle(header_sets), strict=False)


combined = pytest.mark.parametrize(
    "combine", [take_turns, pytest.param(product, marks=pytest.mark.torture)], ids=["in turn", "all"]
)


def fill_path(path: str) -> str:
    return re.sub(r"\{\w+\}", UNKNOWN_ID, path)


async def new_customer(db: Any) -> Any:
    customer_id = uuid4()
    insert = "insert into users (id, email, email_key, created_at, updated_at) values ($1, $2, $2, now(), now())"
    await db.execute(insert, customer_id, f"{customer_id}@customers.example")
    return customer_id


async def is_disabled(db: Any, customer_id: Any) -> bool:
    return bool(await db.fetchval("select disabled_at is not null from users where id = $1", customer_id))


@pytest.mark.security("D-04")
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, 303),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "null"}, 303),
        ({"Origin": "{own}"}, 303),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "{own}"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "none"}, 403),
        ({"Sec-Fetch-Site": ""}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "{own}.evil.example"}, 403),
        ({"Referer": "{own}/admin"}, 403),
        ({}, 403),
    ],
)
async def test_a_form_must_come_from_the_same_origin(
    dashboard: Dashboard, db: Any, headers: dict[str, str], status: int
) -> None:
    customer_id, origin = await new_customer(db), str(dashboard.http.base_url).rstrip("/")
    request_headers = {name: value.replace("{own}", origin) for name, value in headers.items()}

    path, fields = f"/admin/customers/{customer_id}/disable", {"csrf": await dashboard.csrf()}
    answer = await dashboard.http.post(path, data=fields, headers={**dashboard.cookie, **request_headers})

    assert answer.status_code == status
    assert await is_disabled(db, customer_id) is (status == 303)


@pytest.mark.security("D-04")
@pytest.mark.parametrize(
    "kind", ["missing", "empty", "foreign", "of another session", "in the query", "as a list", "no cookie"]
)
async def test_a_form_must_have_the_csrf_token_of_its_session(
    dashboard: Dashboard, other_dashboard: Dashboard, db: Any, kind: str
) -> None:
    customer_id, token = await new_customer(db), await dashboard.csrf()
    fields = {
        "empty": {"csrf": ""},
        "foreign": {"csrf": token[:-4] + "beef"},
        "of another session": {"csrf": await other_dashboard.csrf()},
        "as a list": {"csrf[]": token},
        "no cookie": {"csrf": token},
    }.get(kind, {})
    query = f"?csrf={token}" if kind == "in the query" else ""
    cookie = {} if kind == "no cookie" else dashboard.cookie

    path = f"/admin/customers/{customer_id}/disable{query}"
    answer = await dashboard.http.post(path, data=fields, headers={**cookie, **SAME_ORIGIN})

    assert answer.status_code == 403
    assert not await is_disabled(db, customer_id)


async def test_a_page_has_the_csrf_token_of_its_session(dashboard: Dashboard, other_dashboard: Dashboard) -> None:
    for each in (dashboard, other_dashboard):
        assert csrf_of((await each.get("/admin/confirm")).text) == await each.csrf()


@pytest.mark.security("D-04")
@combined
async def test_every_form_from_another_origin_is_refused(dashboard: Dashboard, combine: Any) -> None:
    fields = {"csrf": await dashboard.csrf()}
    header_sets: list[dict[str, str]] = [{}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}]
    for path, headers in combine(FORMS, header_sets):
        answer = await dashboard.http.post(fill_path(path), data=fields, headers={**dashboard.cookie, **headers})

        assert answer.status_code == 403, path


@pytest.mark.security("D-04")
async def test_every_operator_form_needs_a_csrf_token_and_a_session(dashboard: Dashboard, db: Any) -> None:
    token, headers = await dashboard.csrf(), {**dashboard.cookie, **SAME_ORIGIN}
    for path in OPERATORS_FORMS:
        tokenless_response = await dashboard.http.post(fill_path(path), data={}, headers=headers)
        assert tokenless_response.status_code == 403, path

    await db.execute("update operator_sessions set revoked_at = now() where operator_id = $1", dashboard.id)
    for path in OPERATORS_FORMS:
        sessionless_response = await dashboard.http.post(fill_path(path), data={"csrf": token}, headers=headers)
        assert (sessionless_response.status_code, "nothing was changed" in sessionless_response.text) == (401, True), (
            path
        )


@pytest.mark.security("D-04")
@combined
async def test_every_page_needs_a_session_and_ignores_bearer_tokens(http: httpx2.AsyncClient, combine: Any) -> None:
    member = await sign_in_shopper(http)
    bearer = {"Authorization": f"Bearer {member.access_token}"}
    header_sets: list[dict[str, str]] = [{}, bearer, {"Authorization": "Bearer junk"}, {"Cookie": f"{COOKIE}=junk"}]
    for path, headers in combine(PAGES, header_sets):
        answer = await http.get(fill_path(path), headers=headers)

        assert answer.status_code == 401, path
        assert 'action="/admin/sign-in"' in answer.text


@pytest.mark.security("D-04")
async def test_the_apis_ignore_the_session_cookie(dashboard: Dashboard) -> None:
    for path in ("/api/v2/storefront/account", "/api/v2/storefront/cart", "/api/v2/platform/orders"):
        assert (await dashboard.get(path)).status_code == 401
    token_response = await dashboard.http.post(
        "/shop_oauth/token", headers=dashboard.cookie, data={"grant_type": "password"}
    )
    assert token_response.status_code in (400, 401)


async def test_a_bearer_token_beside_the_cookie_is_ignored(dashboard: Dashboard) -> None:
    assert (await dashboard.get("/admin/account", Authorization="Bearer junk")).status_code == 200


@pytest.mark.security("D-05", "H-09")
async def test_every_page_has_the_security_headers(dashboard: Dashboard) -> None:
    others = ["/admin/sign-in", "/admin/join/x", "/admin/nowhere", "/admin/static/x.css"]
    for path in [*map(fill_path, PAGES), *others]:
        for answer in (await dashboard.get(path), await dashboard.http.get(path), await dashboard.http.post(path)):
            check_headers(answer)


def check_headers(answer: httpx2.Response) -> None:
    headers = answer.headers
    assert headers["strict-transport-security"] == "max-age=31536000; includeSubDomains"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"
    assert headers["x-request-id"]
    policy = dict(part.partition(" ")[::2] for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == policy["frame-ancestors"] == "'none'"
    if answer.status_code != 303 and "content-disposition" not in headers:
        assert headers["content-type"] == "text/html; charset=utf-8"
        assert policy["base-uri"] == policy["object-src"] == "'none'"
        assert policy["form-action"] == "'self'"
        nonce = re.fullmatch(r"'nonce-([\w-]{20,})'", policy["script-src"])
        assert nonce
        assert policy["style-src"] == f"'nonce-{nonce[1]}'"
        assert all(f'nonce="{nonce[1]}"' in tag for tag in re.findall(r"<script[^>]*>", answer.text))
        assert "unsafe" not in headers["content-security-policy"]
        assert not re.search(r"<[a-z][^<>]*\s(style|on\w+)=", answer.text)


async def test_static_files_have_content_hashes_and_are_immutable(http: httpx2.AsyncClient) -> None:
    page = await http.get("/admin/sign-in")
    names = re.findall(r'(?:href|src)="(/admin/static/[^"]+)"', page.text)

    assert {name.rpartition(".")[2] for name in names} == {"css", "js", "svg"}
    media = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
    for name in names:
        answer = await http.get(name)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == media[name.rpartition(".")[2]]
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    for name in ("/admin/static/admin.css", "/admin/static/..%2froutes.py", "/admin/static/", "/admin/static/%00"):
        assert (await http.get(name)).status_code == 404


async def test_an_unknown_path_is_a_404_page(dashboard: Dashboard) -> None:
    missing, wrong = await dashboard.get("/admin/nowhere"), await dashboard.http.put("/admin/orders")

    assert (missing.status_code, wrong.status_code) == (404, 405)
    assert "Not found" in missing.text
    assert missing.headers["x-request-id"] in missing.text


@pytest.mark.security("H-08")
async def test_cross_origin_requests_are_refused(http: httpx2.AsyncClient) -> None:
    request_headers = {"Origin": "https://store.example", "Access-Control-Request-Method": "POST"}

    answer = await http.options("/admin/sign-in", headers=request_headers)

    assert answer.status_code == 405
    assert not [name for name in answer.headers if name.startswith("access-control")]


async def test_a_sign_in_form_from_another_site_creates_no_session(http: httpx2.AsyncClient, db: Any) -> None:
    operator_id, email = await new_operator(db)

    answer = await http.post(
        "/admin/sign-in", data={"email": email, "password": PASSWORD}, headers={"Sec-Fetch-Site": "cross-site"}
    )

    assert answer.status_code == 403
    assert await db.fetchval("select count(*) from operator_sessions where operator_id = $1", operator_id) == 0
