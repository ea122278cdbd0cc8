"""Builds dashboard routes: pages (GET) and forms (POST)."""

import msgspec

from shop.admin.pages import error_page
from shop.admin.session import OperatorGuard, Page
from shop.rules.catalog.images import MAX_FILE_BYTES
from shop.web.endpoint import Handler, Route
from shop.web.input.request import MAX_PARAMS, PARAMETERS, UPLOAD
from shop.web.reply import HTML

_SMALL, _LARGE = 64 * 1024, 512 * 1024


class RouteBuilder:
    """Builds routes whose handlers require a signed-in operator."""

    def __init__(self, guard: OperatorGuard) -> None:
        self._guard = guard

    def page(self, path: str, handler: Page, summary: str, *, fresh: bool = False) -> Route:
        return build_route("GET", path, self._guard.page(handler, fresh=fresh), summary)

    def act(
        self,
        path: str,
        handler: Page,
        summary: str,
        *,
        back: str | None = None,
        body_limit: int = _SMALL,
        most_params: int = MAX_PARAMS,
    ) -> Route:
        """Builds a form route. `back` requires a recent password confirmation, which returns to that page."""
        endpoint = self._guard.act(handler, back=back)
        return build_route("POST", path, endpoint, summary, body_limit=body_limit, most_params=most_params)

    def upload(self, path: str, handler: Page, summary: str, *, most_params: int = MAX_PARAMS) -> Route:
        """Builds a route for a form with files; unauthorized requests are rejected before the files are read."""
        endpoint, body_limit = (
            self._guard.act(handler),
            MAX_FILE_BYTES + (_SMALL if most_params == MAX_PARAMS else _LARGE),
        )
        route = build_route("POST", path, endpoint, summary, body_limit=body_limit, most_params=most_params)
        return msgspec.structs.replace(route, reads=(*PARAMETERS, *UPLOAD), admits=self._guard.admit)


def build_route(
    method: str,
    path: str,
    handler: Handler,
    summary: str,
    who: str = "operator",
    *,
    body_limit: int = _SMALL,
    most_params: int = MAX_PARAMS,
) -> Route:
    return Route(
        method,
        path,
        handler,
        who,
        summary,
        media=HTML,
        body_limit=body_limit,
        most_params=most_params,
        reads_claim=False,
        render_error=error_page,
    )
