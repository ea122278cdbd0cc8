"""Routes a path to its endpoint, with one lookup or one step per segment, regardless of the number of routes."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from shop.actions.context import Context
from shop.base.errors import InvalidMethod, NotFound
from shop.web.asgi import Receive, Scope, Send
from shop.web.endpoint import Endpoint, EndpointContext, Route, media_for
from shop.web.input.request import Request
from shop.web.reply import Reply

Methods = dict[str, Endpoint]

# The prefixes of HTML pages, longest first: their 404 and 405 are pages. The website's own route is "/".
_PAGE_PREFIXES = ("/admin", "/")
# By path prefix: the placeholder route that determines the media type and CORS headers of a 404 or 405.
_FALLBACK_PATHS = {
    "storefront": "/api/v2/storefront-",
    "api": "/api/-",
    "oauth": "/shop_oauth/-",
    "spree oauth": "/spree_oauth/-",
    "site": "-",
}
# Spree operations that clients may call and that this shop does not support.
ABSENT = {
    ("POST", "/api/v2/storefront/account"): "Accounts have no password: POST /api/v2/storefront/auth sends a code.",
}
_NO_METHODS: Methods = {}
_NO_PARAMS: Mapping[str, str] = {}

_PREFLIGHT_HEADERS = (
    b"Authorization, Content-Type, X-Shop-Order-Token, X-Spree-Order-Token, Idempotency-Key, X-Request-Id"
)


class Node:
    """A node of the route tree: literal children, a parameter child, and a child for the rest of the path."""

    __slots__ = ("literal", "methods", "name", "parameter", "rest")

    def __init__(self, name: str = "") -> None:
        self.literal: dict[str, Node] = {}
        self.parameter: Node | None = None
        self.rest: Node | None = None
        self.name = name
        self.methods: Methods = {}


class LateRoutes(msgspec.Struct, frozen=True, eq=False):
    """Routes that are loaded with the first request to one of these paths, or below it."""

    paths: Sequence[str]
    load: Callable[[], Iterable[Route]]


class Router:
    """The ASGI application that serves all routes."""

    def __init__(
        self, endpoint_context: EndpointContext, routes: Iterable[Route], late_routes: Iterable[LateRoutes] = ()
    ) -> None:
        self._endpoint_context = endpoint_context
        self._literal: dict[str, Methods] = {}
        self._patterns = Node()
        self._late_routes = [(tuple(f"{path}/" for path in each.paths), each) for each in late_routes]
        self._loading = asyncio.Lock()
        self._fallbacks = {
            (kind, name): Endpoint(
                endpoint_context, Route("-", prefix, handler, "anyone", "", media=media_for(prefix), reads_claim=False)
            )
            for kind, handler in {"missing": _missing, "method": _wrong_method, "preflight": _preflight}.items()
            for name, prefix in _FALLBACK_PATHS.items()
        }
        self._add(tuple(routes))

    def _add(self, routes: Sequence[Route]) -> None:
        for route in routes:
            methods = self._methods_of(route.path)
            if route.method in methods:
                raise ValueError(f"{route.method} {route.path} is declared twice")
            methods[route.method] = Endpoint(self._endpoint_context, route)
        self._add_page_fallbacks(routes)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        methods = self._literal.get(scope["path"], _NO_METHODS)
        endpoint, params = methods.get(scope["method"]), _NO_PARAMS
        if endpoint is None:
            for prefixes, late_routes in self._late_routes:
                if f"{scope['path']}/".startswith(prefixes):
                    return self._load_and_serve(late_routes, scope, receive, send)
            endpoint, params = self._resolve(methods, scope)
        return endpoint(scope, receive, send, params)

    async def _load_and_serve(self, late_routes: LateRoutes, scope: Scope, receive: Receive, send: Send) -> None:
        """Loads routes in a thread, so that other requests do not wait, and serves the request that needs them."""
        async with self._loading:
            if any(late_routes is each for _, each in self._late_routes):
                self._add(await asyncio.to_thread(lambda: tuple(late_routes.load())))
                self._late_routes = [pair for pair in self._late_routes if pair[1] is not late_routes]
        await self(scope, receive, send)

    def _resolve(self, methods: Methods, scope: Scope) -> tuple[Endpoint, Mapping[str, str]]:
        # As in OpenAPI, a literal path takes precedence over patterns that match it, for every method.
        params = _NO_PARAMS
        if not methods:
            methods, params = self._match(scope["path"])
        if not methods and scope["path"].endswith("/") and not scope["path"].endswith("//"):
            # Clients of many frameworks add a trailing slash.
            path = scope["path"][:-1]
            methods, params = self._literal.get(path, _NO_METHODS), _NO_PARAMS
            if not methods:
                methods, params = self._match(path)
        endpoint = _endpoint_for(methods, scope["method"])
        return (endpoint, params) if endpoint is not None else self._fallback(methods, scope)

    def _fallback(self, methods: Mapping[str, Endpoint], scope: Scope) -> tuple[Endpoint, dict[str, str]]:
        path: str = scope["path"]
        kind, params = "missing", {"sentence": ABSENT.get((scope["method"], path.rstrip("/")), "")}
        if methods and not params["sentence"]:
            kind, params = "method", {"allowed": ",".join(methods)}
            if scope["method"] == "OPTIONS" and self._is_preflight(scope):
                kind = "preflight"
        fallback_name = next(
            name for name, prefix in _FALLBACK_PATHS.items() if f"{path}/".startswith(prefix.rstrip("-"))
        )
        if fallback_name == "site":
            pages = (prefix for prefix in _PAGE_PREFIXES if (path + "/").startswith(f"{prefix.rstrip('/')}/"))
            fallback_name = next((prefix for prefix in pages if (kind, prefix) in self._fallbacks), "site")
        return self._fallbacks[kind, fallback_name], params

    def _add_page_fallbacks(self, routes: Sequence[Route]) -> None:
        """Adds fallbacks that return HTML pages for the dashboard and the website, without CORS."""
        for prefix in _PAGE_PREFIXES:
            route = next((route for route in routes if route.path == prefix), None)
            for kind, handler in {"missing": _missing, "method": _wrong_method, "preflight": _wrong_method}.items():
                if route is not None:
                    fallback = msgspec.structs.replace(route, path=f"{prefix}-", handler=handler)
                    self._fallbacks[kind, prefix] = Endpoint(self._endpoint_context, fallback)

    def _is_preflight(self, scope: Scope) -> bool:
        names = {name for name, _ in scope["headers"]}
        return bool(self._endpoint_context.cors_origins) and {b"origin", b"access-control-request-method"} <= names

    def _methods_of(self, path: str) -> Methods:
        if "{" not in path:
            return self._literal.setdefault(path, {})
        node = self._patterns
        *places, last = path.split("/")
        for segment in places:
            if segment.endswith("*}"):
                raise ValueError(f"{path}: nothing can follow {segment}")
            node = _next(node, segment, path)
        return _next(node, last, path).methods

    def _match(self, path: str) -> tuple[Methods, dict[str, str]]:
        params: dict[str, str] = {}
        # PostgreSQL rejects NUL in text with an error of its own; no stored text contains the replacement character.
        if "\x00" in path:
            path = path.replace("\x00", "\ufffd")
        return _walk(self._patterns, path.split("/"), 0, params), params


def _next(node: Node, segment: str, path: str) -> Node:
    """Returns the child node for `name`, `{name}` or `{name*}`, creating it if needed."""
    if not segment.startswith("{"):
        return node.literal.setdefault(segment, Node())
    kind, name = ("rest", segment[1:-2]) if segment.endswith("*}") else ("parameter", segment[1:-1])
    following: Node = getattr(node, kind) or Node(name)
    if following.name != name:
        raise ValueError(f"{path}: this segment is named {following.name} in another route")
    setattr(node, kind, following)
    return following


def _walk(node: Node, segments: list[str], at: int, params: dict[str, str]) -> Methods:
    """Matches literal, then parameter, then rest at each segment; backtracks if a branch does not match."""
    if at == len(segments):
        return node.methods
    literal, parameter = node.literal.get(segments[at]), node.parameter
    if literal and (methods := _walk(literal, segments, at + 1, params)):
        return methods
    if parameter and segments[at] and (methods := _walk(parameter, segments, at + 1, params)):
        params[parameter.name] = segments[at]
        return methods
    if node.rest and segments[at:] != [""]:
        rest = "/".join(segments[at:])
        # A trailing slash is not part of a parameter.
        params[node.rest.name] = rest.removesuffix("/") or rest
        return node.rest.methods
    return {}


def _endpoint_for(methods: Methods, method: str) -> Endpoint | None:
    return methods.get(method) or (methods.get("GET") if method == "HEAD" else None)


async def _missing(request: Request, _ctx: Context) -> Reply:
    raise NotFound(request.path_params.get("sentence") or "Not found.")


async def _wrong_method(request: Request, _ctx: Context) -> Reply:
    raise InvalidMethod(_allowed_methods(request))


async def _preflight(request: Request, _ctx: Context) -> Reply:
    headers: list[Any] = [
        (b"access-control-allow-methods", ", ".join(_allowed_methods(request)).encode()),
        (b"access-control-allow-headers", _PREFLIGHT_HEADERS),
        (b"access-control-max-age", b"600"),
    ]
    return Reply(204, headers=headers)


def _allowed_methods(request: Request) -> list[str]:
    methods = set(request.path_params["allowed"].split(","))
    return sorted(methods | {"HEAD"} if "GET" in methods else methods)
