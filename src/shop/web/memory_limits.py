"""In-memory rate limit on the requests that each source sends to this process.

The other limits are in the database; this one must cost less than the requests it rejects.
"""

import math
from collections.abc import Callable
from time import monotonic

from shop.base.client_networks import networks_of
from shop.base.config.setting_parsers import Limits
from shop.base.config.settings import is_loopback
from shop.base.errors import RateLimitError

MAX_SOURCES = 8192


class RequestWindow:
    """A fixed-window counter for one limit of one source: the current window and its count."""

    __slots__ = ("count", "number")

    def __init__(self) -> None:
        self.number = -1
        self.count = 0

    def add(self, number: int) -> int:
        self.count = self.count + 1 if number == self.number else 1
        self.number = number
        return self.count


class InMemoryRateLimiter:
    """Counts the requests of the most recent sources; evicts the least recently seen beyond MAX_SOURCES."""

    def __init__(self, limits: Limits, *, with_loopback: bool, clock: Callable[[], float] = monotonic) -> None:
        self._limits = limits
        self._with_loopback = with_loopback
        self._clock = clock
        self._windows: dict[str, list[RequestWindow]] = {}

    def __len__(self) -> int:
        return len(self._windows)

    def count(self, source: str) -> None:
        # Behind a local proxy that is not configured as trusted, all callers share this address.
        if not self._with_loopback and is_loopback(source):
            return
        now, wait, violations = self._clock(), 0.0, []
        for network, factor in networks_of(source):
            for (most, seconds), window in zip(self._limits, self._windows_for(network), strict=True):
                number = int(now // seconds)
                if window.add(number) > most * factor:
                    wait = max(wait, (number + 1) * seconds - now)
                    violations.append(("requests by source", most * factor, seconds))
        if violations:
            raise RateLimitError(math.ceil(wait), passed=violations)

    def _windows_for(self, key: str) -> list[RequestWindow]:
        # Reinserted, so that the first key of the dictionary is the least recently seen.
        windows = self._windows.pop(key, None) or [RequestWindow() for _ in self._limits]
        self._windows[key] = windows
        if len(self._windows) > MAX_SOURCES:
            del self._windows[next(iter(self._windows))]
        return windows


def build_rate_limiter(limits: Limits, *, with_loopback: bool) -> InMemoryRateLimiter | None:
    """Returns the rate limiter, or None if no limit is configured, so that requests skip the check."""
    return InMemoryRateLimiter(limits, with_loopback=with_loopback) if limits else None
