"""The frame around every handler: who asks, the body, the answer or the error, one log line, one measurement."""

import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from random import getrandbits
from time import perf_counter, time
from typing import Any

import msgspec
import structlog
from starlette.types import Receive, Scope, Send

from shop.actions.context import Context, Origin, Shared
from shop.base.actor import Actor, Claim
from shop.base.errors import Broken, Lost, ShopError, Unauthenticated
from shop.base.settings import Network
from shop.db.pool import LIMIT_SECONDS
from shop.jsonapi.deprecation import Deprecation
from shop.web.credentials import check_repeated, read_claim, read_platform_claim
from shop.web.crowd import crowd_for
from shop.web.idempotency import read_once_key
from shop.web.log import Answered, log_request
from shop.web.metrics import Observer, count_deprecated
from shop.web.reply import JSON, JSON_API, Reply, error_reply
from shop.web.request import LINES, MAX_PARAMS, PARAMETERS, Request
from shop.web.source import is_direct, source_address
from shop.web.streams import HungUp, pour

Handler = Callable[[Request, Context], Awaitable[Reply]]

_SANE_ID = re.compile(rb"[A-Za-z0-9._-]{1,128}")
_BODY_METHODS = frozenset({"POST", "PATCH", "PUT", "DELETE"})
_ONCE_METHODS = frozenset({"POST", "PATCH", "PUT"})
# Asked by those who keep the shop running, and most when it is under attack.
_UNCOUNTED = frozenset({"/livez", "/readyz", "/metrics"})
CROSS_ORIGIN = ("/api/v2/storefront", "/shop_oauth/", "/spree_oauth/")
"""What storefronts in browsers may call from the origins of SHOP_CORS_ORIGINS."""
_log = structlog.get_logger("shop.request")


def _anyone(_claim: Claim) -> None:
    return


def _some_credential(claim: Claim) -> None:
    if not claim.order_token_sent and claim.bearer is None:
        raise Unauthenticated()


def _a_user(claim: Claim) -> None:
    if claim.bearer is None:
        raise Unauthenticated("Send a user token with this request.")


def _an_application(claim: Claim) -> None:
    if claim.bearer is None:
        raise Unauthenticated("Send a platform token with this request.")


# Who may call, in the words of the tables: what must have been sent, looked at before the body is.
_SENT = {
    "anyone": _anyone,
    "order token or user": _some_credential,
    "user": _a_user,
    "application: read": _an_application,
    "application: write": _an_application,
}


_EXPOSED = b"X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, Deprecation, Sunset, Link"


class Route(msgspec.Struct, frozen=True):
    """One row of a door's table."""

    method: str
    path: str
    """`{name}` stands for one segment; `{name*}`, at the end, for the rest of the address with its slashes."""
    handler: Handler
    who: str
    """Who may call, in the words of the credential table."""
    summary: str
    shows: Any = None
    """The wire type of the answer, with `[]` behind it for a list; or the struct of an answer that is no document."""
    status: int = 200
    errors: tuple[int, ...] = ()
    media: bytes = JSON_API
    body_limit: int = 1024 * 1024
    most_params: int = MAX_PARAMS
    reads: Sequence[str] = PARAMETERS
    """The media types of its body. A handler of LINES, each as `takes` says, reads them by itself as they come; such a
    request is not done once by a key, for nobody has seen the whole of it.
    """
    admits: Callable[[Request, Context], Awaitable[None]] | None = None
    """Asked before a large body is read, so that only those who may send one make us hold it."""
    reads_claim: bool = True
    draw_error: Callable[[ShopError, str, bytes], Reply] = error_reply
    """What an error looks like here: error, request id, media type."""
    takes: Any = None
    """The struct that describes the body, or a union of such; the handler reads it by itself."""
    fails: tuple[type[ShopError], ...] = ()
    """The errors that are this route's own, in place of those its statuses usually stand for."""
    codes: Mapping[int, tuple[str, ...]] = {}
    """The words that a status of this route may carry beside its usual ones."""
    is_paged: bool = True
    """Whether a list has pages; the others are always served whole."""
    sorts: tuple[str, ...] = ()
    """The names a list may be sorted by."""
    filters: Sequence[str] | Mapping[str, Any] = ()
    """The names a list may be filtered by, or fields by name where each has predicates."""
    asks: tuple[str, ...] = ()
    """The names of other parameters that it reads from the query."""
    is_kept: bool = False
    """Whether caches may keep the answer, and ask for it anew by its ETag."""
    may_be_empty: bool = False
    """Whether it may answer 204 instead, because nothing is left to show."""
    sends_lines: bool = False
    """The answer is lines, each as `shows` says, sent as they are made."""
    flags: Mapping[str, str] = {}
    """Parameters of the query that are true or false, each with its sentence."""
    deprecated: Deprecation | None = None


class Frame:
    """What all endpoints of a process share. `draining` is set when the process is about to stop."""

    def __init__(
        self, shared: Shared, *, trusted: tuple[Network, ...] = (), cors_origins: tuple[str, ...] = ()
    ) -> None:
        self.shared = shared
        self.trusted = trusted
        self.cors_origins = frozenset(origin.encode() for origin in cors_origins)
        settings = shared.settings
        self.crowd = crowd_for(settings.limit_requests_per_source, with_loopback=settings.limit_loopback == "1")
        self.draining = False


class Endpoint:
    """A route made ready to answer: a plain ASGI application."""

    def __init__(self, frame: Frame, route: Route) -> None:
        self._frame = frame
        self._route = route
        self._observe = Observer(route.method, route.path)
        self._deprecations = (route.deprecated,) if route.deprecated else ()
        self._check_sent = _SENT[route.who] if route.reads_claim else _anyone
        self._is_platform = route.who.startswith("application")
        self._crowd = None if route.path in _UNCOUNTED else frame.crowd
        self._is_cross_origin = route.path.startswith(CROSS_ORIGIN)
        self._reads_body = route.method in _BODY_METHODS and route.reads is not LINES
        self._is_once = route.method in _ONCE_METHODS and route.reads_claim
        self._is_bounded = route.reads is not LINES

    async def __call__(self, scope: Scope, receive: Receive, send: Send, path_params: Mapping[str, str]) -> None:
        started = perf_counter()
        headers = dict(scope["headers"])
        sent_id = headers.get(b"x-request-id")
        request_id = sent_id.decode() if sent_id and _SANE_ID.fullmatch(sent_id) else f"{getrandbits(96):024x}"
        request = Request(scope, receive, request_id, headers)
        request.path_params = path_params
        request.deprecations = self._deprecations
        context = Context(self._frame.shared)
        source = source_address(scope, self._frame.trusted)
        context.origin = Origin(request_id, source, headers.get(b"user-agent"))
        if context.is_try_out:
            context.is_try_out = is_direct(scope["headers"])
        try:
            if self._crowd is not None:
                self._crowd.count(source)
            reply = await self._answer(request, context)
        except ShopError as error:
            await request.discard_body()
            reply = self._error(error, request_id)
        except Exception:
            _log.exception("failure", request_id=request_id, route=self._route.path)
            reply = self._error(Broken(), request_id)
        status = await self._send(reply, request, send)
        seconds = perf_counter() - started
        self._observe(status, seconds)
        caller = None
        if request.deprecations:
            caller = caller_name(context.actor)
            count_deprecated(scope["method"], self._route.path, caller)
        log_request(
            Answered(
                request_id,
                scope["method"],
                self._route.path,
                status,
                seconds,
                context.db.count,
                request.claim.kind,
                source,
                time(),
                caller,
            )
        )

    def _error(self, error: ShopError, request_id: str) -> Reply:
        return self._route.draw_error(error, request_id, self._route.media)

    async def _answer(self, request: Request, context: Context) -> Reply:
        route = self._route
        request.most_params = route.most_params
        request.check_head()
        # What is streamed has no end of its own: there each statement has the time that others have in all.
        context.db.is_bounded = self._is_bounded
        if route.reads_claim:
            if len(request.headers) != len(request.scope["headers"]):
                check_repeated(request.scope["headers"])
            context.claim = request.claim = (
                read_platform_claim(request.headers)
                if self._is_platform
                else read_claim(request.headers, self._frame.shared.keys)
            )
            self._check_sent(request.claim)
        if route.admits is not None:
            await route.admits(request, context)
        if self._reads_body:
            if request.has_body:
                await request.read_body(route.body_limit, route.reads)
                if route.reads is PARAMETERS:
                    request.body_params()  # Refused if it cannot be read, even where nobody looks at it.
            if self._is_once:
                context.once_key = read_once_key(request, route.method, route.path)
        elif request.has_body and route.reads is not LINES:
            await request.discard_body()
        try:
            reply = await route.handler(request, context)
        except Lost as lost:
            reply = await context.db.retry(lost, route.handler, request, context)
        if reply.chunks is not None:
            context.db.is_bounded, context.db.seconds = False, LIMIT_SECONDS
        return reply

    async def _send(self, reply: Reply, request: Request, send: Send) -> int:
        """The status that is logged: the one sent, unless the answer broke off behind it."""
        headers = [
            *reply.headers,
            *reply.security,
            *(request.deprecations[0].headers if request.deprecations else ()),
            (b"content-security-policy", reply.policy),
            (b"x-request-id", request.id.encode()),
        ]
        # An answer that never has a body must not speak of its length, or it would be taken for the file's.
        if reply.chunks is None and reply.status != 304:
            headers.append((b"content-length", b"%d" % len(reply.body)))
        if self._is_cross_origin and self._frame.cors_origins:
            headers += self._cors_headers(request.headers.get(b"origin"))
        if self._frame.draining:
            headers.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        is_head = request.scope["method"] == "HEAD"
        if reply.chunks is not None and not is_head:
            return await self._pour(reply.chunks, request, send) or reply.status
        await send({"type": "http.response.body", "body": b"" if is_head else reply.body, "more_body": False})
        return reply.status

    async def _pour(self, chunks: AsyncGenerator[bytes], request: Request, send: Send) -> int | None:
        """None when all was sent. Otherwise the last chunk is not, which breaks the connection off: what came of the
        answer cannot be taken for the whole.
        """
        try:
            await pour(chunks, request, send)
        except HungUp:
            return HungUp.status
        except ShopError as error:
            return error.status
        except Exception:
            _log.exception("failure", request_id=request.id, route=self._route.path)
            return Broken.status
        return None

    def _cors_headers(self, origin: bytes | None) -> list[Any]:
        # Ours and not a middleware's, so that a preflight has the same headers, log line and request id as any answer.
        vary = [(b"vary", b"Origin")]
        if origin not in self._frame.cors_origins:
            return vary
        return [
            *vary,
            (b"access-control-allow-origin", origin),
            (b"access-control-expose-headers", _EXPOSED),
        ]


def caller_name(actor: Actor) -> str:
    """Who uses what is deprecated: an application by its id, so that its developer can be asked; others by kind."""
    return f"application {actor.id}" if actor.kind == "application" else actor.kind


def media_for(path: str) -> bytes:
    return JSON_API if path.startswith("/api/") else JSON
