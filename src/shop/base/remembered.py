"""Answers that are the same for anybody, kept while what they were made of is unchanged."""

from time import monotonic
from typing import Any

import msgspec


class Kept(msgspec.Struct, frozen=True):
    """A body, its ETag, and the version of what it was made of."""

    version: Any
    body: bytes
    tag: bytes
    made_at: float = msgspec.field(default_factory=monotonic)


class Answers:
    """The last ones that were asked for, up to a size in all."""

    MOST = 8 * 1024 * 1024

    def __init__(self) -> None:
        self._kept: dict[Any, Kept] = {}
        self._size = 0
        self._version: Any = None
        self._checked_at = 0.0

    def __contains__(self, key: Any) -> bool:
        return key in self._kept

    def find(self, key: Any, version: Any) -> Kept | None:
        """The answer of the version that the database has just confirmed to be the current one."""
        self._version, self._checked_at = version, monotonic()
        kept = self._kept.pop(key, None)
        if kept is None:
            return None
        if kept.version != version:
            self._size -= len(kept.body)
            return None
        self._kept[key] = kept  # The last that was asked for is the last to go.
        return kept

    def find_stale(self, key: Any, seconds: int) -> tuple[Kept, int] | None:
        """An answer that cannot be confirmed now, with its age: since its version was last known to be the current
        one, and at most so many seconds.
        """
        kept = self._kept.get(key)
        if kept is None:
            return None
        age = monotonic() - (self._checked_at if kept.version == self._version else kept.made_at)
        return (kept, int(age)) if age < seconds else None

    def has_stale(self, seconds: int) -> bool:
        """Whether there is anything to answer with while the database is away."""
        return bool(self._kept) and monotonic() - self._checked_at < seconds

    def keep(self, key: Any, kept: Kept) -> None:
        """One that is large would cost too many others their place."""
        if len(kept.body) > self.MOST // 16:
            return
        if (before := self._kept.pop(key, None)) is not None:
            self._size -= len(before.body)
        self._kept[key] = kept
        self._size += len(kept.body)
        while self._size > self.MOST:
            self._size -= len(self._kept.pop(next(iter(self._kept))).body)
