"""HTTP replies: documents, pages, streams, empty replies, and the error body."""

from base64 import b64encode
from collections.abc import AsyncGenerator, Sequence
from hashlib import sha256
from typing import Any

import msgspec

from shop.base.errors import (
    InsufficientScope,
    Invalid,
    InvalidClient,
    InvalidMethod,
    InvalidToken,
    PaymentNeedsAction,
    RateLimitError,
    ShopError,
    TotalMismatch,
    Unauthenticated,
    Unavailable,
)

Header = tuple[bytes, bytes]

JSON_API = b"application/vnd.api+json; charset=utf-8"
JSON = b"application/json; charset=utf-8"
HTML = b"text/html; charset=utf-8"
LINES = b"application/x-ndjson"

SECURITY_HEADERS: tuple[Header, ...] = (
    (b"strict-transport-security", b"max-age=31536000; includeSubDomains"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)
# With `no-referrer`, browsers send `Origin: null` with a form.
DASHBOARD_HEADERS: tuple[Header, ...] = (
    *SECURITY_HEADERS[:-1],
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
API_POLICY = b"default-src 'none'; frame-ancestors 'none'"
# Carts contain tokens, accounts contain addresses: API responses are not cached unless a route allows it.
NO_STORE: Header = (b"cache-control", b"no-store")
_JSON_API_HEADERS = ((b"content-type", JSON_API), NO_STORE)

_encode = msgspec.json.Encoder().encode


class Reply(msgspec.Struct, frozen=True):
    """A response without the headers that are common to all responses."""

    status: int
    body: bytes = b""
    headers: Sequence[Header] = ()
    policy: bytes = API_POLICY
    """The Content-Security-Policy; each page sets its own."""
    security: Sequence[Header] = SECURITY_HEADERS
    chunks: AsyncGenerator[bytes] | None = None
    """A streamed body, used instead of `body`."""


class EmptyObject(msgspec.Struct, frozen=True):
    """An empty object: the request succeeded and returns no data."""


NO_CONTENT = Reply(204, headers=(NO_STORE,))


def document_reply(body: bytes, status: int = 200) -> Reply:
    return Reply(status, body, _JSON_API_HEADERS)


def token_reply(value: Any) -> Reply:
    """Returns a token response with the headers that RFC 6749 requires."""
    return Reply(200, _encode(value), ((b"content-type", JSON), NO_STORE, (b"pragma", b"no-cache")))


def json_reply(value: Any, status: int = 200) -> Reply:
    return Reply(status, _encode(value), ((b"content-type", JSON), NO_STORE))


def lines_reply(chunks: AsyncGenerator[bytes]) -> Reply:
    return Reply(200, headers=((b"content-type", LINES), NO_STORE), chunks=chunks)


def html_reply(body: str, nonce: str, status: int = 200, headers: Sequence[Header] = ()) -> Reply:
    return Reply(status, body.encode(), ((b"content-type", HTML), NO_STORE, *headers), page_policy(nonce))


def page_policy(nonce: str, form_action: str = "'none'") -> bytes:
    """Returns a Content-Security-Policy that allows only styles and scripts with the page's nonce."""
    return _page_policy(f"'nonce-{nonce}'", f"'nonce-{nonce}'", form_action)


def fixed_page_policy(style: str, script: str) -> bytes:
    """Returns the policy of a cacheable page, which allows only this style and this script, by their hashes."""
    return _page_policy(_hash_source(style), _hash_source(script), "'none'")


def _hash_source(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _page_policy(style: str, script: str, form_action: str) -> bytes:
    parts = (
        "default-src 'none'",
        f"style-src {style}",
        f"script-src {script}",
        "img-src 'self' data:",
        "connect-src 'self'",
        f"form-action {form_action}",
        "base-uri 'none'",
        "object-src 'none'",
        "frame-ancestors 'none'",
    )
    return "; ".join(parts).encode()


def error_reply(error: ShopError, request_id: str, media: bytes) -> Reply:
    body = error_body(error, request_id)
    return Reply(error.status, _encode(body), ((b"content-type", media), NO_STORE, *_error_headers(error)))


def error_body(error: ShopError, request_id: str) -> dict[str, Any]:
    body: dict[str, Any] = {"error": error.sentence, "code": error.code, "request_id": request_id}
    if isinstance(error, Invalid) and error.errors:
        body["errors"] = error.errors
    if isinstance(error, TotalMismatch):
        body |= {"differences": error.differences, "consent_token": error.consent_token}
    if isinstance(error, PaymentNeedsAction):
        body |= {"client_secret": error.client_secret, "next_action": error.next_action}
    return body


_OAUTH_OWN = frozenset({"invalid_client", "invalid_grant", "invalid_scope", "unsupported_grant_type"})
_OAUTH_WORDS = {
    401: "invalid_client",
    403: "insufficient_scope",
    429: "temporarily_unavailable",
    500: "server_error",
    503: "temporarily_unavailable",
}


def oauth_error_reply(error: ShopError, _request_id: str, _media: bytes) -> Reply:
    """Renders an error as RFC 6749 defines it."""
    body = {"error": oauth_error_code(error.status, error.code), "error_description": error.sentence}
    return Reply(error.status, _encode(body), ((b"content-type", JSON), NO_STORE, *_error_headers(error)))


def oauth_error_code(status: int, code: str) -> str:
    return code if code in _OAUTH_OWN else _OAUTH_WORDS.get(status, "invalid_request")


def _error_headers(error: ShopError) -> Sequence[Header]:
    match error:
        case Unauthenticated() | InsufficientScope():
            return [(b"www-authenticate", _challenge(error).encode())]
        case InvalidMethod(allowed=methods):
            return [(b"allow", methods.encode())]
        case RateLimitError(retry_after=seconds, passed=limits) if limits:
            policies = ", ".join(f'"{name}";q={count};w={window}' for name, count, window in limits)
            left = ", ".join(f'"{name}";r=0;t={seconds}' for name, _, _ in limits)
            return [
                (b"retry-after", str(seconds).encode()),
                (b"ratelimit-policy", policies.encode()),
                (b"ratelimit", left.encode()),
            ]
        case RateLimitError(retry_after=seconds) | Unavailable(retry_after=seconds):
            return [(b"retry-after", str(seconds).encode())]
    return []


def page_error_headers(error: ShopError) -> Sequence[Header]:
    """Returns the headers of an error page: without a challenge, which is for clients of the APIs."""
    return [] if isinstance(error, Unauthenticated | InsufficientScope) else _error_headers(error)


def _challenge(error: ShopError) -> str:
    match error:
        case InvalidClient():
            return 'Basic realm="shop"'
        case InvalidToken():
            return 'Bearer realm="shop", error="invalid_token"'
        case InsufficientScope(needed=scope):
            return f'Bearer realm="shop", error="insufficient_scope", scope="{scope}"'
    return 'Bearer realm="shop"'
