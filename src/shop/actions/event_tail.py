"""The end of the event log, as this process knows it: readers wait here for new events."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic

from shop.db.pool import Database
from shop.queries import events

POLL_SECONDS = 0.2
"""How often waiting readers look for events that another process numbered; all readers share one query."""


class EventTail:
    """Knows the last position; wakes its readers when this process numbers events, and polls while somebody waits."""

    def __init__(self) -> None:
        self.pending = asyncio.Event()
        """Set when this process commits events, so that its worker numbers them before its next poll."""
        self.stream_count = 0
        """Open streams of this process."""
        self._numbered = asyncio.Event()
        self._lock = asyncio.Lock()
        self._position = 0
        self._checked_at = 0.0

    @contextmanager
    def count_stream(self) -> Iterator[None]:
        self.stream_count += 1
        try:
            yield
        finally:
            self.stream_count -= 1

    def wake(self) -> None:
        """Wakes all readers: there are new positions."""
        self._checked_at = 0.0
        numbered, self._numbered = self._numbered, asyncio.Event()
        numbered.set()

    async def wait_for_numbers(self, seconds: float) -> None:
        """Waits until this process numbers events, but not longer than this; makes no query."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._numbered.wait(), seconds)

    async def position(self, database: Database) -> int:
        """Returns the last position, as of at most POLL_SECONDS ago."""
        async with self._lock:
            if monotonic() - self._checked_at >= POLL_SECONDS:
                # Before the query: events that are numbered meanwhile reset it again.
                self._checked_at = monotonic()
                self._position = await events.last_position(database.session())
            return self._position

    async def wait(self, database: Database, after: int, seconds: float) -> None:
        """Waits until the log continues after this position, but not longer than this; holds no connection."""
        end = monotonic() + seconds
        while (left := end - monotonic()) > 0:
            numbered = self._numbered
            if await self.position(database) > after:
                return
            try:
                await asyncio.wait_for(numbered.wait(), min(left, POLL_SECONDS))
            except TimeoutError:
                continue
