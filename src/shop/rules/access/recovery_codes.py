"""Recovery codes of operators: what they look like, and what may be typed for one.

Each has 120 bits, so that its plain SHA-256 is enough at rest.
"""

from shop.rules.access.codes import CROCKFORD, typed_letters

CODES = 10
BYTES = 15
_LENGTH = BYTES * 8 // 5


def recovery_code(value: bytes) -> str:
    """`7KQ2-9D4M-…`, six groups of four."""
    number = int.from_bytes(value)
    letters = "".join(CROCKFORD[(number >> (5 * place)) & 31] for place in range(_LENGTH))
    return "-".join(letters[at : at + 4] for at in range(0, _LENGTH, 4))


def typed_recovery_code(text: str) -> str | None:
    """A typed code in its usual form, whatever its case and grouping; none when it cannot be one."""
    letters = typed_letters(text, _LENGTH)
    return "-".join(letters[at : at + 4] for at in range(0, _LENGTH, 4)) if letters else None
