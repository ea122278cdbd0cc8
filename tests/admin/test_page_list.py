"""Every page of the dashboard is in the list that the browser tests visit, and can be opened."""

import re
from collections.abc import Mapping
from typing import Any

import httpx2

from shop.admin.routes import admin_routes
from shop.app.routes import describe_platform_events
from shop.models.imports.csv_imports import KINDS
from tests.admin.dashboard import Dashboard
from tests.admin.page_records import fill_pages
from tests.admin.test_lists import sorts_of

_ROWS = r'<table class="(cards|report)|<ul class="entries"'
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
WITHOUT_A_COUNT = {
    "the parts of a record": {
        *("account", "account with a passkey", "application", "customer", "delivery", "transfer"),
        *("draft", "draft with customers and products", "import", "import of customers", "import of stock"),
        *(
            "order, cancel",
            "order, cancel items",
            "order, edit",
            "order, in part refunded",
            "order, refund",
            "order, unpaid",
        ),
        *("order, waits for an approval", "prices", "product", "promotion, try", "promotion, tried"),
        *("shipment, divide", "variants"),
    },
    "excerpts and results": {"/admin/settings/checks", "overview"},
}
WITHOUT_SORT = {
    "one column": {"group", "list's customers"},
    "a ledger, whose balance depends on the order": {"stock item", "store credit"},
    "the order of the storefront, which operators change": {"taxons"},
    "the order in which shelves are counted": {"count"},
    "always the same e-mails": {"e-mails"},
}


def find_lists_without_count(texts: Mapping[str, str]) -> set[str]:
    """Returns the names of pages with rows but without their count."""
    return {name for name, text in texts.items() if re.search(_ROWS, text) and "<p data-total>" not in text}


def find_lists_without_sort(texts: Mapping[str, str]) -> set[str]:
    """Returns the names of pages with a count but without sort orders; reports are sorted by their columns."""
    return {
        name
        for name, text in texts.items()
        if "<p data-total>" in text and len(sorts_of(text)) < 2 and "aria-sort" not in text
    }


def match_paths(paths: set[str]) -> set[str]:
    """Returns the GET routes that no path opens; of several routes, a path opens the one with the fewest parameters."""
    routes = [
        route.path
        for route in admin_routes(has_mailbox=False, events=describe_platform_events())
        if route.method == "GET"
    ]
    routes.sort(key=lambda path: path.count("{"))
    patterns = {path: re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path))) for path in routes}
    opened = {next(route for route in routes if patterns[route].fullmatch(path)) for path in paths}
    return set(routes) - opened


async def test_every_page_is_visited_by_the_browser_tests_and_can_be_opened(
    http: httpx2.AsyncClient, dashboard: Dashboard, other_dashboard: Dashboard, db: Any
) -> None:
    paths = await fill_pages(dashboard, other_dashboard, db)

    pages = {path: await dashboard.get(path) for path in paths.values()}
    statuses = {path: page.status_code for path, page in pages.items()}

    assert {path: status for path, status in statuses.items() if status != 200} == {}
    unvisited = match_paths({path.partition("?")[0] for path in statuses})
    assert unvisited == WITHOUT_A_SESSION | AFTER_A_FORM | set.union(*NO_PAGES.values())
    texts = {name: pages[path].text for name, path in paths.items()}
    assert find_lists_without_count(texts) <= {name for names in WITHOUT_A_COUNT.values() for name in names}
    assert find_lists_without_sort(texts) <= {name for names in WITHOUT_SORT.values() for name in names}
    links = {path for text in texts.values() for path in sorts_of(text).values()}
    assert {path: status for path in links if (status := (await dashboard.get(path)).status_code) != 200} == {}
