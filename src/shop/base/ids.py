"""How a new thing is named: time-ordered UUIDs and unpredictable order numbers."""

import hashlib
import os
import time
from typing import Any
from uuid import UUID

# A ten-digit number meets a taken one in a ten-thousandth of all cases at a million carts; each further try
# draws from a space so much larger that a second retry is not seen in practice.
ORDER_NUMBER_DIGITS = (10, 12, 15)

_VERSION_7 = 0x7 << 76
_VARIANT = 0b10 << 62
_RANDOM = ~((0xF << 76) | (0b11 << 62)) & ((1 << 80) - 1)


class _Entropy:
    """The system's random bytes, asked for by the page: each call lets another thread in, which costs more."""

    PAGE = 4096

    def __init__(self) -> None:
        self._page, self._used = b"", self.PAGE

    def integer(self, size: int) -> int:
        start = self._used
        if start + size > self.PAGE:
            self._page, start = os.urandom(self.PAGE), 0
        self._used = start + size
        return int.from_bytes(self._page[start : self._used])

    def forget(self) -> None:
        self._used = self.PAGE


_entropy = _Entropy()
os.register_at_fork(after_in_child=_entropy.forget)


def new_id() -> UUID:
    """A version 7 UUID: new rows stand together in an index. Python 3.14 has this in its library; we start at 3.11."""
    milliseconds = time.time_ns() // 1_000_000
    return UUID(int=(milliseconds << 80) | _VERSION_7 | _VARIANT | (_entropy.integer(10) & _RANDOM))


def new_order_number(digits: int) -> str:
    # 64 bits modulo at most 10^15: no number is likelier than another by more than a ten-thousandth.
    return "R" + str(_entropy.integer(8) % 10**digits).zfill(digits)


def derived_id(parent: UUID, *parts: object) -> UUID:
    """The same version 7 UUID for the same parts of one record, at the time of that record: what is computed before it
    is stored can already be named.
    """
    digest = hashlib.sha256(b"\0".join([parent.bytes, *(str(part).encode() for part in parts)])).digest()
    times = parent.int >> 80 << 80
    return UUID(int=times | _VERSION_7 | _VARIANT | (int.from_bytes(digest[:10]) & _RANDOM))


def shipment_number(shipment_id: UUID) -> str:
    """15 digits: with a hundred million shipments one in ten million numbers is taken."""
    return f"H{(shipment_id.int & ((1 << 62) - 1)) % 10**15:015}"


def new_payment_number() -> str:
    number, letters = _entropy.integer(8), ""
    for _ in range(10):
        number, place = divmod(number, 36)
        letters += "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[place]
    return f"P{letters}"


def new_wishlist_token() -> str:
    """24 of base 58, which has no letters that look alike: 140 bits, so that nobody comes upon a list that they were
    not shown.
    """
    number, letters = _entropy.integer(32), ""
    for _ in range(24):
        number, place = divmod(number, 58)
        letters += "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"[place]
    return letters


def as_uuid(value: Any) -> UUID | None:
    """An id as it is written on the wire; anything else is none."""
    try:
        return UUID(value) if isinstance(value, str) and len(value) == 36 else None
    except ValueError:
        return None
