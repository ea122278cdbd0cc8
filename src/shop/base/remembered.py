"""Answers that are the same for anybody, kept while what they were made of is unchanged."""

from typing import Any

import msgspec


class Kept(msgspec.Struct, frozen=True):
    """A body, its ETag, and the version of what it was made of."""

    version: Any
    body: bytes
    tag: bytes


class Answers:
    """The last ones that were asked for, up to a size in all."""

    MOST = 8 * 1024 * 1024

    def __init__(self) -> None:
        self._kept: dict[Any, Kept] = {}
        self._size = 0

    def find(self, key: Any, version: Any) -> Kept | None:
        kept = self._kept.pop(key, None)
        if kept is None:
            return None
        if kept.version != version:
            self._size -= len(kept.body)
            return None
        self._kept[key] = kept  # The last that was asked for is the last to go.
        return kept

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
