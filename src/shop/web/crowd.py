"""How many requests each source sends to this process, and whether that is too many.

By hand and not in the database, where the other limits are: this one must cost less than the requests it turns away.
"""

import math
from collections.abc import Callable
from time import monotonic

from shop.base.errors import TooMany
from shop.base.settings import Limits, is_loopback
from shop.base.sources import networks_of

MOST_SOURCES = 8192


class Window:
    """One limit of one source: which window of the clock was counted last, and how far."""

    __slots__ = ("count", "number")

    def __init__(self) -> None:
        self.number = -1
        self.count = 0

    def add(self, number: int) -> int:
        self.count = self.count + 1 if number == self.number else 1
        self.number = number
        return self.count


class Crowd:
    """The sources that were here last, at most MOST_SOURCES of them: the one not seen for longest is forgotten."""

    def __init__(self, limits: Limits, *, with_loopback: bool, clock: Callable[[], float] = monotonic) -> None:
        self._limits = limits
        self._with_loopback = with_loopback
        self._clock = clock
        self._windows: dict[str, list[Window]] = {}

    def __len__(self) -> int:
        return len(self._windows)

    def count(self, source: str) -> None:
        # Behind a local proxy that is not configured as one, all callers would be this one.
        if not self._with_loopback and is_loopback(source):
            return
        now, wait, passed = self._clock(), 0.0, []
        for network, factor in networks_of(source):
            for (most, seconds), window in zip(self._limits, self._seen(network), strict=True):
                number = int(now // seconds)
                if window.add(number) > most * factor:
                    wait = max(wait, (number + 1) * seconds - now)
                    passed.append(("requests by source", most * factor, seconds))
        if passed:
            raise TooMany(math.ceil(wait), passed=passed)

    def _seen(self, key: str) -> list[Window]:
        # Taken out and put in again, so that the first of the dictionary is the one not seen for longest.
        windows = self._windows.pop(key, None) or [Window() for _ in self._limits]
        self._windows[key] = windows
        if len(self._windows) > MOST_SOURCES:
            del self._windows[next(iter(self._windows))]
        return windows


def crowd_for(limits: Limits, *, with_loopback: bool) -> Crowd | None:
    """None where nothing is limited, so that a request is asked nothing more."""
    return Crowd(limits, with_loopback=with_loopback) if limits else None
