"""A cache of public responses, valid while the version of their data is unchanged."""

from math import inf
from time import monotonic
from typing import Any

import msgspec


class CachedResponse(msgspec.Struct, frozen=True):
    """A cached body, its ETag, and the version of its data."""

    version: Any
    body: bytes
    tag: bytes
    made_at: float = msgspec.field(default_factory=monotonic)
    fresh_until: float = inf
    """For data that has no version; the cache itself does not check it."""


class ResponseCache:
    """An LRU cache with a maximum total size. Keys count too: any caller can request the same page with many long
    addresses.
    """

    MAX_BYTES = 8 * 1024 * 1024
    ENTRY_BYTES = 1024
    """What an entry takes in addition to its body and its key."""

    def __init__(self) -> None:
        self._entries: dict[Any, CachedResponse] = {}
        self._size = 0
        self._version: Any = None
        self._checked_at = 0.0

    def __contains__(self, key: Any) -> bool:
        return key in self._entries

    def find(self, key: Any, version: Any) -> CachedResponse | None:
        """Returns the cached response for the version that the database has just confirmed as current."""
        self._version, self._checked_at = version, monotonic()
        entry = self._entries.pop(key, None)
        if entry is None:
            return None
        if entry.version != version:
            self._size -= self._size_of(key, entry)
            return None
        self._entries[key] = entry  # Moves it to the end: the least recently used entry is evicted first.
        return entry

    def find_stale(self, key: Any, seconds: int) -> tuple[CachedResponse, int] | None:
        """Returns a response that cannot be validated now, with its age since its version was last confirmed; None if
        it is older than `seconds`.
        """
        entry = self._entries.get(key)
        if entry is None:
            return None
        age = monotonic() - (self._checked_at if entry.version == self._version else entry.made_at)
        return (entry, int(age)) if age < seconds else None

    def has_stale(self, seconds: int) -> bool:
        """Returns whether any response can be served while the database is unavailable."""
        return bool(self._entries) and monotonic() - self._checked_at < seconds

    def save(self, key: Any, entry: CachedResponse) -> None:
        """Caches a response, unless it is so large that it would evict too many others."""
        if len(entry.body) > self.MAX_BYTES // 16:
            return
        if (before := self._entries.pop(key, None)) is not None:
            self._size -= self._size_of(key, before)
        self._entries[key] = entry
        self._size += self._size_of(key, entry)
        while self._size > self.MAX_BYTES:
            oldest_key = next(iter(self._entries))
            self._size -= self._size_of(oldest_key, self._entries.pop(oldest_key))

    def _size_of(self, key: Any, entry: CachedResponse) -> int:
        return len(entry.body) + len(repr(key)) + self.ENTRY_BYTES
