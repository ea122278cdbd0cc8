"""Rate limits: keys, windows, and whether a count is over its limit."""

from collections.abc import Iterable
from hashlib import sha256
from math import ceil

import msgspec

from shop.base.client_networks import networks_of
from shop.base.config.setting_parsers import Limits
from shop.base.config.settings import Settings, is_loopback


class Count(msgspec.Struct, frozen=True):
    """The count of one window, and the seconds until the window ends."""

    key: bytes
    seconds: int
    count: int
    ends_in: int


class Limit(msgspec.Struct, frozen=True):
    """A limit of `count` events in `seconds`, for one key."""

    name: str
    key: bytes
    count: int
    seconds: int


def counter_key(name: str, key: str) -> bytes:
    """Returns a digest, so that the table of counts reveals neither addresses nor sources."""
    return sha256(f"{name}\x00{key}".encode()).digest()


def build_limits(name: str, key: str, quotas: Limits, *, factor: int = 1) -> list[Limit]:
    return [Limit(name, counter_key(name, key), count * factor, seconds) for count, seconds in quotas]


def source_limits(settings: Settings, source: str, name: str, quotas: Limits) -> list[Limit]:
    """Returns the limits of a client address and, for IPv6, of its surrounding networks."""
    # Behind a local proxy that is not configured, all callers would share this address.
    if is_loopback(source) and settings.limit_loopback != "1":
        return []
    return [
        limit for network, factor in networks_of(source) for limit in build_limits(name, network, quotas, factor=factor)
    ]


def half_of(quotas: Limits) -> Limits:
    """Returns half of each limit, at least one."""
    return tuple(((count + 1) // 2, seconds) for count, seconds in quotas)


def is_first_over(limit: Limit, count: Count) -> bool:
    """Returns whether this count is the first to pass its limit."""
    return count.count == limit.count + 1


def is_near(limit: Limit, count: Count) -> bool:
    """Returns whether this count is the one that reaches 80 % of its limit."""
    return count.count == ceil(limit.count * 0.8)


def pair_with_counts(limits: Iterable[Limit], counts: Iterable[Count]) -> list[tuple[Limit, Count]]:
    """Pairs each limit with the count of its window, or with an empty count."""
    by_window = {(count.key, count.seconds): count for count in counts}
    nothing = (Count(limit.key, limit.seconds, 0, limit.seconds) for limit in limits)
    return [
        (limit, by_window.get((limit.key, limit.seconds), empty)) for limit, empty in zip(limits, nothing, strict=True)
    ]


def exceeded_limits(limits: Iterable[Limit], counts: Iterable[Count]) -> list[tuple[Limit, Count]]:
    """Returns the limits whose counts exceed them; a limit without a count is not exceeded."""
    by_window = {(count.key, count.seconds): count for count in counts}
    pairs = [
        (limit, by_window[limit.key, limit.seconds]) for limit in limits if (limit.key, limit.seconds) in by_window
    ]
    return [(limit, count) for limit, count in pairs if count.count > limit.count]


def retry_after(over: Iterable[tuple[Limit, Count]]) -> int:
    return max((count.ends_in for _, count in over), default=1)
