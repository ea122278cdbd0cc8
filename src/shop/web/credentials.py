"""Who claims to ask: headers to a Claim, without the database."""

from collections.abc import Mapping, Sequence

from shop.base.actor import GUEST, Claim
from shop.base.errors import InvalidToken, Malformed
from shop.base.keys import Keys
from shop.base.secrets import PLATFORM_ACCESS, USER_ACCESS, is_secret, secret_hash
from shop.base.tokens import is_current, read_order_token

_ORDER_TOKEN = b"x-shop-order-token"
# What existing storefront clients of this API's family send.
_ORDER_TOKEN_ALIAS = b"x-spree-order-token"
_SINGLE = frozenset({_ORDER_TOKEN, _ORDER_TOKEN_ALIAS, b"authorization", b"idempotency-key", b"content-type"})


def read_platform_claim(headers: Mapping[bytes, bytes]) -> Claim:
    """On the platform only an application's token counts."""
    bearer = _bearer(headers.get(b"authorization"), PLATFORM_ACCESS)
    return Claim(bearer=bearer, is_platform=True) if bearer else GUEST


def read_claim(headers: Mapping[bytes, bytes], keys: Keys) -> Claim:
    """Raises for a bearer that cannot be one of ours, and for two order tokens that differ."""
    bearer = _bearer(headers.get(b"authorization"), USER_ACCESS)
    sent = headers.get(_ORDER_TOKEN)
    alias = headers.get(_ORDER_TOKEN_ALIAS)
    if alias is not None:
        if sent is not None and sent != alias:
            raise Malformed("Two different order tokens are sent; send one.")
        sent = alias
    if not sent:
        return Claim(bearer=bearer) if bearer else GUEST
    # Latin-1 reads any byte, so that odd input ends as a token that is none of ours and not as a defect.
    token = sent.decode("latin-1")
    opens = read_order_token(keys, token)
    if opens is None:
        return Claim(True, bearer=bearer)
    return Claim(True, *opens, token if is_current(keys, token) else None, bearer)


def _bearer(authorization: bytes | None, kind: str) -> bytes | None:
    """The hash of a bearer token; one that cannot be ours is refused here. Other schemes are not for us."""
    if authorization is None or authorization[:7].lower() not in {b"bearer ", b"bearer"}:
        return None
    token = authorization[7:].strip().decode("latin-1")
    if not is_secret(kind, token):
        raise InvalidToken()
    return secret_hash(token)


def check_repeated(headers: Sequence[tuple[bytes, bytes]]) -> None:
    """A header that says who asks or what for may be repeated only in the same words: proxies disagree which counts."""
    first: dict[bytes, bytes] = {}
    for name, value in headers:
        if name in _SINGLE and first.setdefault(name, value) != value:
            raise Malformed(f"The header {name.decode()} is sent twice with different values; send one.")
