"""Whether a count is over its limit, and when to come again."""

from collections.abc import Iterable

import msgspec


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


def exceeded(limits: Iterable[Limit], counts: Iterable[Count]) -> list[tuple[Limit, Count]]:
    """The limits that their counts have passed; a limit that was not counted is kept."""
    found = {(count.key, count.seconds): count for count in counts}
    pairs = [(limit, found[limit.key, limit.seconds]) for limit in limits if (limit.key, limit.seconds) in found]
    return [(limit, count) for limit, count in pairs if count.count > limit.count]


def retry_after(over: Iterable[tuple[Limit, Count]]) -> int:
    return max((count.ends_in for _, count in over), default=1)
