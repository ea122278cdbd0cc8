"""Tests whether response times of two kinds of requests differ."""

import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Awaitable, Callable

Pair = tuple[float, float]
"""The seconds that a request of each kind took, one sent right after the other."""
MOST_PAIRS = 2000
GAP = 0.002
AUC = 0.05


async def assert_same_time(measure: Callable[[], Awaitable[list[Pair]]]) -> None:
    """The median difference is below 2 ms, and a guess of the kind by the time is right in half of the cases.

    On a busy machine both vary; more pairs even that out, while a real difference remains.
    """
    pairs: list[Pair] = []
    while len(pairs) < MOST_PAIRS:
        pairs += await measure()
        gap = statistics.median(first - second for first, second in pairs)
        auc = rank_auc([first for first, _ in pairs], [second for _, second in pairs])
        if abs(gap) < GAP and abs(auc - 0.5) < AUC:
            return
    raise AssertionError(f"{len(pairs)} pairs: median gap {gap * 1000:.2f} ms, AUC {auc:.3f}")


def rank_auc(these: list[float], others: list[float]) -> float:
    """The probability that one of these is larger than one of the others (Mann-Whitney); ties count half."""
    ascending = sorted(others)
    larger = sum(bisect_left(ascending, value) + bisect_right(ascending, value) for value in these)
    return larger / 2 / len(these) / len(others)
