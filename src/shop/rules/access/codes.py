"""Derives login codes.

Codes are never stored: the worker and the verifier derive them from the request's row and a key outside the database.
Short codes have six digits and a limited number of tries. Long codes have 130 bits, for an address under attack, and
no limit on tries.
"""

import hmac
from uuid import UUID

from shop.base.crypto.keys import Keys
from shop.base.texts import CROCKFORD
from shop.models.access.inputs import LONG_CODE_LENGTH

SHORT_LENGTH = 6
_USE = "login code"


def login_code(keys: Keys, key_id: str, request_id: UUID, nonce: bytes, *, is_long: bool) -> str:
    mac = keys.mac(key_id, _USE, request_id.bytes + nonce + (b"long" if is_long else b"short"))
    number = int.from_bytes(mac)
    if not is_long:
        return f"{number % 10**SHORT_LENGTH:0{SHORT_LENGTH}}"
    return "".join(CROCKFORD[(number >> (5 * index)) & 31] for index in range(LONG_CODE_LENGTH))


def shown_code(code: str) -> str:
    """Formats a code for an e-mail: a long one in groups of five."""
    if len(code) == SHORT_LENGTH:
        return code
    return " ".join(code[start : start + 5] for start in range(0, LONG_CODE_LENGTH, 5))


def matches(code: str, candidate: str) -> bool:
    return hmac.compare_digest(code.encode(), candidate.encode())
