"""Builds dashboard routes: pages (GET) and forms (POST)."""

import msgspec

from shop.admin.pages import error_page
from shop.admin.session import OperatorGuard, Page
from shop.rules.access.permissions import resource_permission
from shop.rules.catalog.images import MAX_FILE_BYTES
from shop.web.endpoint import Handler, Route
from shop.web.input.parameters import MAX_PARAMS
from shop.web.input.request import FILE, PARAMETERS, UPLOAD
from shop.web.reply import HTML

_SMALL, _LARGE = 64 * 1024, 512 * 1024
SIGN_IN_LIMIT = 128 * 1024
"""The body limit of forms that carry another form through a sign-in."""


class RouteBuilder:
    """Builds routes whose handlers require a signed-in operator."""

    def __init__(self, guard: OperatorGuard, resource: str) -> None:
        self._guard = guard
        self._resource = resource

    def of(self, resource: str) -> "RouteBuilder":
        """Returns a builder for the routes of another resource."""
        return RouteBuilder(self._guard, resource)

    def page(
        self, path: str, handler: Page, summary: str, *, fresh: bool = False, permission: str | None = None
    ) -> Route:
        """Builds the route of a page; `permission` replaces the one to read the resource."""
        permission = permission or resource_permission(self._resource, "read")
        endpoint = self._guard.page(handler, permission, fresh=fresh)
        return self._complete(build_route("GET", path, endpoint, summary), permission)

    def act(
        self,
        path: str,
        handler: Page,
        summary: str,
        *,
        back: str | None = None,
        body_limit: int = _SMALL,
        most_params: int = MAX_PARAMS,
        permission: str | None = None,
    ) -> Route:
        """Builds a form route. `back` requires a recent password confirmation, which returns to that page;
        `permission` replaces the one to write the resource.
        """
        permission = permission or resource_permission(self._resource, "write")
        endpoint = self._guard.act(handler, summary, permission, back=back)
        route = build_route("POST", path, endpoint, summary, body_limit=body_limit, most_params=most_params)
        return self._complete(route, permission)

    def upload(self, path: str, handler: Page, summary: str, *, most_params: int = MAX_PARAMS) -> Route:
        """Builds a route for a form with files; unauthorized requests are rejected before the files are read."""
        permission = resource_permission(self._resource, "write")
        endpoint = self._guard.act(handler, summary, permission)
        body_limit = MAX_FILE_BYTES + (_SMALL if most_params == MAX_PARAMS else _LARGE)
        route = build_route("POST", path, endpoint, summary, body_limit=body_limit, most_params=most_params)
        route = self._complete(route, permission)
        return msgspec.structs.replace(route, reads=(*PARAMETERS, *UPLOAD), admits=self._guard.admit(permission))

    def upload_file(self, path: str, handler: Page, summary: str) -> Route:
        """Builds a route for a form with a large file, which the handler reads while it arrives."""
        permission = resource_permission(self._resource, "write")
        route = build_route("POST", path, self._guard.act(handler, summary, permission), summary)
        route = self._complete(route, permission)
        return msgspec.structs.replace(route, reads=FILE, admits=self._guard.admit(permission))

    def _complete(self, route: Route, permission: str) -> Route:
        """Names the permission, and lets error pages show the menu to a signed-in operator."""
        return msgspec.structs.replace(route, permission=permission, show_error=self._guard.show_error)


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
