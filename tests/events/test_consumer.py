"""The consumer of the feed in the documentation processes each event exactly once, also after a crash."""

import asyncio
import os
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2

from tests.checkout_builders import Buyer, CheckoutSetup
from tests.events.examples import find_example
from tests.events.feed import new_reader
from tests.platform.client import Machine

SECONDS = 30


@asynccontextmanager
async def run_consumer(machine: Machine, path: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    environ = {
        "PATH": os.environ["PATH"],
        "DATABASE": str(path),
        "SHOP_URL": str(machine.http.base_url).rstrip("/"),
        "TOKEN": machine.access_token,
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", find_example("python", "sqlite3"), env=environ, stderr=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def buy(http: httpx2.AsyncClient, setup: CheckoutSetup) -> str:
    buyer = Buyer(http, setup)
    await buyer.ready((await setup.product(), 1), source="approve")
    answer = await buyer.complete()
    assert answer.status == 200, answer
    return answer.id


async def test_the_documented_consumer_processes_each_event_once_although_it_crashes(
    http: httpx2.AsyncClient, writer: Machine, checkout_setup: CheckoutSetup, db: Any, tmp_path: Path
) -> None:
    reader = await new_reader(writer)
    path = tmp_path / "consumer.db"
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("create table progress (id integer primary key check (id = 1), cursor text)")
    database.execute("insert into progress values (1, ?)", (reader.cursor,))
    database.execute("create table sales (order_id text primary key, total text)")
    order_ids = {await buy(http, checkout_setup) for _ in range(3)}
    # Once all events can be read, they are one page, and the work on it fails in the middle.
    while order_ids - {event["data"]["id"] for event in await reader.read("order.completed")}:
        reader.cursor = str(database.execute("select cursor from progress").fetchone()[0])
    database.execute(
        "create trigger crash before insert on sales when (select count(*) from sales) = 2"
        " begin select raise(abort, 'disk full'); end"
    )

    async with asyncio.timeout(SECONDS), run_consumer(writer, path) as process:
        assert await process.wait() != 0
    assert database.execute("select count(*) from sales").fetchone() == (0,)
    database.execute("drop trigger crash")
    async with asyncio.timeout(SECONDS), run_consumer(writer, path) as process:
        while database.execute("select count(*) from sales").fetchone() < (3,):
            assert process.returncode is None
            await db.execute("select pg_sleep(0.02)")

    assert {row[0] for row in database.execute("select order_id from sales")} == order_ids
    database.close()
