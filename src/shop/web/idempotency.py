"""Binds the Idempotency-Key header, or the id of a form, to the caller and the request."""

from collections.abc import Mapping
from hashlib import sha256
from uuid import UUID

from shop.actions.context import RequestKey
from shop.base.actor import Claim
from shop.base.errors import Malformed
from shop.web.input.request import Request

MAX_LENGTH = 255


def read_idempotency_key(request: Request, method: str, route: str) -> RequestKey | None:
    key = request.headers.get(b"idempotency-key")
    if key is None:
        return None
    if not 1 <= len(key) <= MAX_LENGTH or not key.isascii():
        raise Malformed(f"The Idempotency-Key must have 1 to {MAX_LENGTH} ASCII characters.")
    claim = request.claim
    if claim.cart_id is None and claim.bearer is None and not _is_random_uuid(key):
        # Without a credential only the key distinguishes callers, and a repeated key returns the first caller's cart.
        # Other UUID versions are derived from a clock and a host, or from a name, and can be guessed.
        raise Malformed("Without a credential the Idempotency-Key must be a UUID of version 4 or 7.")
    fingerprint_parts = (
        method.encode(),
        route.encode(),
        repr(dict(request.path_params)).encode(),
        request.query_string,
        request.body,
    )
    return RequestKey(
        scope=sha256(b"\x00".join((claim.kind.encode(), claim.bearer or b"", _cart_bytes(claim)))).digest(),
        key=sha256(key).digest(),
        fingerprint=sha256(b"\x00".join(fingerprint_parts)).digest(),
    )


def build_form_key(form_id: UUID, operator_id: UUID, values: Mapping[str, object]) -> RequestKey:
    """Returns the key of a form with an id of its own, so that a repeated submission does nothing more."""
    return RequestKey(
        scope=sha256(b"form\x00" + operator_id.bytes).digest(),
        key=sha256(form_id.bytes).digest(),
        fingerprint=sha256(repr(sorted(values.items())).encode()).digest(),
    )


def _cart_bytes(claim: Claim) -> bytes:
    return claim.cart_id.bytes if claim.cart_id else b""


def _is_random_uuid(key: bytes) -> bool:
    """Accepts the canonical text of a version 4 or 7 UUID, in either case."""
    text = key.decode()
    try:
        uuid = UUID(text)
    except ValueError:
        return False
    return uuid.version in (4, 7) and str(uuid) == text.lower()
