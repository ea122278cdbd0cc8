"""Counts of rate limits that are in the memory of this process and not yet in the database."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from time import monotonic

import msgspec

from shop.rules.rate_limits import Count, Limit

SHARE = 20
"""A process keeps less than this fraction of a limit, one twentieth, in memory for each source."""


class NearCount(msgspec.Struct, frozen=True):
    """The last known count of a window that is nearly full, and when the window ends."""

    count: int
    ends: float


class PendingCounts:
    """Counts events by window until `take` moves them to the database.

    Of n processes, each can admit a twentieth of a limit that the others do not know of, so that all of them together
    admit at most n twentieths more than the limit. Limits below 40 are exact.
    """

    MAX_WINDOWS = 5_000
    MAX_NEAR = 10_000

    def __init__(self) -> None:
        self.added = asyncio.Event()
        self._amounts: dict[tuple[bytes, int], tuple[Limit, int]] = {}
        self._near: dict[tuple[bytes, int], NearCount] = {}

    def add(self, limits: Sequence[Limit]) -> bool:
        """Adds one event to each limit; returns whether it may stay in memory. If not, the caller must save it."""
        is_small = True
        for limit in limits:
            window = limit.key, limit.seconds
            amount = self._amounts[window][1] + 1 if window in self._amounts else 1
            self._amounts[window] = limit, amount
            is_small &= amount < _share(limit) and self._find_near(window) + amount <= limit.count
        self.added.set()
        return is_small and len(self._amounts) < self.MAX_WINDOWS

    def exceeded(self, limits: Iterable[Limit]) -> list[tuple[Limit, Count]]:
        """Returns the limits that are known to be exceeded, so that a flood of refused requests writes nothing."""
        over = []
        for limit in limits:
            known_count = self._find_near((limit.key, limit.seconds))
            if known_count > limit.count:
                ends_in = int(self._near[limit.key, limit.seconds].ends - monotonic()) + 1
                over.append((limit, Count(limit.key, limit.seconds, known_count, ends_in)))
        return over

    def take(self, limits: Iterable[Limit] | None = None) -> dict[Limit, int]:
        """Removes and returns the amounts of these limits, or of all."""
        windows = list(self._amounts) if limits is None else [(limit.key, limit.seconds) for limit in limits]
        return dict(self._amounts.pop(window) for window in windows if window in self._amounts)

    def put_back(self, amounts: Mapping[Limit, int]) -> None:
        """Adds amounts again that could not be saved."""
        for limit, amount in amounts.items():
            window = limit.key, limit.seconds
            self._amounts[window] = limit, amount + (self._amounts[window][1] if window in self._amounts else 0)
        self.added.set()

    def remember(self, limits: Iterable[Limit], counts: Iterable[Count]) -> None:
        """Remembers the counts of nearly full windows; the others cannot fill before they are saved again."""
        by_window = {(limit.key, limit.seconds): limit for limit in limits}
        for count in counts:
            limit = by_window[count.key, count.seconds]
            if count.count + _share(limit) > limit.count:
                if len(self._near) >= self.MAX_NEAR:
                    self._near.clear()
                self._near[count.key, count.seconds] = NearCount(count.count, monotonic() + count.ends_in)

    def _find_near(self, window: tuple[bytes, int]) -> int:
        near = self._near.get(window)
        if near is None:
            return 0
        if near.ends <= monotonic():
            del self._near[window]
            return 0
        return near.count


def _share(limit: Limit) -> int:
    return max(1, limit.count // SHARE)
