"""Whether a count is over its limit, and when to come again."""

from collections.abc import Iterable
from hashlib import sha256
from math import ceil

import msgspec

from shop.base.settings import Limits, Settings, is_loopback
from shop.base.sources import networks_of


class Count(msgspec.Struct, frozen=True):
    """How often something happened in one window, and how long the window still lasts."""

    key: bytes
    seconds: int
    count: int
    ends_in: int


class Limit(msgspec.Struct, frozen=True):
    """What may happen `count` times in `seconds`, for one key."""

    name: str
    key: bytes
    count: int
    seconds: int


def counter_key(name: str, key: str) -> bytes:
    """A digest: the table of counts shows neither addresses nor sources."""
    return sha256(f"{name}\x00{key}".encode()).digest()


def build_limits(name: str, key: str, allowed: Limits, *, factor: int = 1) -> list[Limit]:
    return [Limit(name, counter_key(name, key), count * factor, seconds) for count, seconds in allowed]


def source_limits(settings: Settings, source: str, name: str, allowed: Limits) -> list[Limit]:
    """The limits of one client address: of itself, and with IPv6 of the networks around it."""
    # Behind a local proxy that is not configured as one, all callers would be this one.
    if is_loopback(source) and settings.limit_loopback != "1":
        return []
    return [
        limit
        for network, factor in networks_of(source)
        for limit in build_limits(name, network, allowed, factor=factor)
    ]


def half_of(allowed: Limits) -> Limits:
    """Half of each limit, and at least one."""
    return tuple(((count + 1) // 2, seconds) for count, seconds in allowed)


def is_first_over(limit: Limit, count: Count) -> bool:
    """True for the one count that passes its limit."""
    return count.count == limit.count + 1


def is_near(limit: Limit, count: Count) -> bool:
    """True for the one count that reaches 80 % of its limit."""
    return count.count == ceil(limit.count * 0.8)


def paired(limits: Iterable[Limit], counts: Iterable[Count]) -> list[tuple[Limit, Count]]:
    """Each limit with the count of its window; a window that nothing was counted in has none so far."""
    by_window = {(count.key, count.seconds): count for count in counts}
    nothing = (Count(limit.key, limit.seconds, 0, limit.seconds) for limit in limits)
    return [
        (limit, by_window.get((limit.key, limit.seconds), empty)) for limit, empty in zip(limits, nothing, strict=True)
    ]


def exceeded(limits: Iterable[Limit], counts: Iterable[Count]) -> list[tuple[Limit, Count]]:
    """The limits that their counts have passed; a limit that was not counted is kept."""
    found = {(count.key, count.seconds): count for count in counts}
    pairs = [(limit, found[limit.key, limit.seconds]) for limit in limits if (limit.key, limit.seconds) in found]
    return [(limit, count) for limit, count in pairs if count.count > limit.count]


def retry_after(over: Iterable[tuple[Limit, Count]]) -> int:
    return max((count.ends_in for _, count in over), default=1)
