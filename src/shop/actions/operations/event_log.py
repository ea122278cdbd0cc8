"""Numbers committed events, lets readers wait for them, and keeps the partitions of the log.

A number is given after the commit, by one process at a time. Numbers taken inside transactions would become visible out
of order, and a reader that remembers the highest one it saw would miss events.
"""

from collections.abc import Sequence

import msgspec

from shop.actions.context import Shared
from shop.base.errors import CursorExpired
from shop.models.events import Event
from shop.queries import events

EVENT_BATCH = 1000
DAYS_AHEAD = 2
"""Partitions are created this many days before they are needed."""
SCAN_LIMIT = 10_000
"""The number of positions that one page covers at most, however few of their events match."""


class EventPage(msgspec.Struct, frozen=True):
    """Events in the order of their positions, and the position up to which the log was read."""

    events: Sequence[Event]
    position: int


async def number_events(shared: Shared) -> int | None:
    """Numbers a batch of events; returns how many, or None if another process is doing so."""
    db = shared.database.session()
    async with db.transaction():
        count = await events.number_events(db, EVENT_BATCH)
    if count:
        shared.event_tail.wake()
    return count


async def maintain_partitions(shared: Shared) -> int:
    """Creates the partitions of the next days and drops expired ones; returns the number of dropped ones."""
    db = shared.database.session()
    async with db.transaction():
        await events.create_partitions(db, DAYS_AHEAD)
        return await events.drop_partitions(db, shared.settings.event_days)


async def read_end(shared: Shared) -> int:
    """Returns the last position of the log."""
    return await events.last_position(shared.database.session())


async def find_start(shared: Shared) -> int:
    """Returns the position before the oldest event that is kept."""
    db = shared.database.session()
    first = await events.first_position(db)
    return await events.last_position(db) if first is None else first - 1


async def check_position(shared: Shared, after: int) -> None:
    """Raises CursorExpired if events after this position are no longer kept, or there is no such position yet."""
    db = shared.database.session()
    first, last = await events.first_position(db), await events.last_position(db)
    if after > last or after + 1 < (last + 1 if first is None else first):
        raise CursorExpired()


async def read_page(shared: Shared, after: int, most: int, patterns: Sequence[str]) -> EventPage:
    """Returns the events after a position whose types match one of the patterns; all if there are none."""
    end = min(await shared.event_tail.position(shared.database), after + SCAN_LIMIT)
    if end <= after:
        return EventPage([], after)
    page = await events.list_events(shared.database.session(), after=after, until=end, most=most, patterns=patterns)
    is_full = len(page) == most
    return EventPage(page, page[-1].position or after if is_full else end)
