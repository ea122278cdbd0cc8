"""A cache in memory with a maximum total size, which evicts the least recently used entries."""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any


class SizedCache:
    """An LRU cache. The caller states the size of each entry, with its key: callers of the API choose keys too."""

    ENTRY_BYTES = 1024
    """What an entry takes at least, in addition to its data."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        # Evicting the first entry of a dict takes longer, the more entries have been evicted.
        self._entries: OrderedDict[Any, tuple[Any, int]] = OrderedDict()
        self.size = 0

    def __contains__(self, key: Any) -> bool:
        return key in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def peek(self, key: Any) -> Any:
        """Returns a value or None; does not count as a use."""
        entry = self._entries.get(key)
        return None if entry is None else entry[0]

    def find(self, key: Any) -> Any:
        """Returns a value or None."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        return entry[0]

    def find_many(self, keys: Iterable[Any]) -> list[Any]:
        """Returns a value or None for each key."""
        find_entry, move_to_end = self._entries.get, self._entries.move_to_end
        values: list[Any] = []
        for key in keys:
            entry = find_entry(key)
            if entry is None:
                values.append(None)
            else:
                move_to_end(key)
                values.append(entry[0])
        return values

    def save(self, key: Any, value: Any, size: int) -> None:
        """Caches a value, unless it is so large that it would evict too many others."""
        self.remove(key)
        if size > self._max_bytes // 16:
            return
        size += self.ENTRY_BYTES
        self._entries[key] = (value, size)
        self.size += size
        while self.size > self._max_bytes:
            _, (_, entry_size) = self._entries.popitem(last=False)
            self.size -= entry_size

    def remove(self, key: Any) -> None:
        _, size = self._entries.pop(key, (None, 0))
        self.size -= size
