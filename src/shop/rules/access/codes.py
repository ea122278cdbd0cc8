"""Which login code belongs to a request for one, and what a shopper may type for it.

A code is derived and never stored: worker and verifier work it out from the request's row and a key outside the
database. Short: six digits, counted tries. Long: 130 bits, for an address under attack, exempt from counting.
"""

import hmac
from uuid import UUID

from shop.base.keys import Keys

SHORT_LENGTH = 6
LONG_LENGTH = 26
_USE = "login code"
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Base 32 without the letters that are taken for digits."""
# Read aloud or copied by hand, these are taken for one another.
_ALIKE = str.maketrans("OIL", "011")


def login_code(keys: Keys, key_id: str, request_id: UUID, nonce: bytes, *, is_long: bool) -> str:
    mac = keys.mac(key_id, _USE, request_id.bytes + nonce + (b"long" if is_long else b"short"))
    number = int.from_bytes(mac)
    if not is_long:
        return f"{number % 10**SHORT_LENGTH:0{SHORT_LENGTH}}"
    return "".join(CROCKFORD[(number >> (5 * place)) & 31] for place in range(LONG_LENGTH))


def shown_code(code: str) -> str:
    """As a mail shows it: a long one in groups of five."""
    if len(code) == SHORT_LENGTH:
        return code
    return " ".join(code[at : at + 5] for at in range(0, LONG_LENGTH, 5))


def typed_code(text: str) -> str | None:
    """What was typed, in plain form: digits, or a long code in any case and grouping; none when it cannot be a code."""
    plain = text.replace(" ", "").replace("-", "")
    if not plain.isascii() or not plain:
        return None
    if plain.isdigit() and len(plain) != LONG_LENGTH:
        return plain
    return typed_letters(plain, LONG_LENGTH)


def typed_letters(text: str, length: int) -> str | None:
    """Base 32 as somebody typed it, in any case and grouping; none when it has another length or other letters."""
    plain = text.replace(" ", "").replace("-", "").upper().translate(_ALIKE)
    return plain if len(plain) == length and not set(plain) - set(CROCKFORD) else None


def matches(code: str, typed: str) -> bool:
    return hmac.compare_digest(code.encode(), typed.encode())
