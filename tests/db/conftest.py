"""Fixtures of the database tests: a database with a table of two counters, pools on it, and another connection."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import asyncpg
import pytest

from shop.db.pool import Database, open_database
from tests.db.pools import OpenDatabase

MARKS = "create table marks (name text primary key, n int not null); insert into marks values ('a', 0), ('b', 0)"


@pytest.fixture
async def database_with_marks(own_database: Callable[..., str]) -> str:
    """A database with a table of two counters. Deadlocks are detected after 20 ms instead of a second."""
    url = await asyncio.to_thread(own_database)
    connection = await asyncpg.connect(url)
    await connection.execute(MARKS)
    await connection.execute(
        f"alter database {await connection.fetchval('select current_database()')} set deadlock_timeout = '20ms'"
    )
    await connection.close()
    return url


@pytest.fixture
async def open_test_database(database_with_marks: str) -> AsyncIterator[OpenDatabase]:
    """Opens pools on that database."""
    databases: list[Database] = []

    async def make(size: int = 4) -> Database:
        databases.append(open_database(database_with_marks, size=size))
        return databases[-1]

    yield make
    for database in databases:
        await database.close()


@pytest.fixture
async def other_connection(database_with_marks: str) -> AsyncIterator[Any]:
    """A connection to that database outside the pools."""
    connection = await asyncpg.connect(database_with_marks)
    yield connection
    await connection.close()
