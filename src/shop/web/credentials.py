"""Reads request credentials from headers into a Claim, without the database."""

from collections.abc import Mapping, Sequence

from shop.base.actor import GUEST, Claim
from shop.base.crypto.keys import Keys
from shop.base.crypto.order_tokens import is_current, read_order_token
from shop.base.crypto.secrets import PLATFORM_ACCESS, USER_ACCESS, is_secret, secret_hash
from shop.base.errors import InvalidToken, Malformed

_ORDER_TOKEN = b"x-shop-order-token"
# The header name that Spree storefront clients send.
_ORDER_TOKEN_ALIAS = b"x-spree-order-token"
_SINGLE = frozenset({_ORDER_TOKEN, _ORDER_TOKEN_ALIAS, b"authorization", b"idempotency-key", b"content-type"})


def read_platform_claim(headers: Mapping[bytes, bytes]) -> Claim:
    """Reads the claim of a platform request, which accepts application tokens only."""
    bearer = _bearer(headers.get(b"authorization"), PLATFORM_ACCESS)
    return Claim(bearer=bearer, is_platform=True) if bearer else GUEST


def read_claim(headers: Mapping[bytes, bytes], keys: Keys) -> Claim:
    """Reads the bearer and order tokens; raises for a malformed bearer or two different order tokens."""
    bearer = _bearer(headers.get(b"authorization"), USER_ACCESS)
    order_token = headers.get(_ORDER_TOKEN)
    alias = headers.get(_ORDER_TOKEN_ALIAS)
    if alias is not None:
        if order_token is not None and order_token != alias:
            raise Malformed("Two different order tokens were sent; send one.")
        order_token = alias
    if not order_token:
        return Claim(bearer=bearer) if bearer else GUEST
    # Latin-1 decodes any byte, so unusual input becomes an unknown token instead of a server error.
    token = order_token.decode("latin-1")
    opens = read_order_token(keys, token)
    if opens is None:
        return Claim(True, bearer=bearer)
    return Claim(True, *opens, token if is_current(keys, token) else None, bearer)


def _bearer(authorization: bytes | None, kind: str) -> bytes | None:
    """Returns the hash of a bearer token; raises if its format is invalid. Other schemes are ignored."""
    if authorization is None or authorization[:7].lower() not in {b"bearer ", b"bearer"}:
        return None
    token = authorization[7:].strip().decode("latin-1")
    if not is_secret(kind, token):
        raise InvalidToken()
    return secret_hash(token)


def check_repeated(headers: Sequence[tuple[bytes, bytes]]) -> None:
    """Raises if a credential or content header repeats with different values: proxies differ in which value they
    use.
    """
    first: dict[bytes, bytes] = {}
    for name, value in headers:
        if name in _SINGLE and first.setdefault(name, value) != value:
            raise Malformed(f"The header {name.decode()} was sent twice with different values; send one.")
