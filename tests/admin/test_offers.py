"""What pages offer: no link, button or form that the role of the operator forbids."""

import html
import re
from pathlib import Path
from typing import Any

import httpx2
import pytest

import shop.admin
from shop.admin.routes import admin_routes
from shop.app.routes import describe_platform_events
from shop.rules.access.permissions import BUILT_IN, SELF, add_reads
from shop.web.endpoint import Route
from tests.admin.dashboard import Dashboard, new_dashboard, new_role
from tests.admin.page_records import fill_pages

ROUTES = [
    route for route in admin_routes(has_mailbox=False, events=describe_platform_events()) if route.who == "operator"
]
PATTERNS = [
    (re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(route.path))), route)
    for route in sorted(ROUTES, key=lambda route: route.path.count("{"))
]
TEMPLATES = Path(shop.admin.__file__).parent / "templates"
BEFORE_A_SIGN_IN = {"access/code.html", "access/join.html", "access/send_again.html", "access/sign_in.html"}


def list_offers(page: str, path: str) -> set[tuple[str, str]]:
    """The method and path of each link, form and button of a page."""
    offers = {("GET", link) for link in re.findall(r'<a\b[^>]*\bhref="([^"]*)"', page)}
    for attributes in re.findall(r"<form\b([^>]*)>", page):
        action = re.search(r'\baction="([^"]*)"', attributes)
        method = "POST" if 'method="post"' in attributes else "GET"
        offers.add((method, action[1] if action and action[1] else path))
    offers |= {("POST", action) for action in re.findall(r'<button\b[^>]*\bformaction="([^"]*)"', page)}
    return {(method, re.split("[?#]", html.unescape(link))[0]) for method, link in offers}


def find_route(method: str, path: str) -> Route | None:
    """The route with the fewest parameters; None for a page outside the dashboard."""
    return next((route for pattern, route in PATTERNS if route.method == method and pattern.fullmatch(path)), None)


async def list_refusals(operator: Dashboard, path: str, permissions: frozenset[str]) -> set[str] | None:
    """The routes that a page offers and that these permissions forbid; None if the path shows no page."""
    answer = await operator.get(path)
    needs_costs = path.startswith("/admin/reports/stock") and "costs:read" not in permissions
    assert answer.status_code in ({403} if needs_costs else {200, 303, 400, 404, 422}), path
    if answer.status_code != 200 or not answer.headers["content-type"].startswith("text/html"):
        return None
    routes = [find_route(*offer) for offer in list_offers(answer.text, path)]
    return {f"{each.method} {each.path}" for each in routes if each and each.permission not in permissions | {SELF}}


@pytest.mark.security("D-15")
async def test_pages_offer_nothing_that_the_role_forbids(
    http: httpx2.AsyncClient, dashboard: Dashboard, other_dashboard: Dashboard, db: Any
) -> None:
    paths = {*(await fill_pages(dashboard, other_dashboard, db)).values()}
    paths |= {route.path for route in ROUTES if route.method == "GET" and "{" not in route.path}
    routes = {path: find_route("GET", path.partition("?")[0]) for path in sorted(paths)}
    needs = {path: route.permission for path, route in routes.items() if route}
    assert needs.keys() == paths
    for code in ("fulfilment", "support", "merchandiser", "accountant", "read-only"):
        operator, permissions = await new_dashboard(http, db, role_id=BUILT_IN[code].id), BUILT_IN[code].permissions
        pages = {path for path, permission in needs.items() if permission in permissions | {SELF}}
        refusals = {path: await list_refusals(operator, path, permissions) for path in pages}
        assert {path: routes for path, routes in refusals.items() if routes} == {}, code
        assert len([routes for routes in refusals.values() if routes is not None]) > 20
    for needed in sorted({*needs.values()} - {SELF}):
        # The smallest role that opens the page: every link to another resource must be checked.
        permissions = add_reads([needed])
        operator = await new_dashboard(http, db, role_id=await new_role(db, *permissions))
        refusals = {path: await list_refusals(operator, path, permissions) for path in needs if needs[path] == needed}
        assert {path: routes for path, routes in refusals.items() if routes} == {}, needed
    figures = await new_dashboard(http, db, role_id=await new_role(db, "reports:read"))
    assert await list_refusals(figures, "/admin", frozenset({"reports:read"})) == set()


def test_every_form_of_a_signed_in_page_asks_for_the_permission_of_its_route() -> None:
    names = {
        str(path.relative_to(TEMPLATES))
        for path in TEMPLATES.rglob("*.html")
        if re.search(r'<form\b[^>]*method="post"', path.read_text())
    }

    assert names == BEFORE_A_SIGN_IN | {"parts.html"}


async def test_a_form_that_cannot_be_saved_shows_its_values(http: httpx2.AsyncClient, db: Any) -> None:
    dashboard = await new_dashboard(http, db, role_id=BUILT_IN["accountant"].id)

    text = (await dashboard.get("/admin/settings/shop")).text

    form = text.partition("<fieldset disabled>")[2].partition("</fieldset>")[0]
    assert 'name="name"' in form
    assert "<button" not in form
    assert 'action="/admin/settings/shop"' not in text
