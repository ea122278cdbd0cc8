"""Under which key a request asks to be done once: the Idempotency-Key header, bound to who asks and what is asked."""

from hashlib import sha256
from uuid import UUID

from shop.actions.context import OnceKey
from shop.base.actor import Claim
from shop.base.errors import Malformed
from shop.web.request import Request

MAX_LENGTH = 255


def read_once_key(request: Request, method: str, route: str) -> OnceKey | None:
    sent = request.headers.get(b"idempotency-key")
    if sent is None:
        return None
    if not 1 <= len(sent) <= MAX_LENGTH or not sent.isascii():
        raise Malformed(f"The Idempotency-Key must have 1 to {MAX_LENGTH} ASCII characters.")
    claim = request.claim
    if claim.cart_id is None and claim.bearer is None and not _is_uuid(sent):
        # Without a credential the key alone tells callers apart, so it must be one that nobody else can come upon.
        raise Malformed("Without a credential the Idempotency-Key must be a UUID.")
    asked = (
        method.encode(),
        route.encode(),
        repr(dict(request.path_params)).encode(),
        request.query_string,
        request.body,
    )
    return OnceKey(
        scope=sha256(b"\x00".join((claim.kind.encode(), claim.bearer or b"", _cart_bytes(claim)))).digest(),
        key=sha256(sent).digest(),
        fingerprint=sha256(b"\x00".join(asked)).digest(),
    )


def _cart_bytes(claim: Claim) -> bytes:
    return claim.cart_id.bytes if claim.cart_id else b""


def _is_uuid(text: bytes) -> bool:
    try:
        return str(UUID(text.decode())) == text.decode().lower()
    except ValueError:
        return False
