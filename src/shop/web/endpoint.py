"""Runs every handler: credentials, body, reply or error, one log line, one metric observation."""

import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from random import getrandbits
from time import perf_counter, time
from typing import Any

import msgspec
import structlog

from shop.actions.context import Context, Origin, Shared
from shop.base.actor import Actor, Claim
from shop.base.config.setting_parsers import Network
from shop.base.errors import (
    InternalError,
    RateLimitError,
    ShopError,
    TransactionConflict,
    Unauthenticated,
    Unavailable,
)
from shop.db.pool import LIMIT_SECONDS
from shop.jsonapi.deprecation import Deprecation
from shop.web.asgi import Receive, Scope, Send
from shop.web.credentials import check_repeated, read_claim, read_platform_claim
from shop.web.idempotency import read_idempotency_key
from shop.web.input.parameters import MAX_PARAMS
from shop.web.input.request import FILE, LINES, PARAMETERS, Request
from shop.web.log import RequestLogEntry, log_request
from shop.web.memory_limits import build_rate_limiter
from shop.web.metrics import Observer, count_deprecated
from shop.web.reply import JSON, JSON_API, Reply, error_reply
from shop.web.source import is_direct, source_address
from shop.web.streams import ClientDisconnected, stream_body

Handler = Callable[[Request, Context], Awaitable[Reply]]

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,128}")
_BODY_METHODS = frozenset({"POST", "PATCH", "PUT", "DELETE"})
_IDEMPOTENCY_KEY_METHODS = frozenset({"POST", "PATCH", "PUT"})
# These paths are not rate limited, because monitoring must work during an attack.
_PROBE_PATHS = frozenset({"/livez", "/readyz", "/metrics"})
CROSS_ORIGIN = ("/api/v2/storefront", "/shop_oauth/", "/spree_oauth/")
"""Path prefixes that browsers may call from the origins in SHOP_CORS_ORIGINS."""
_log = structlog.get_logger("shop.request")


def _allow_anyone(_claim: Claim) -> None:
    return


def _require_credential(claim: Claim) -> None:
    if not claim.order_token_sent and claim.bearer is None:
        raise Unauthenticated()


def _require_user(claim: Claim) -> None:
    if claim.bearer is None:
        raise Unauthenticated("Send a user token with this request.")


def _require_application(claim: Claim) -> None:
    if claim.bearer is None:
        raise Unauthenticated("Send a platform token with this request.")


# The credential check for each `Route.who`; runs before the body is read.
_CREDENTIAL_CHECKS = {
    "anyone": _allow_anyone,
    "order token or user": _require_credential,
    "user": _require_user,
    "application: read": _require_application,
    "application: write": _require_application,
}


_CORS_EXPOSE_HEADERS = b"X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, Deprecation, Sunset, Link"


class Route(msgspec.Struct, frozen=True):
    """One route: its address, handler, access and description."""

    method: str
    path: str
    """`{name}` matches one segment; `{name*}`, at the end, matches the rest of the path with its slashes."""
    handler: Handler
    who: str
    """The required credential: a key of the credential checks above."""
    summary: str
    shows: Any = None
    """The response: a wire type, followed by `[]` for a list; or a struct if it is not a JSON:API document."""
    status: int = 200
    errors: tuple[int, ...] = ()
    media: bytes = JSON_API
    body_limit: int = 1024 * 1024
    most_params: int = MAX_PARAMS
    reads: Sequence[str] = PARAMETERS
    """The media types of the body. For LINES (NDJSON, where each line is a `takes`), the handler reads the stream; for
    FILE, the file of the form. Such a request has no idempotency key, because its body is never in memory as a whole.
    """
    admits: Callable[[Request, Context], Awaitable[None]] | None = None
    """Authorizes the caller before a large body is read into memory."""
    reads_claim: bool = True
    render_error: Callable[[ShopError, str, bytes], Reply] = error_reply
    """Renders an error; takes the error, the request id and the media type."""
    show_error: Callable[[ShopError, Request, Context], Awaitable[Reply | None]] | None = None
    """Renders an error for the caller, such as a page with a menu; None leaves it to `render_error`."""
    takes: Any = None
    """The struct, or union of structs, that describes the body. The handler parses the body."""
    fails: tuple[type[ShopError], ...] = ()
    """Errors specific to this route; they replace the default errors of their statuses."""
    codes: Mapping[int, tuple[str, ...]] = {}
    """Additional error codes of this route by status."""
    is_paged: bool = True
    """Whether a list is paginated; other lists are returned in full."""
    sorts: tuple[str, ...] = ()
    """The names that a list can be sorted by."""
    filters: Sequence[str] | Mapping[str, Any] = ()
    """The names that a list can be filtered by; or fields by name, if each supports predicates."""
    asks: tuple[str, ...] = ()
    """The names of other query parameters."""
    is_cacheable: bool = False
    """Whether caches may store the response and revalidate it by its ETag."""
    may_be_empty: bool = False
    """Whether the route may return 204 because there is no record to show."""
    sends_ndjson: bool = False
    """Whether the response is streamed as NDJSON, where each line is a `shows`."""
    sends_events: bool = False
    """Whether the response is a stream of server-sent events, where the data of each is a `shows`."""
    flags: Mapping[str, str] = {}
    """Boolean query parameters with their descriptions."""
    deprecated: Deprecation | None = None
    permission: str = ""
    """The permission that an operator's role or an application's scope needs (`rules/access/permissions.py`)."""


class EndpointContext:
    """State shared by all endpoints of a process. `draining` is set when the process is about to stop."""

    def __init__(
        self, shared: Shared, *, trusted: tuple[Network, ...] = (), cors_origins: tuple[str, ...] = ()
    ) -> None:
        self.shared = shared
        self.trusted = trusted
        self.cors_origins = frozenset(origin.encode() for origin in cors_origins)
        settings = shared.settings
        self.rate_limiter = build_rate_limiter(
            settings.limit_requests_per_source, with_loopback=settings.limit_loopback == "1"
        )
        self.draining = False


class Endpoint:
    """A route compiled to an ASGI application."""

    def __init__(self, endpoint_context: EndpointContext, route: Route) -> None:
        self._endpoint_context = endpoint_context
        self._route = route
        self._observe = Observer(route.method, route.path)
        self._deprecations = (route.deprecated,) if route.deprecated else ()
        self._check_sent = _CREDENTIAL_CHECKS[route.who] if route.reads_claim else _allow_anyone
        self._is_platform = route.who.startswith("application")
        self._rate_limiter = None if route.path in _PROBE_PATHS else endpoint_context.rate_limiter
        self._is_cross_origin = route.path.startswith(CROSS_ORIGIN)
        self._is_streamed = route.reads is LINES or route.reads is FILE
        self._reads_body = route.method in _BODY_METHODS and not self._is_streamed
        self._reads_idempotency_key = route.method in _IDEMPOTENCY_KEY_METHODS and route.reads_claim

    async def __call__(self, scope: Scope, receive: Receive, send: Send, path_params: Mapping[str, str]) -> None:
        start = perf_counter()
        headers = dict(scope["headers"])
        sent_id = headers.get(b"x-request-id")
        request_id = sent_id.decode() if sent_id and _REQUEST_ID.fullmatch(sent_id) else f"{getrandbits(96):024x}"
        request = Request(scope, receive, request_id, headers)
        request.path_params = path_params
        request.deprecations = self._deprecations
        context = Context(self._endpoint_context.shared)
        source = source_address(scope, self._endpoint_context.trusted)
        context.permission = self._route.permission
        context.origin = Origin(request_id, source, headers.get(b"user-agent"))
        if context.is_try_out:
            context.is_try_out = is_direct(scope["headers"])
        try:
            if self._rate_limiter is not None:
                self._rate_limiter.count(source)
            reply = await self._answer(request, context)
        except ShopError as error:
            await request.discard_body()
            reply = await self._error(error, request, context)
        except Exception:
            _log.exception("failure", request_id=request_id, route=self._route.path)
            reply = await self._error(InternalError(), request, context)
        status = await self._send(reply, request, send)
        seconds = perf_counter() - start
        self._observe(status, seconds)
        method, path, caller = scope["method"], self._route.path, None
        if request.deprecations:
            caller = caller_name(context.actor)
            count_deprecated(method, path, caller)
        entry = RequestLogEntry(
            request_id, method, path, status, seconds, context.db.count, request.claim.kind, source, time(), caller
        )
        log_request(entry)

    async def _error(self, error: ShopError, request: Request, context: Context) -> Reply:
        route = self._route
        # A flood or an unavailable database must not cause further queries.
        if route.show_error is not None and not isinstance(error, RateLimitError | Unavailable):
            try:
                reply = await route.show_error(error, request, context.with_new_session())
            except ShopError:
                reply = None
            except Exception:
                _log.exception("failure", request_id=request.id, route=route.path)
                reply = None
            if reply is not None:
                return reply
        return route.render_error(error, request.id, route.media)

    async def _answer(self, request: Request, context: Context) -> Reply:
        route = self._route
        request.most_params = route.most_params
        request.check_head()
        # A stream has no fixed duration: the time limit applies to each statement, not to the whole request.
        context.db.is_bounded = not self._is_streamed
        if route.reads_claim:
            if len(request.headers) != len(request.scope["headers"]):
                check_repeated(request.scope["headers"])
            context.claim = request.claim = (
                read_platform_claim(request.headers)
                if self._is_platform
                else read_claim(request.headers, self._endpoint_context.shared.keys)
            )
            self._check_sent(request.claim)
        if route.admits is not None:
            await route.admits(request, context)
        if self._reads_body:
            if request.has_body:
                await request.read_body(route.body_limit, route.reads)
                if route.reads is PARAMETERS:
                    request.body_params()  # Rejects an unreadable body even if the handler does not use it.
            if self._reads_idempotency_key:
                context.request_key = read_idempotency_key(request, route.method, route.path)
        elif route.reads is FILE:
            await request.read_fields(route.body_limit)
        elif request.has_body and not self._is_streamed:
            await request.discard_body()
        try:
            reply = await route.handler(request, context)
        except TransactionConflict as error:
            reply = await context.db.retry(error, route.handler, request, context)
        if reply.chunks is not None:
            context.db.is_bounded, context.db.seconds = False, LIMIT_SECONDS
        return reply

    async def _send(self, reply: Reply, request: Request, send: Send) -> int:
        """Sends the reply and returns the status to log: the one sent, unless the stream was interrupted."""
        headers = [
            *reply.headers,
            *reply.security,
            *(request.deprecations[0].headers if request.deprecations else ()),
            (b"content-security-policy", reply.policy),
            (b"x-request-id", request.id.encode()),
        ]
        # A 304 has no body: clients would take a Content-Length for the length of the full representation.
        if reply.chunks is None and reply.status != 304:
            headers.append((b"content-length", b"%d" % len(reply.body)))
        if self._is_cross_origin and self._endpoint_context.cors_origins:
            headers += self._cors_headers(request.headers.get(b"origin"))
        if self._endpoint_context.draining:
            headers.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        is_head = request.scope["method"] == "HEAD"
        if reply.chunks is not None and not is_head:
            return await self._stream(reply.chunks, request, send) or reply.status
        await send({"type": "http.response.body", "body": b"" if is_head else reply.body, "more_body": False})
        return reply.status

    async def _stream(self, chunks: AsyncGenerator[bytes], request: Request, send: Send) -> int | None:
        """Streams the body; returns None on success and the status to log on failure. After a failure, the
        final chunk is not sent. This closes the connection, so the client knows that the response is incomplete.
        """
        try:
            await stream_body(chunks, request, send)
        except ClientDisconnected:
            return ClientDisconnected.status
        except ShopError as error:
            return error.status
        except Exception:
            _log.exception("failure", request_id=request.id, route=self._route.path)
            return InternalError.status
        return None

    def _cors_headers(self, origin: bytes | None) -> list[Any]:
        # Not a middleware, so that a preflight has the same headers, log line and request id as any other response.
        vary = [(b"vary", b"Origin")]
        if origin not in self._endpoint_context.cors_origins:
            return vary
        return [
            *vary,
            (b"access-control-allow-origin", origin),
            (b"access-control-expose-headers", _CORS_EXPOSE_HEADERS),
        ]


def caller_name(actor: Actor) -> str:
    """Names the caller of a deprecated feature: an application by id, to contact its developer; others by kind."""
    return f"application {actor.id}" if actor.kind == "application" else actor.kind


def media_for(path: str) -> bytes:
    return JSON_API if path.startswith("/api/") else JSON
