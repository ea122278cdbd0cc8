"""The permission of each route of the dashboard, found by method and path."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shop.rules.access.permissions import SELF
from shop.web.endpoint import Route

_PARAMETER, _END = "{}", "/"
"""Keys of the tree that no part of a path is."""


class RoutePermissions:
    """The permissions of routes, found by method and path."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._trees: dict[str, dict[str, Any]] = {}
        for route in routes:
            node = self._trees.setdefault(route.method, {})
            for part in route.path.split("/"):
                node = node.setdefault(_PARAMETER if part.startswith("{") else part, {})
            node[_END] = route.permission

    def find_permission(self, method: str, address: str) -> str:
        """Returns the permission of the route that an address leads to; pages of other parts of the shop are open."""
        path = address.partition("?")[0].partition("#")[0]
        return _find(self._trees.get(method, {}), path.split("/"), 0) or SELF


def _find(node: Mapping[str, Any], parts: Sequence[str], depth: int) -> str | None:
    if depth == len(parts):
        return node.get(_END)
    for key in (parts[depth], _PARAMETER):
        child = node.get(key)
        permission = _find(child, parts, depth + 1) if child else None
        if permission is not None:
            return permission
    return None
