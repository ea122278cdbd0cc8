"""Helpers of the pool tests: statements, timed calls, and a check that no slot of a pool is lost."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from math import inf
from typing import Any

from sqlalchemy import literal_column

from shop.db.pool import Database
from shop.db.statements import Statement

OpenDatabase = Callable[..., Awaitable[Database]]


def sql(text: str, *, writes: bool = False) -> Statement[Any]:
    """A statement from SQL text."""
    statement: Statement[Any] = Statement(literal_column(text), lambda record: record[0])
    statement.sql, statement.parameters, statement.constants, statement.writes = text, (), {}, writes
    return statement


ONE = sql("select 1")
PID = sql("select pg_backend_pid()")


async def run_timed(work: Awaitable[Any]) -> tuple[Any, float]:
    """The result or the error, and the seconds that it took."""
    start = time.monotonic()
    results = await asyncio.gather(work, return_exceptions=True)
    return results[0], time.monotonic() - start


async def acquire(database: Database) -> Any:
    """Takes a connection, and waits without a deadline."""
    return database.connections.take(inf) or await database.connections.wait(inf)


@asynccontextmanager
async def hold_all_connections(database: Database, size: int) -> AsyncIterator[list[Any]]:
    """Takes every connection of the pool, and releases those that the test leaves in the list."""
    connections = [await acquire(database) for _ in range(size)]
    yield connections
    for connection in connections:
        database.connections.release(connection)


async def assert_no_slot_lost(database: Database, size: int) -> None:
    """Asserts that the pool still has exactly `size` slots."""
    async with asyncio.timeout(20), hold_all_connections(database, size):
        extra = asyncio.create_task(acquire(database))
        await asyncio.sleep(0)
        assert not extra.done()
        extra.cancel()
        await asyncio.gather(extra, return_exceptions=True)
    assert await database.session().one(ONE) == 1
