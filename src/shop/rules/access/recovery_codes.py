"""Formats and parses the recovery codes of operators.

Each code has 120 bits, so a plain SHA-256 hash is enough at rest.
"""

from shop.base.texts import CROCKFORD, normalize_base32

CODES = 10
BYTES = 15
_LENGTH = BYTES * 8 // 5


def recovery_code(value: bytes) -> str:
    """Formats a code like `7KQ2-9D4M-…`, in six groups of four."""
    number = int.from_bytes(value)
    letters = "".join(CROCKFORD[(number >> (5 * index)) & 31] for index in range(_LENGTH))
    return "-".join(letters[start : start + 4] for start in range(0, _LENGTH, 4))


def normalize_recovery_code(text: str) -> str | None:
    """Normalizes a typed code in any case and grouping; None if it is not a recovery code."""
    letters = normalize_base32(text, _LENGTH)
    return "-".join(letters[start : start + 4] for start in range(0, _LENGTH, 4)) if letters else None
