"""Order tokens: their format, derivation and verification.

    version 0     shpot_<key id>_<32: cart id><64: HMAC-SHA256><8: CRC-32>
    version 1…    shpot_<key id>_<32: cart id><8: version><64: HMAC-SHA256><8: CRC-32>, all hexadecimal
    for scanners  shpot_[0-9a-z]{1,8}_[0-9a-f]{104}(?:[0-9a-f]{8})?

A token contains the cart's id and version, so it is verified with the key alone and a forged one never reaches the
database. The version is the order's `token_version`: incrementing it revokes every earlier token of that cart. Version
0 is omitted, so that tokens issued before versions were introduced stay valid.
"""

import hmac
import zlib
from uuid import UUID

from shop.base.crypto.keys import Keys

ORDER_TOKEN_PATTERN = "shpot_[0-9a-z]{1,8}_[0-9a-f]{104}(?:[0-9a-f]{8})?"  # noqa: S105  A pattern, not a token.
_PREFIX = "shpot_"
_CART, _VERSION, _TAIL = 32, 8, 64 + 8
_LENGTHS = frozenset({_CART + _TAIL, _CART + _VERSION + _TAIL})
_ORDER_USE = "order token"


def order_token(keys: Keys, cart_id: UUID, version: int) -> str:
    """Returns the cart's token, signed with the current order key."""
    return _derive(keys, keys.order_key, _message(cart_id.bytes, version))


def is_current(keys: Keys, token: str) -> bool:
    """Returns whether a valid order token was signed with the current order key."""
    return token.startswith(f"{_PREFIX}{keys.order_key}_")


def read_order_token(keys: Keys, token: str) -> tuple[UUID, int] | None:
    """Returns the cart id and version of a valid token, else None: derives the token again and compares it as a
    whole.
    """
    key_id, _, digits = token[len(_PREFIX) :].partition("_")
    if key_id not in keys.order_keys or len(digits) not in _LENGTHS:
        return None
    try:
        message = bytes.fromhex(digits[:-_TAIL])
    except ValueError:
        return None
    cart_id, version = message[:16], int.from_bytes(message[16:])
    # fromhex ignores whitespace, so the message is rebuilt. compare_digest raises on non-ASCII text.
    if len(cart_id) != 16 or not token.isascii():
        return None
    if not hmac.compare_digest(_derive(keys, key_id, _message(cart_id, version)), token):
        return None
    return UUID(bytes=cart_id), version


def _message(cart_id: bytes, version: int) -> bytes:
    return cart_id + version.to_bytes(_VERSION // 2) if version else cart_id


def _derive(keys: Keys, key_id: str, message: bytes) -> str:
    mac = keys.mac(key_id, _ORDER_USE, message)
    text = f"{_PREFIX}{key_id}_{(message + mac).hex()}"
    return f"{text}{zlib.crc32(text.encode()):08x}"
