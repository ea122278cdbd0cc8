"""Readers beside many writers miss no position and see none twice, however they read and whenever they start."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.events.feed import new_reader
from tests.events.log_checks import assert_complete
from tests.events.test_stream import open_stream
from tests.platform.client import Machine, new_machine


class Writing:
    """Whether writers still write, and the last position of the log after they have ended."""

    def __init__(self) -> None:
        self.has_ended = asyncio.Event()
        self.last_position = 0

    def covers(self, position: int) -> bool:
        """Whether the log continues after this position, or may still do so."""
        return not self.has_ended.is_set() or position < self.last_position


async def write(machine: Machine, end: asyncio.Event) -> int:
    """Creates and renames records until the end; returns the number of events that this makes."""
    count = 0
    while not end.is_set():
        created = await machine.post("/tax_categories", {"tax_category": {"name": uuid4().hex}})
        path, body = f"/tax_categories/{created.id}", {"tax_category": {"name": uuid4().hex}}
        assert (created.status, (await machine.patch(path, body)).status) == (201, 200)
        count += 2
    return count


async def poll(machine: Machine, writing: Writing, chance: random.Random) -> list[int]:
    """Reads the feed in pages of any size; waits for events at its end."""
    reader = await new_reader(machine)
    positions: list[int] = []
    while writing.covers(int(reader.cursor)):
        positions += [event["position"] for event in await reader.read(wait=1, size=chance.randint(1, 100))]
    return positions


async def stream(machine: Machine, writing: Writing, chance: random.Random) -> list[int]:
    """Reads the stream; disconnects now and then, and resumes after the last event."""
    positions: list[int] = []
    while writing.covers(positions[-1] if positions else 0):
        headers = {"Last-Event-ID": str(positions[-1])} if positions else {}
        async with open_stream(machine, **headers) as lines:
            await read_stream(lines, positions, chance.randint(1, 300), writing)
    return positions


async def read_stream(lines: Any, positions: list[int], most: int, writing: Writing) -> None:
    async for line in lines:
        if line.startswith("id: "):
            positions.append(int(line.removeprefix("id: ")))
            most -= 1
        if most <= 0 or not writing.covers(positions[-1] if positions else 0):
            return


async def start_late(read: Callable[..., Awaitable[list[int]]], delay: float, *values: Any) -> list[int]:
    await asyncio.sleep(delay)
    return await read(*values)


@pytest.mark.parametrize(
    ("seconds", "writer_count"), [(0.5, 4), pytest.param(60, 16, marks=pytest.mark.torture)], ids=["short", "long"]
)
async def test_readers_beside_writers_see_each_position_once(
    http: httpx2.AsyncClient, writer: Machine, db: Any, seconds: float, writer_count: int
) -> None:
    machine, writing, chance = await new_machine(http, db, "read"), Writing(), random.Random(writer_count)
    stop_writing = asyncio.Event()
    writers = [asyncio.create_task(write(writer, stop_writing)) for _ in range(writer_count)]
    readers = [
        asyncio.create_task(start_late(read, chance.uniform(0, seconds / 2), machine, writing, random.Random(number)))
        for number, read in enumerate((poll, stream, poll, stream))
    ]

    # The duration of the load, not a wait for something.
    await asyncio.sleep(seconds)
    stop_writing.set()
    written = sum(await asyncio.gather(*writers))
    async with asyncio.timeout(60):
        while await db.fetchval("select exists (select from events where position is null)"):
            await db.execute("select pg_sleep(0.02)")
        writing.last_position = await db.fetchval("select last_position from event_counters")
        writing.has_ended.set()
        # Wakes the readers that have read all and wait.
        await writer.post("/tax_categories", {"tax_category": {"name": uuid4().hex}})
        results = await asyncio.gather(*readers)

    for positions in results:
        assert_complete(positions)
        assert positions[-1] >= writing.last_position
    assert written >= writer_count
