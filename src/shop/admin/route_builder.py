"""Builds dashboard routes: pages (GET) and forms (POST)."""

import msgspec

from shop.admin.pages import error_page
from shop.admin.session import OperatorGuard, Page
from shop.rules.catalog.images import MAX_FILE_BYTES
from shop.web.endpoint import Handler, Route
from shop.web.input.request import MAX_PARAMS, PARAMETERS, UPLOAD
from shop.web.reply import HTML

_SMALL = 64 * 1024
SIGN_IN_LIMIT = 128 * 1024
"""The body limit of forms that carry another form through a sign-in."""


class RouteBuilder:
    """Builds routes whose handlers require a signed-in operator."""

    def __init__(self, guard: OperatorGuard) -> None:
        self._guard = guard

    def page(self, path: str, handler: Page, summary: str, *, fresh: bool = False) -> Route:
        return self._with_menu(build_route("GET", path, self._guard.page(handler, fresh=fresh), summary))

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
        endpoint = self._guard.act(handler, summary, back=back)
        return self._with_menu(
            build_route("POST", path, endpoint, summary, body_limit=body_limit, most_params=most_params)
        )

    def upload(self, path: str, handler: Page, summary: str) -> Route:
        """Builds a route for a form with files; unauthorized requests are rejected before the files are read."""
        endpoint = self._guard.act(handler, summary)
        route = self._with_menu(build_route("POST", path, endpoint, summary, body_limit=MAX_FILE_BYTES + _SMALL))
        return msgspec.structs.replace(route, reads=(*PARAMETERS, *UPLOAD), admits=self._guard.admit)

    def _with_menu(self, route: Route) -> Route:
        """Lets the error pages of a route show the menu to a signed-in operator."""
        return msgspec.structs.replace(route, show_error=self._guard.show_error)


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
