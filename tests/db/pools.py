"""What the tests of the pool share: statements to run, and a look at whether any place was lost."""

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
    """A statement that stands in no list of the program's own."""
    statement: Statement[Any] = Statement(literal_column(text), lambda record: record[0])
    statement.sql, statement.parameters, statement.constants, statement.writes = text, (), {}, writes
    return statement


ONE = sql("select 1")
PID = sql("select pg_backend_pid()")


async def run_timed(work: Awaitable[Any]) -> tuple[Any, float]:
    """What came of it, a result or an error, and after how many seconds."""
    start = time.monotonic()
    endings = await asyncio.gather(work, return_exceptions=True)
    return endings[0], time.monotonic() - start


async def acquire(database: Database) -> Any:
    """A connection without a deadline."""
    return database.connections.take(inf) or await database.connections.wait(inf)


@asynccontextmanager
async def all_taken(database: Database, size: int) -> AsyncIterator[list[Any]]:
    """Every connection of the pool, held; the list may be emptied by the test."""
    connections = [await acquire(database) for _ in range(size)]
    yield connections
    for connection in connections:
        database.connections.release(connection)


async def assert_whole(database: Database, size: int) -> None:
    """All places can be taken, and not one more."""
    async with asyncio.timeout(1.5), all_taken(database, size):
        extra = asyncio.create_task(acquire(database))
        await asyncio.sleep(0)
        assert not extra.done()
        extra.cancel()
        await asyncio.gather(extra, return_exceptions=True)
    assert await database.session().one(ONE) == 1
