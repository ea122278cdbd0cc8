"""Derives login codes and parses typed ones.

Codes are never stored: the worker and the verifier derive them from the request's row and a key outside the database.
Short codes have six digits and a limited number of tries. Long codes have 130 bits, for an address under attack, and
no limit on tries.
"""

import hmac
from uuid import UUID

from shop.base.keys import Keys

SHORT_LENGTH = 6
LONG_LENGTH = 26
_USE = "login code"
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Base 32 without the letters that resemble digits."""
# Letters and digits that are confused when read aloud or copied by hand.
_ALIKE = str.maketrans("OIL", "011")


def login_code(keys: Keys, key_id: str, request_id: UUID, nonce: bytes, *, is_long: bool) -> str:
    mac = keys.mac(key_id, _USE, request_id.bytes + nonce + (b"long" if is_long else b"short"))
    number = int.from_bytes(mac)
    if not is_long:
        return f"{number % 10**SHORT_LENGTH:0{SHORT_LENGTH}}"
    return "".join(CROCKFORD[(number >> (5 * index)) & 31] for index in range(LONG_LENGTH))


def shown_code(code: str) -> str:
    """Formats a code for an e-mail: a long one in groups of five."""
    if len(code) == SHORT_LENGTH:
        return code
    return " ".join(code[start : start + 5] for start in range(0, LONG_LENGTH, 5))


def typed_code(text: str) -> str | None:
    """Normalizes a typed code: digits, or a long code in any case and grouping; None if it is not a code."""
    plain = text.replace(" ", "").replace("-", "")
    if not plain.isascii() or not plain:
        return None
    if plain.isdigit() and len(plain) != LONG_LENGTH:
        return plain
    return typed_letters(plain, LONG_LENGTH)


def typed_letters(text: str, length: int) -> str | None:
    """Normalizes typed Base 32 in any case and grouping; None if the length or a character is wrong."""
    plain = text.replace(" ", "").replace("-", "").upper().translate(_ALIKE)
    return plain if len(plain) == length and not set(plain) - set(CROCKFORD) else None


def matches(code: str, candidate: str) -> bool:
    return hmac.compare_digest(code.encode(), candidate.encode())
