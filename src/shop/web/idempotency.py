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
    if claim.cart_id is None and claim.bearer is None and not _is_random_uuid(sent):
        # Without a credential the key alone tells callers apart, and a repeated key shows the first caller's cart. The
        # other versions of UUID are made of a clock and a host, or of a name, and can be guessed.
        raise Malformed("Without a credential the Idempotency-Key must be a UUID of version 4 or 7.")
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


def _is_random_uuid(key: bytes) -> bool:
    """Accepts the canonical text of a version 4 or 7 UUID, in either case."""
    text = key.decode()
    try:
        parsed = UUID(text)
    except ValueError:
        return False
    return parsed.version in (4, 7) and str(parsed) == text.lower()
