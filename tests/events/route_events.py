"""Notes which events each route causes, while other helpers send requests."""

import re
from typing import Any

import httpx2

from shop.cli.routes import every_route
from shop.web.endpoint import Route

CHANGING_METHODS = frozenset({"POST", "PUT", "PATCH", "DELETE"})
CHANGING_ROUTES = [route for route in every_route() if route.method in CHANGING_METHODS]
_PARAM = re.compile(r"\\\{\w+(\\\*)?\\\}", re.ASCII)
# A path without parameters goes first: `/products/new` is not a product.
_PATTERNS = [
    (route.method, re.compile(_PARAM.sub("[^/]+", re.escape(route.path))), route.path)
    for route in sorted(CHANGING_ROUTES, key=lambda route: route.path.count("{"))
]


def name_of(route: Route) -> str:
    return f"{route.method} {route.path}"


def find_route(method: str, path: str) -> str | None:
    """The route of a request, as `POST /path/{id}`."""
    return next(
        (f"{method} {route}" for own, pattern, route in _PATTERNS if own == method and pattern.fullmatch(path)), None
    )


class RouteEvents:
    """The types of the events of each route that changed something, from the responses of one client."""

    def __init__(self, db: Any) -> None:
        self._db = db
        self.types_by_route: dict[str, set[str]] = {}
        self.types: set[str] = set()

    async def watch(self, http: httpx2.AsyncClient) -> None:
        self._end = await self._db.fetchval("select clock_timestamp()")
        http.event_hooks["response"] = [*http.event_hooks["response"], self._note]

    async def _note(self, response: httpx2.Response) -> None:
        request = response.request
        if request.method not in CHANGING_METHODS:
            return
        types = await self.read_new()
        route = find_route(request.method, request.url.path)
        if route and response.status_code < 400:
            self.types_by_route.setdefault(route, set()).update(types)

    async def read_new(self) -> set[str]:
        """The types of the events since the last call."""
        rows = await self._db.fetch("select type, occurred_at from events where occurred_at > $1", self._end)
        self._end = max([self._end, *(row["occurred_at"] for row in rows)])
        types = {row["type"] for row in rows}
        self.types |= types
        return types
