"""Sends HTTP requests to URLs that callers supply, without giving them access to the network of the shop.

    URL          must pass `url_error` before each request
    address      the name is resolved once for each connection, and every address must pass `address_error`; the
                 connection then goes to one of these addresses, with the name for TLS and the Host header
    response     no redirects, no cookies, no decompression; read up to a limit
    environment  proxies and passwords from environment and .netrc are ignored

The two checks are arguments because they are rules of the shop (`rules/outgoing_urls.py`).
"""

import asyncio
import ssl
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any

import msgspec
import structlog

from shop import __version__
from shop.gateways.checked_resolver import AddressError, AddressRefusal, CheckedResolver, Lookup, ThreadLookup

UrlError = Callable[[str], str | None]
"""Returns why the shop must not send requests to a URL; None if it can."""
READ_LIMIT = 64 * 1024
BODY_LIMIT = 4 * 1024
MAX_REQUESTS = 128
"""Concurrent requests of a process; more wait, and their time starts when they are sent."""
_KEEP_ALIVE = 4
"""In seconds: shorter than the 5 s after which common servers close an idle connection."""
_log = structlog.get_logger("shop.safe_http")


class HttpTimeouts(msgspec.Struct, frozen=True):
    """In seconds. `connect` limits the lookup of the name, and then TCP and TLS together; `total` the whole request."""

    connect: float = 2
    total: float = 15


class HttpResult(msgspec.Struct, frozen=True):
    """The result of a request. It failed if `error` is set, also if a part of the response was read before."""

    milliseconds: int
    status: int | None = None
    body: bytes = b""
    """The first bytes, as they were sent: a compressed body remains compressed."""
    is_complete: bool = False
    """Whether `body` is the whole body."""
    retry_after: str | None = None
    content_type: str | None = None
    error: str | None = None
    """Why there is no complete response, as a sentence for operators."""


class _Exchange:
    """A request, and its response as far as it was read."""

    def __init__(self) -> None:
        self.is_reused = False
        """Whether the request was sent over an open connection."""
        self.response: Any = None
        self.body = bytearray()
        self.is_complete = False

    def end(self) -> None:
        """Returns the connection to the pool if the whole response was read, and closes it otherwise."""
        if self.response is not None:
            finish = self.response.release if self.response.content.at_eof() else self.response.close
            finish()

    def result(self, seconds: float, error: str | None) -> HttpResult:
        milliseconds = round(1000 * seconds)
        if self.response is None:
            return HttpResult(milliseconds, error=error)
        headers = self.response.headers
        return HttpResult(
            milliseconds,
            self.response.status,
            bytes(self.body),
            self.is_complete,
            headers.get("Retry-After"),
            headers.get("Content-Type"),
            error,
        )


class SafeHttpClient:
    """Sends requests; a process has one client, which keeps connections open for a few seconds."""

    def __init__(
        self,
        url_error: UrlError,
        address_error: AddressError,
        *,
        lookup: Lookup | None = None,
        tls: ssl.SSLContext | None = None,
        timeouts: HttpTimeouts | None = None,
    ) -> None:
        self._url_error = url_error
        self._timeouts = timeouts or HttpTimeouts()
        self._threads = ThreadLookup()
        self._resolver = CheckedResolver(lookup or self._threads, address_error, self._timeouts.connect)
        self._tls = tls
        self._requests = asyncio.Semaphore(MAX_REQUESTS)
        self._opening = asyncio.Lock()
        self._session: Any = None

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        read_limit: int = READ_LIMIT,
        body_limit: int = BODY_LIMIT,
    ) -> HttpResult:
        """Sends a request. Reads at most `read_limit` bytes of the response, and returns the first `body_limit`.

        Raises no error except CancelledError. May send a request twice if a reused connection turns out to be closed,
        so the receiver must recognize a repeated POST, as it does by the id of a webhook.
        """
        error = self._url_error(url)
        if error:
            return HttpResult(0, error=error)
        async with self._requests:
            loop = asyncio.get_running_loop()
            started_at = loop.time()
            exchange = _Exchange()
            try:
                async with asyncio.timeout(self._timeouts.total):
                    session = self._session or await self._open()
                    request = {"method": method, "url": url, "headers": headers, "data": body}
                    await _send(session, request, exchange)
                    await _read_body(exchange, read_limit, body_limit)
            except Exception as exception:  # A caller relies on the result.
                error = self._describe(exception)
            finally:
                exchange.end()
            return exchange.result(loop.time() - started_at, error)

    async def close(self) -> None:
        """Closes all connections."""
        if self._session:
            await self._session.close()
        self._threads.close()

    async def _open(self) -> Any:
        async with self._opening:
            if self._session is None:
                # In a thread: loading the library takes a quarter of a second and must not block other requests.
                aiohttp = await asyncio.to_thread(_library)
                self._session = self._new_session(aiohttp)
        return self._session

    def _new_session(self, aiohttp: Any) -> Any:
        connector = aiohttp.TCPConnector(
            resolver=self._resolver,
            # An address in a URL is not resolved; this checks it too.
            socket_factory=self._resolver.new_socket,
            use_dns_cache=False,
            ssl=self._tls or True,
            limit=MAX_REQUESTS,
            keepalive_timeout=_KEEP_ALIVE,
        )
        reuse = aiohttp.TraceConfig()
        reuse.on_connection_reuseconn.append(_note_reuse)
        seconds = self._timeouts.connect
        return aiohttp.ClientSession(
            connector=connector,
            # An own timeout limits the total: that of the library is rounded up to a full second.
            timeout=aiohttp.ClientTimeout(connect=2 * seconds, sock_connect=seconds),
            headers={"User-Agent": f"shop/{__version__}", "Accept-Encoding": "identity"},
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
            trace_configs=[reuse],
        )

    def _describe(self, exception: Exception) -> str:
        """Returns the reason of a failure. Addresses are left out: a caller must not learn those of private names."""
        aiohttp = _library()
        cause = getattr(exception, "os_error", None)
        if isinstance(cause, AddressRefusal):
            return str(cause)
        if isinstance(exception, aiohttp.ClientConnectorCertificateError):
            reason = getattr(exception.certificate_error, "verify_message", "")
            return f"The TLS certificate is invalid: {reason.rstrip('.')}."
        reasons = (
            (aiohttp.ClientConnectorSSLError, "The TLS handshake failed."),
            (aiohttp.ConnectionTimeoutError, f"No connection within {self._timeouts.connect:g} s."),
            (TimeoutError, f"No complete response within {self._timeouts.total:g} s."),
            (aiohttp.ClientConnectorError, "The host refuses the connection or cannot be reached."),
            (aiohttp.ClientConnectionError, "The server closed the connection without a response."),
            (aiohttp.ClientPayloadError, "The server closed the connection before the end of the response."),
            (aiohttp.ClientResponseError, "The response is not valid HTTP."),
            (ValueError, "The URL or a header is invalid."),
        )
        text = next((text for kind, text in reasons if isinstance(exception, kind)), None)
        if text is None:
            # Not its message, which may contain the URL: many webhook URLs contain a secret.
            _log.error("request failed unexpectedly", reason=type(exception).__name__)
        return text or "The request failed."


async def _send(session: Any, request: Mapping[str, Any], exchange: _Exchange) -> None:
    """Sends the request, a second time if a reused connection is closed: the server can close it while we send."""
    aiohttp = _library()
    try:
        exchange.response = await session.request(**request, allow_redirects=False, trace_request_ctx=exchange)
    except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError, aiohttp.ClientConnectionResetError):
        if not exchange.is_reused:
            raise
        exchange.response = await session.request(**request, allow_redirects=False, trace_request_ctx=exchange)


async def _read_body(exchange: _Exchange, read_limit: int, body_limit: int) -> None:
    content, size = exchange.response.content, 0
    if (exchange.response.content_length or 0) > read_limit:
        # The connection will be closed anyway: only the part that is returned is worth reading.
        read_limit = body_limit
    while size < read_limit and (part := await content.read(read_limit - size)):
        size += len(part)
        exchange.body += part[: max(body_limit - len(exchange.body), 0)]
    exchange.is_complete = content.at_eof() and size == len(exchange.body)


async def _note_reuse(_session: Any, context: Any, _params: Any) -> None:
    context.trace_request_ctx.is_reused = True


@lru_cache(maxsize=1)
def _library() -> Any:
    """Loads the HTTP library on first use: most processes never need it."""
    return import_module("aiohttp")
