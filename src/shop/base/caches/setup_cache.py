"""A cache of what requests read of the shop's setup, valid for one version of it."""

from collections.abc import Hashable
from typing import Any


class SetupCache:
    """Results of queries at one version of the setup, with a maximum number of records."""

    MAX_RECORDS = 5_000

    def __init__(self, version: str | None = None) -> None:
        self.version = version
        self._results: dict[Hashable, Any] = {}
        self._count = 0

    def find(self, key: Hashable) -> Any:
        return self._results.get(key)

    def keep(self, key: Hashable, result: Any) -> None:
        """Keeps a result, unless it is too large. Nothing found is not kept: a caller can ask for any text."""
        count = len(result) + 1 if isinstance(result, list | dict) else 1
        if result is None or count > self.MAX_RECORDS:
            return
        if self._count + count > self.MAX_RECORDS:
            self._results.clear()
            self._count = 0
        if key not in self._results:
            self._results[key] = result
            self._count += count
