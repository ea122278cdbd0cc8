"""What the tests of the ground may ask for: a database with two rows to count on, pools on it, and a rival."""

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
    """Two rows to count on. Deadlocks are found at once instead of after a second."""
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
async def rival(database_with_marks: str) -> AsyncIterator[Any]:
    """Somebody else's connection to that database."""
    connection = await asyncpg.connect(database_with_marks)
    yield connection
    await connection.close()
