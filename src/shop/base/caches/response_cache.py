"""A cache of public responses, valid while the version of their data is unchanged."""

from math import inf
from time import monotonic
from typing import Any

import msgspec

from shop.base.caches.sized_cache import SizedCache


class CachedResponse(msgspec.Struct, frozen=True):
    """A cached body, its ETag, and the version of its data."""

    version: Any
    body: bytes
    tag: bytes
    made_at: float = msgspec.field(default_factory=monotonic)
    fresh_until: float = inf
    """For data that has no version; the cache itself does not check it."""


class ResponseCache:
    """A cache with a maximum total size. Keys count too: any caller can request a page with many long addresses."""

    MAX_BYTES = 8 * 1024 * 1024
    ENTRY_BYTES = SizedCache.ENTRY_BYTES

    def __init__(self) -> None:
        self._entries = SizedCache(self.MAX_BYTES)
        self._version: Any = None
        self._checked_at = 0.0

    def __contains__(self, key: Any) -> bool:
        return key in self._entries

    def confirm(self, version: Any) -> None:
        """Notes that the database has just confirmed this version as current."""
        self._version, self._checked_at = version, monotonic()

    def find(self, key: Any, version: Any) -> CachedResponse | None:
        """Returns the cached response for the version that the database has just confirmed as current."""
        self.confirm(version)
        entry: CachedResponse | None = self._entries.find(key)
        if entry is not None and entry.version != version:
            self._entries.remove(key)
            return None
        return entry

    def find_stale(self, key: Any, seconds: int) -> tuple[CachedResponse, int] | None:
        """Returns a response that cannot be validated now, with its age since its version was last confirmed; None if
        it is older than `seconds`.
        """
        entry: CachedResponse | None = self._entries.peek(key)
        if entry is None:
            return None
        age = monotonic() - (self._checked_at if entry.version == self._version else entry.made_at)
        return (entry, int(age)) if age < seconds else None

    def has_stale(self, seconds: int) -> bool:
        """Returns whether any response can be served while the database is unavailable."""
        return len(self._entries) > 0 and monotonic() - self._checked_at < seconds

    def remove(self, key: Any) -> None:
        self._entries.remove(key)

    def save(self, key: Any, entry: CachedResponse) -> None:
        self._entries.save(key, entry, len(entry.body) + _size_of(key))


def _size_of(key: Any) -> int:
    """Returns the length of the texts of a key."""
    parts = key if isinstance(key, tuple) else (key,)
    return sum(len(part) for part in parts if isinstance(part, str | bytes))
