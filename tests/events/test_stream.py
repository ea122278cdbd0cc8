"""The live stream of events: resumes, ends with its token, and is limited."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from shop.platform.events.feed import MAX_STREAMS
from tests.builders import Make
from tests.platform.client import Machine, ask_for_token, new_app, new_machine, revoke_app
from tests.service import Service

STREAM = "/api/v2/platform/events/stream"


@pytest.fixture
async def machine(http: httpx2.AsyncClient, db: Any) -> Machine:
    return await new_machine(http, db, "read")


@asynccontextmanager
async def open_stream(machine: Machine, **headers: str) -> AsyncIterator[AsyncIterator[str]]:
    """The lines of a stream that is connected."""
    request_headers = {"Authorization": f"Bearer {machine.access_token}", **headers}
    async with machine.http.stream("GET", STREAM, headers=request_headers, timeout=30) as response:
        assert response.status_code == 200
        assert response.headers["content-type"] == "text/event-stream"
        lines = response.aiter_lines()
        assert await anext(lines) == ": connected"
        yield lines


async def read_event(lines: AsyncIterator[str], type_: str) -> tuple[str, dict[str, Any]]:
    """Waits for an event of this type; returns its id and its body."""
    event: dict[str, str] = {}
    async with asyncio.timeout(20):
        async for line in lines:
            name, _, value = line.partition(": ")
            event[name] = value
            if name == "data" and event["event"] == type_:
                return event["id"], json.loads(value)
    raise AssertionError("the stream has ended")


async def test_an_event_arrives_and_the_stream_resumes_after_it(machine: Machine, make: Make) -> None:
    async with open_stream(machine) as lines:
        first = await make.new("tax_categories", "tax_category", name="One")
        cursor, body = await read_event(lines, "tax_category.created")
    second = await make.new("tax_categories", "tax_category", name="Two")

    async with open_stream(machine, **{"Last-Event-ID": cursor}) as lines:
        _, next_body = await read_event(lines, "tax_category.created")

    assert (body["data"]["id"], next_body["data"]["id"]) == (first.id, second.id)
    assert (body["position"], body["type"]) == (int(cursor), "tax_category.created")


@pytest.mark.security("E-01")
async def test_a_revoked_application_no_longer_receives_events(http: httpx2.AsyncClient, db: Any, make: Make) -> None:
    app = await new_app(db, "read")
    machine = Machine(http, (await ask_for_token(http, app, "admin read")).json)
    async with open_stream(machine) as lines:
        await make.new("tax_categories", "tax_category", name="Before")
        await read_event(lines, "tax_category.created")
        await revoke_app(db, app)
        created = await make.new("tax_categories", "tax_category", name="After")
        async with asyncio.timeout(30):
            rest = [line async for line in lines]

    assert not any(created.id in line for line in rest)


@pytest.mark.security("E-03")
@pytest.mark.torture
async def test_streams_are_limited(machine: Machine) -> None:
    async with asyncio.TaskGroup() as group:
        closing = asyncio.Event()
        opened: asyncio.Queue[None] = asyncio.Queue()

        async def hold() -> None:
            async with open_stream(machine):
                opened.put_nowait(None)
                await closing.wait()

        for _ in range(MAX_STREAMS):
            group.create_task(hold())
        for _ in range(MAX_STREAMS):
            await opened.get()
        answer = await machine.get("/events/stream")
        closing.set()

    assert (answer.status, answer.headers["retry-after"]) == (429, "15")


@pytest.mark.security("E-03")
async def test_a_stream_ends_at_once_when_its_reader_disconnects(machine: Machine, service: Service) -> None:
    since = len(service.lines)
    async with open_stream(machine):
        pass

    # Long before the next comment, which comes after 15 seconds.
    service.wait_for(lambda line: STREAM in line and '"status":499' in line.replace(" ", ""), 8, since=since)


@pytest.mark.security("E-03")
@pytest.mark.torture
async def test_streams_that_are_opened_at_once_are_limited_too(machine: Machine) -> None:
    closing = asyncio.Event()
    opened: asyncio.Queue[bool] = asyncio.Queue()
    headers = {"Authorization": f"Bearer {machine.access_token}"}

    async def hold() -> None:
        async with machine.http.stream("GET", STREAM, headers=headers, timeout=60) as response:
            lines = response.aiter_lines()
            is_open = response.status_code == 200 and await anext(lines, "") == ": connected"
            opened.put_nowait(is_open)
            await closing.wait()

    async with asyncio.TaskGroup() as group:
        for _ in range(MAX_STREAMS + 30):
            group.create_task(hold())
        results = [await opened.get() for _ in range(MAX_STREAMS + 30)]
        closing.set()

    assert sum(results) == MAX_STREAMS
