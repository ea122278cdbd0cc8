"""What an order token looks like on the wire, and how it is derived.

    shpot_<key id>_<32: cart id><64: HMAC-SHA256><8: CRC-32>, all hexadecimal
    for scanners: shpot_[0-9a-z]{1,8}_[0-9a-f]{104}

The cart's id is inside, so a token is verified with the key alone and a forged one never reaches the database.
"""

import hmac
import zlib
from uuid import UUID

from shop.base.keys import Keys

_PREFIX = "shpot_"
_TAIL = 32 + 64 + 8
_ORDER_USE = "order token"


def order_token(keys: Keys, cart_id: UUID) -> str:
    """The cart's token under the key that signs today."""
    return _derived(keys, keys.current, cart_id.bytes)


def is_current(keys: Keys, token: str) -> bool:
    """Whether a genuine order token was made with the key that signs today."""
    return token[: -_TAIL - 1] == _PREFIX + keys.current


def cart_of_order_token(keys: Keys, token: str) -> UUID | None:
    """The cart a token opens, or none when it is not ours in any way: it is made again and compared as a whole."""
    key_id = token[len(_PREFIX) : -_TAIL - 1]
    if key_id not in keys:
        return None
    try:
        cart_id = bytes.fromhex(token[-_TAIL : 32 - _TAIL])
    except ValueError:
        return None
    genuine = _derived(keys, key_id, cart_id)
    # Not ASCII is not ours, and compare_digest would raise.
    if not token.isascii() or not hmac.compare_digest(genuine, token):
        return None
    return UUID(bytes=cart_id)


def _derived(keys: Keys, key_id: str, cart_id: bytes) -> str:
    mac = keys.mac(key_id, _ORDER_USE, cart_id)
    text = f"{_PREFIX}{key_id}_{(cart_id + mac).hex()}"
    return f"{text}{zlib.crc32(text.encode()):08x}"
