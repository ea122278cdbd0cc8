"""Builds website routes: pages (GET) and forms (POST)."""

from collections.abc import Callable

import msgspec

from shop.actions.context import Shared
from shop.base.errors import ShopError
from shop.web.endpoint import Handler, Route
from shop.web.reply import HTML, Reply
from shop.website.layout import render_error

FORM_LIMIT = 64 * 1024


class PageRoute(msgspec.Struct, frozen=True):
    """A route of the website, without what all of them have in common."""

    method: str
    path: str
    handler: Handler
    summary: str


def get(path: str, handler: Handler, summary: str) -> PageRoute:
    return PageRoute("GET", path, handler, summary)


def post(path: str, handler: Handler, summary: str) -> PageRoute:
    return PageRoute("POST", path, handler, summary)


def build_route(page: PageRoute, get_shared: Callable[[], Shared]) -> Route:
    def show_error(error: ShopError, request_id: str, _media: bytes) -> Reply:
        return render_error(get_shared(), error, request_id)

    return Route(
        page.method,
        page.path,
        page.handler,
        "shopper",
        page.summary,
        media=HTML,
        body_limit=FORM_LIMIT,
        reads_claim=False,
        render_error=show_error,
    )
