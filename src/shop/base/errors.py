"""Errors that end a request, with their HTTP status and error code.

ShopError
├── Malformed 400             cannot be parsed
│   ├── BadSignature          a webhook without a valid signature of its provider
│   ├── InvalidGrant          a platform refresh token that is invalid for any reason (RFC 6749)
│   ├── InvalidScope          no scope, or more than the application's access level allows
│   └── UnsupportedGrant      an unsupported grant type
├── Unauthenticated 401       credentials are missing or invalid
│   ├── InvalidClient         unknown application or wrong secret, indistinguishable
│   ├── InvalidToken          the bearer token is unknown, expired or revoked
│   ├── NotCartOwner          the cart belongs to a user, whose bearer token is required
│   ├── InvalidSignIn         an operator's e-mail, password or code is wrong, indistinguishable
│   ├── InvalidCode           wrong, expired, used, too many attempts, or unknown address, indistinguishable
│   └── InvalidRefreshToken   invalid for any reason, indistinguishable
├── Forbidden 403             authenticated but not permitted
│   └── InsufficientScope     the token lacks the required scope
├── NotFound 404              missing or owned by someone else, indistinguishable
├── InvalidMethod 405         the path does not support the method
├── ExpiredLink 410           expired or already used
├── CursorExpired 410         the event log no longer contains the events after the cursor
├── Conflict 409              the record changed, or a concurrent request was first
│   ├── TotalMismatch         the total differs from the quote; has the differences and a consent token
│   ├── PaymentInProgress     the provider has not answered yet
│   ├── PaymentNeedsAction    the shopper must confirm the payment; has a client secret and the next action
│   └── InFlight              a request with the same Idempotency-Key is in progress
├── TooLarge 413, UriTooLong 414, UnsupportedMedia 415, HeadersTooLarge 431
├── Invalid 422               fails validation
│   ├── NotPayable            the order cannot be paid in its current state
│   └── IdempotencyKeyConflict
│                             the Idempotency-Key was used with a different request
├── RateLimitError 429        rate limit exceeded
├── InternalError 500         internal error
└── Unavailable 503           the database is unavailable or busy

Messages address the client's developer and contain no secrets, stack traces or SQL. Only `web/reply.py` renders them.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar


class ShopError(Exception):
    """An error that ends a request; each subclass has a status, a code and a message."""

    status: ClassVar[int]
    code: str
    sentence: str

    def __init__(self, sentence: str | None = None, *, code: str | None = None) -> None:
        self.sentence = sentence or self.sentence
        self.code = code or self.code
        super().__init__(self.sentence)


class Malformed(ShopError):
    status = 400
    code = "malformed"
    sentence = "The request cannot be read."


class BadSignature(Malformed):
    code = "bad_signature"
    sentence = "The webhook signature is invalid."


class InvalidGrant(Malformed):
    code = "invalid_grant"
    sentence = "The refresh token is unknown, expired, already used or issued to another client; request a new token."


class InvalidScope(Malformed):
    code = "invalid_scope"
    sentence = "Request a scope that the application's access level allows."


class UnsupportedGrant(Malformed):
    code = "unsupported_grant_type"
    sentence = "Send grant_type as client_credentials or refresh_token."


class Unauthenticated(ShopError):
    status = 401
    code = "unauthenticated"
    sentence = "Send a user token or an order token with this request."


class InvalidToken(Unauthenticated):
    code = "invalid_token"
    sentence = "The bearer token is unknown, expired or revoked; sign in again."


class NotCartOwner(Unauthenticated):
    code = "owner_required"
    sentence = "The cart belongs to a user; send the owner's bearer token."


class InvalidSignIn(Unauthenticated):
    code = "invalid_sign_in"
    sentence = "Wrong e-mail or password."


class InvalidCode(Unauthenticated):
    code = "invalid_code"
    sentence = "The code is wrong, used or expired; request a new one."


class InvalidRefreshToken(Unauthenticated):
    code = "invalid_refresh_token"
    sentence = "The refresh token is invalid; sign in again."


class InvalidClient(Unauthenticated):
    code = "invalid_client"
    sentence = "Unknown client id or wrong client secret."


class Forbidden(ShopError):
    status = 403
    code = "forbidden"
    sentence = "This credential does not permit the request."


class InsufficientScope(Forbidden):
    """Carries the required scope."""

    code = "insufficient_scope"

    def __init__(self, scope: str) -> None:
        self.needed = scope
        super().__init__(f"This token lacks the required scope: {scope}.")


class NotFound(ShopError):
    status = 404
    code = "not_found"
    sentence = "Not found."


class InvalidMethod(ShopError):
    status = 405
    code = "method_not_allowed"

    def __init__(self, methods: Sequence[str]) -> None:
        self.allowed = ", ".join(sorted(methods))
        super().__init__(f"Method not allowed; use {self.allowed}.")


class ExpiredLink(ShopError):
    status = 410
    code = "gone"
    sentence = "This link has expired or was already used."


class CursorExpired(ShopError):
    status = 410
    code = "cursor_expired"
    sentence = "Events after this cursor are no longer kept; read the records again, then start with page[after]=now."


class Conflict(ShopError):
    status = 409
    code = "conflict"
    sentence = "The record has changed; reload it and try again."


class ChangedMeanwhile(Conflict):
    """Someone else changed the record since a form showed it."""

    sentence = "Someone else changed it; review the changes and try again."


class TotalMismatch(Conflict):
    """Carries the differences from the quote, and the token that accepts them."""

    code = "total_changed"
    sentence = "The order changed since it was quoted; review the differences and retry with the consent token."

    def __init__(self, differences: Sequence[Mapping[str, object]], consent_token: str) -> None:
        self.differences = differences
        self.consent_token = consent_token
        super().__init__()


class PaymentInProgress(Conflict):
    code = "payment_in_progress"
    sentence = "Payment is still processing; retry shortly."


class PaymentNeedsAction(Conflict):
    """Carries the client secret, which is never stored and goes to the shopper's client only."""

    code = "payment_needs_action"
    sentence = "The shopper must confirm this payment; follow next_action, then complete again."

    def __init__(self, client_secret: str, next_action: Mapping[str, str | None]) -> None:
        self.client_secret = client_secret
        self.next_action = next_action
        super().__init__()


class InFlight(Conflict):
    code = "request_in_progress"
    sentence = "A request with this Idempotency-Key is still in progress; retry shortly."


class TooLarge(ShopError):
    status = 413
    code = "too_large"

    def __init__(self, limit: int) -> None:
        super().__init__(f"The body exceeds the limit of {limit:,} bytes.")


class UriTooLong(ShopError):
    status = 414
    code = "uri_too_long"
    sentence = "The path exceeds 2,048 bytes, or the query exceeds 8,192 bytes."


class UnsupportedMedia(ShopError):
    status = 415
    code = "unsupported_media_type"
    sentence = "Send the body as application/json, application/vnd.api+json or a form, in UTF-8 and uncompressed."


class HeadersTooLarge(ShopError):
    status = 431
    code = "headers_too_large"
    sentence = "The headers exceed 16,384 bytes."


class Invalid(ShopError):
    """A validation failure; `errors` maps each invalid field to its messages, `base` stands for the whole record."""

    status = 422
    code = "validation_failed"
    sentence = "Some fields are invalid; see errors."

    def __init__(
        self,
        errors: Mapping[str, Sequence[str]] | None = None,
        sentence: str | None = None,
        *,
        code: str | None = None,
    ) -> None:
        self.errors = errors or {}
        super().__init__(sentence, code=code)


class NotPayable(Invalid):
    code = "not_payable"
    sentence = "The order cannot be paid in its current state; see meta.messages."


class IdempotencyKeyConflict(Invalid):
    code = "idempotency_key_reused"
    sentence = "This Idempotency-Key was already used with a different request; use a new key."


class RateLimitError(ShopError):
    status = 429
    code = "too_many_requests"
    sentence = "Too many requests; wait and try again."

    def __init__(
        self, retry_after: int, sentence: str | None = None, passed: Sequence[tuple[str, int, int]] = ()
    ) -> None:
        self.retry_after = retry_after
        self.passed = passed
        """The exceeded limits to report to the caller: name, count, seconds."""
        super().__init__(sentence)


class InternalError(ShopError):
    status = 500
    code = "internal_error"
    sentence = "Internal server error; the log has details under this request id."


class Unavailable(ShopError):
    status = 503
    code = "temporarily_unavailable"
    sentence = "The shop is temporarily unavailable; retry in a few seconds."
    retry_after = 5


class TransactionConflict(Exception):
    """A serialization failure or deadlock: the transaction was rolled back and is retried."""


class CannotStart(Exception):
    """A command cannot run; the message says what to do."""


class BackupError(CannotStart):
    """A backup cannot be made, read or restored; the message says why."""
