"""Every page of the dashboard is in the list that the browser tests visit, and can be opened."""

import re
from typing import Any

import httpx2

from shop.admin.routes import admin_routes
from shop.app.routes import PLATFORM_EVENTS
from shop.models.imports.csv_imports import KINDS
from tests.admin.dashboard import Dashboard
from tests.admin.page_records import fill_pages

WITHOUT_A_SESSION = {"/admin/sign-in", "/admin/join/{token}"}
AFTER_A_FORM = {"/admin/confirm", "/admin/account/authenticator/remove", "/admin/account/recovery-codes"}
"""The browser visits these after it has filled in a form."""
NO_PAGES = {
    "a file of the pages": {"/admin/static/{name}"},
    "a download": {
        "/admin/customers/{user_id}/export",
        "/admin/documents/packing-slips.pdf",
        "/admin/documents/pick-list.pdf",
        "/admin/drafts/{number}/quote.pdf",
        *(f"/admin/exports/{kind}.csv" for kind in KINDS),
        *(f"/admin/imports/{kind}/{{import_id}}/errors" for kind in KINDS),
        "/admin/orders/export.csv",
        "/admin/orders/{number}/invoice.pdf",
        "/admin/orders/{number}/packing-slip.pdf",
        "/admin/promotions/{promotion_id}/batches/{batch_id}/codes",
        "/admin/reports/{report}/csv",
    },
    "an e-mail in a frame of its page": {"/admin/settings/mails/{kind}/preview"},
}


def match_paths(paths: set[str]) -> set[str]:
    """Returns the GET routes that no path opens; of several routes, a path opens the one with the fewest parameters."""
    routes = [route.path for route in admin_routes(has_mailbox=False, events=PLATFORM_EVENTS) if route.method == "GET"]
    routes.sort(key=lambda path: path.count("{"))
    patterns = {path: re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path))) for path in routes}
    opened = {next(route for route in routes if patterns[route].fullmatch(path)) for path in paths}
    return set(routes) - opened


async def test_every_page_is_visited_by_the_browser_tests_and_can_be_opened(
    http: httpx2.AsyncClient, dashboard: Dashboard, other_dashboard: Dashboard, db: Any
) -> None:
    paths = await fill_pages(dashboard, other_dashboard, db)

    statuses = {path: (await dashboard.get(path)).status_code for path in paths.values()}

    assert {path: status for path, status in statuses.items() if status != 200} == {}
    unvisited = match_paths({path.partition("?")[0] for path in statuses})
    assert unvisited == WITHOUT_A_SESSION | AFTER_A_FORM | set.union(*NO_PAGES.values())
