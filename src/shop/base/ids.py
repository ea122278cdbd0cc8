"""New identifiers: time-ordered UUIDs, unpredictable order numbers, and tokens."""

import base64
import hashlib
import os
import re
import time
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import msgspec

MAX_ORDER_DIGITS = 15
# At a million carts, a random ten-digit number collides once in ten thousand times; each retry uses a space so much
# larger that a second collision does not occur in practice.
_ORDER_NUMBER_TRIES = (0, 2, MAX_ORDER_DIGITS)

_CANONICAL = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_EVENT_ID = re.compile(r"evt_[a-z2-7]{25}[aeimquy4]", re.ASCII)
_VERSION_7 = 0x7 << 76
_VARIANT = 0b10 << 62
_RANDOM_END = (1 << 62) - 1
_RANDOM = ~((0xF << 76) | (0b11 << 62)) & ((1 << 80) - 1)


class _Entropy:
    """Buffers the system's random bytes: each call releases the GIL, which costs more than the bytes."""

    PAGE = 4096

    def __init__(self) -> None:
        self._page, self._used = b"", self.PAGE

    def integer(self, size: int) -> int:
        start = self._used
        if start + size > self.PAGE:
            self._page, start = os.urandom(self.PAGE), 0
        self._used = start + size
        return int.from_bytes(self._page[start : self._used])

    def discard(self) -> None:
        self._used = self.PAGE


_entropy = _Entropy()
os.register_at_fork(after_in_child=_entropy.discard)


def new_id() -> UUID:
    """Returns a version 7 UUID, so that new rows are adjacent in an index, and records are in the order of their
    creation: the first 12 random bits are the fraction of the millisecond (RFC 9562, section 6.2, method 3).
    """
    milliseconds, rest = divmod(time.time_ns(), 1_000_000)
    fraction = (rest << 12) // 1_000_000
    return UUID(
        int=(milliseconds << 80) | _VERSION_7 | (fraction << 64) | _VARIANT | (_entropy.integer(8) & _RANDOM_END)
    )


def new_order_number(prefix: str, digits: int) -> str:
    # 64 bits modulo at most 10^15: the modulo bias is below one ten-thousandth.
    return prefix + str(_entropy.integer(8) % 10**digits).zfill(digits)


def new_order_numbers(prefix: str, digits: int) -> Iterator[str]:
    """Yields numbers to try one after the other, because another order may have the first."""
    for more in _ORDER_NUMBER_TRIES:
        yield new_order_number(prefix, min(digits + more, MAX_ORDER_DIGITS))


def derived_id(parent: UUID, *parts: object) -> UUID:
    """Returns a deterministic version 7 UUID with the parent's timestamp, for values that need an id before they are
    stored.
    """
    digest = hashlib.sha256(b"\0".join([parent.bytes, *(str(part).encode() for part in parts)])).digest()
    timestamp = parent.int >> 80 << 80
    return UUID(int=timestamp | _VERSION_7 | _VARIANT | (int.from_bytes(digest[:10]) & _RANDOM))


def shipment_number(shipment_id: UUID) -> str:
    """Returns `H` and 15 digits: at a hundred million shipments, one number in ten million is taken."""
    return f"H{(shipment_id.int & ((1 << 62) - 1)) % 10**15:015}"


def new_payment_number() -> str:
    number, letters = _entropy.integer(8), ""
    for _ in range(10):
        number, digit = divmod(number, 36)
        letters += "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[digit]
    return f"P{letters}"


def new_wishlist_token() -> str:
    """Returns 24 characters of base 58, which has no look-alikes: 140 bits cannot be guessed."""
    number, letters = _entropy.integer(32), ""
    for _ in range(24):
        number, digit = divmod(number, 58)
        letters += "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"[digit]
    return letters


def event_id(record_id: UUID) -> str:
    """Returns the id of an event on the wire: `evt_` and 26 characters of base 32."""
    return "evt_" + base64.b32encode(record_id.bytes).decode().rstrip("=").lower()


def parse_event_id(text: str) -> UUID | None:
    """Parses the id of an event; None for anything else."""
    return UUID(bytes=base64.b32decode(text[4:].upper() + "======")) if _EVENT_ID.fullmatch(text) else None


def as_uuid(value: Any) -> UUID | None:
    """Parses a UUID in its canonical form; None for anything else."""
    # Converting is faster than the constructor of UUID, which accepts more forms.
    return msgspec.convert(value, UUID) if isinstance(value, str) and _CANONICAL.fullmatch(value) else None
