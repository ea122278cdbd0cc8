"""The limits of the log: large records, expired days, and readers of the stream that are too slow."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import asyncpg
import httpx2
import pytest

from shop.actions import records
from shop.actions.context import Context
from shop.actions.operations.event_log import check_position, maintain_partitions, number_events
from shop.actions.setup.resources import TAX_CATEGORY
from shop.base.errors import CursorExpired
from shop.web.streams import SEND_SECONDS
from tests.builders import Make
from tests.events.feed import FeedReader, new_reader
from tests.events.test_stream import STREAM, open_stream, read_event
from tests.platform.client import Machine, new_machine, operator_context
from tests.service import Service

LARGE_TEXT = "\N{BOOKS}" * 5000
"""The longest text of a product; each character has four bytes."""

COPIES = 1500
"""More than the buffers of a connection hold."""
COPY_EVENT = """insert into events (id, type, occurred_at, actor_kind, subject_type, subject_id, row, links)
    select gen_random_uuid(), type, clock_timestamp(), actor_kind, subject_type, subject_id, row, links
    from events, generate_series(1, $2) where subject_id = $1 and type = 'product.created'"""

DAY = "select (((now() at time zone 'UTC')::date + $1::int)::timestamp) at time zone 'UTC'"
"""The start of the day so many days from now."""


@pytest.fixture
async def reader(http: httpx2.AsyncClient, db: Any) -> FeedReader:
    return await new_reader(await new_machine(http, db, "read"))


@pytest.fixture
async def shop(own_database: Callable[..., str]) -> AsyncIterator[tuple[Context, Any]]:
    """A context of a shop in which nothing else runs, and a connection to its database."""
    url = own_database()
    db = await asyncpg.connect(url)
    async with operator_context(url) as ctx:
        yield ctx, db
    await db.close()


async def test_a_record_over_16_kib_is_truncated_to_its_address(reader: FeedReader, make: Make) -> None:
    small, large = [
        await make.new("products", "product", name="Book", description=text) for text in ("Printed", LARGE_TEXT)
    ]

    events = await reader.read_about(small.id, large.id, until="product.created")
    while len(events) < 2:
        events += await reader.read_about(small.id, large.id, until="product.created")

    data = {event["data"]["id"]: event["data"] for event in events}
    assert data[small.id]["attributes"]["description"] == "Printed"
    assert data[large.id] == {
        "id": large.id,
        "type": "product",
        "truncated": True,
        "url": str(reader.machine.http.base_url.join(f"/api/v2/platform/products/{large.id}")),
    }


async def test_expired_days_are_dropped_and_their_cursors_refused(shop: tuple[Context, Any]) -> None:
    ctx, db = shop
    for name in ("Old", "New"):
        await records.create(ctx.with_new_session(), TAX_CATEGORY, {"name": name})
        await number_events(ctx.shared)
    await db.execute(
        """create table events_20200102 partition of events for values from ('2020-01-02Z') to ('2020-01-03Z')"""
    )
    await db.execute("update events set occurred_at = '2020-01-02T12:00Z' where position = 1")

    dropped = await maintain_partitions(ctx.shared)

    assert (dropped, await db.fetchval("select to_regclass('events_20200102')")) == (1, None)
    assert [row["position"] for row in await db.fetch("select position from events")] == [2]
    with pytest.raises(CursorExpired):
        await check_position(ctx.shared, 0)
    await check_position(ctx.shared, 1)


async def test_days_are_kept_for_30_days_and_created_two_days_ahead(shop: tuple[Context, Any]) -> None:
    ctx, db = shop
    days = [-31, -30, -1, 1, 2]
    # Others exist if the database was made on the day before.
    await db.execute(f"drop table if exists {', '.join([await _partition(db, each) for each in days])}")
    for number in days[:3]:
        start, end = [await db.fetchval(DAY, each) for each in (number, number + 1)]
        name = await _partition(db, number)
        await db.execute(f"create table {name} partition of events for values from ('{start}') to ('{end}')")

    dropped = await maintain_partitions(ctx.shared)

    exists = [await db.fetchval("select to_regclass($1)", await _partition(db, each)) is not None for each in days]
    assert (dropped, exists) == (1, [False, True, True, True, True])


async def _partition(db: Any, number: int) -> str:
    """The name of the partition of the day so many days from now."""
    return f"events_{(await db.fetchval(DAY, number)):%Y%m%d}"


@pytest.mark.torture
async def test_a_reader_that_stops_reading_is_cut_off_and_resumes(
    service: Service, http: httpx2.AsyncClient, make: Make, db: Any
) -> None:
    machine = await new_machine(http, db, "read")
    reader = await new_reader(machine)
    product = await make.new("products", "product", name="Book", description=LARGE_TEXT[:3500])
    await reader.read_about(product.id, until="product.created")
    await db.execute(COPY_EVENT, UUID(product.id), COPIES)
    before = len(service.lines)

    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        await asyncio.to_thread(request_stream, slow, machine, reader.cursor)
        await asyncio.to_thread(
            service.wait_for, lambda line: STREAM in line and '"status":499' in line, 2 * SEND_SECONDS, since=before
        )
        ids = [int(line[4:]) for line in (await asyncio.to_thread(read_all, slow)).split("\n") if line[:4] == "id: "]

    async with open_stream(machine, **{"Last-Event-ID": str(ids[-1])}) as lines:
        next_id, _ = await read_event(lines, "product.created")
    assert ids == list(range(ids[0], ids[-1] + 1))
    assert len(ids) < COPIES
    assert int(next_id) == ids[-1] + 1


def request_stream(slow: socket.socket, machine: Machine, cursor: str) -> None:
    address = urlsplit(str(machine.http.base_url))
    slow.connect((address.hostname, address.port))
    headers = {"Host": "127.0.0.1", "Authorization": f"Bearer {machine.access_token}", "Last-Event-ID": cursor}
    lines = [f"GET {STREAM} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    slow.sendall("\r\n".join([*lines, "", ""]).encode())


def read_all(slow: socket.socket) -> str:
    """Reads what was sent before the end of the connection, without the last event, which may be incomplete."""
    slow.settimeout(30)
    parts: list[bytes] = []
    while part := slow.recv(1 << 20):
        parts.append(part)
    return b"".join(parts).decode(errors="replace").rpartition("id: ")[0]
