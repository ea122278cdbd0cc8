"""The wire format of bearer secrets, and the hash that is stored.

    kind prefix, 43 of base 62 (256 bits), 6 of base 62 (CRC-32)
    for scanners: shp(at|rt|pt|pr|cs|os|ol)_[0-9A-Za-z]{49}

Only the SHA-256 of a secret is stored: 256 random bits cannot be guessed from it.
"""

import re
import secrets
import zlib
from hashlib import sha256

USER_ACCESS = "shpat_"
USER_REFRESH = "shprt_"
PLATFORM_ACCESS = "shppt_"
PLATFORM_REFRESH = "shppr_"
CLIENT_SECRET = "shpcs_"  # noqa: S105  The prefix, not a secret.
OPERATOR_SESSION = "shpos_"
OPERATOR_LINK = "shpol_"
KINDS = (
    USER_ACCESS,
    USER_REFRESH,
    PLATFORM_ACCESS,
    PLATFORM_REFRESH,
    CLIENT_SECRET,
    OPERATOR_SESSION,
    OPERATOR_LINK,
)
CLIENT_ID = "shpci_"
"""Not a secret: identifies an application and is stored in plain text."""

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SECRET = re.compile(r"(shp[a-z]{2}_)[0-9A-Za-z]{43}([0-9A-Za-z]{6})", re.ASCII)


def new_bytes(size: int = 32) -> bytes:
    return secrets.token_bytes(size)


def new_client_id() -> str:
    return CLIENT_ID + _base62(int.from_bytes(new_bytes(16)), 22)


def new_secret(kind: str) -> str:
    return secret_text(kind, new_bytes())


def secret_text(kind: str, value: bytes) -> str:
    """Returns the wire form of 32 bytes."""
    text = kind + _base62(int.from_bytes(value), 43)
    return text + _checksum(text)


def is_secret(kind: str, text: str) -> bool:
    """Returns whether a text is a well-formed secret of this kind: length, prefix, alphabet and checksum; no database
    query.
    """
    match = _SECRET.fullmatch(text)
    return match is not None and match[1] == kind and match[2] == _checksum(text[:-6])


def secret_hash(text: str) -> bytes:
    return sha256(text.encode()).digest()


def _checksum(text: str) -> str:
    return _base62(zlib.crc32(text.encode()), 6)


def _base62(number: int, width: int) -> str:
    digits = []
    for _ in range(width):
        number, digit = divmod(number, 62)
        digits.append(_ALPHABET[digit])
    return "".join(reversed(digits))
