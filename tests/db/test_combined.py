"""Concurrent calls of a statement share its runs, and each caller gets the rows, or the error, of its own run."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from sqlalchemy import literal_column

from shop.base.errors import Unavailable
from shop.db import pool
from shop.db.combined import MAX_CALLS
from shop.db.pool import LIMIT_SECONDS, ConstraintViolation, Database
from shop.db.statements import Statement
from tests.db.pools import OpenDatabase, assert_no_slot_lost, sql
from tests.db.processes import until

INSERT: Statement[str] = Statement(literal_column(""), lambda record: str(record[0]))
INSERT.sql = "insert into marks (name, n) select unnest($1::text[]), txid_current() % 1000000 returning name"
INSERT.parameters, INSERT.constants, INSERT.writes = ("name",), {}, True
BLOCKED = "select count(*) from pg_locks where not granted"
RUNS = "select array_agg(size order by size) from (select count(*) as size from marks where n > 0 group by n) runs"


@asynccontextmanager
async def locked_table(other_connection: Any, database: Database, first: str) -> AsyncIterator[asyncio.Task[list[str]]]:
    """A call that waits for a lock, until the end of the block."""
    async with other_connection.transaction():
        await other_connection.execute("lock table marks")
        call = insert(database, first)

        async def is_blocked() -> bool:
            return bool(await other_connection.fetchval(BLOCKED))

        await until(is_blocked)
        yield call


def insert(database: Database, name: str, *, seconds: float = LIMIT_SECONDS) -> asyncio.Task[list[str]]:
    session = database.session()
    session.is_bounded, session.seconds = True, seconds
    return asyncio.create_task(session.combined(INSERT, name=name))


async def test_a_second_write_outside_a_transaction_is_refused(open_test_database: OpenDatabase) -> None:
    session = (await open_test_database(size=2)).session()
    assert await session.combined(INSERT, name="c") == ["c"]

    with pytest.raises(AssertionError, match="a second write"):
        await session.combined(INSERT, name="c1")


async def test_calls_that_arrive_during_a_run_share_the_next_one(
    open_test_database: OpenDatabase, other_connection: Any
) -> None:
    database = await open_test_database(size=2)
    names = [f"c{number:03}" for number in range(MAX_CALLS + 1)]

    async with locked_table(other_connection, database, "c") as first:
        others = [insert(database, name) for name in names]
        await asyncio.sleep(0)
    rows = await asyncio.gather(first, *others)

    assert rows == [["c"], *[names[:-1]] * MAX_CALLS, names[-1:]]
    assert await other_connection.fetchval(RUNS) == [1, 1, MAX_CALLS]
    assert await insert(database, "c later") == ["c later"]
    await assert_no_slot_lost(database, 2)


async def test_an_error_is_that_of_its_run_only(open_test_database: OpenDatabase, other_connection: Any) -> None:
    database = await open_test_database(size=2)

    async with locked_table(other_connection, database, "c") as first:
        others = [insert(database, name) for name in ("c1", "a", "c2")]
        await asyncio.sleep(0)
    results = await asyncio.gather(first, *others, return_exceptions=True)

    assert results[0] == ["c"]
    assert [(type(error), str(error)) for error in results[1:]] == [(ConstraintViolation, "unique: marks_pkey")] * 3
    assert await insert(database, "c1") == ["c1"]


async def test_the_values_of_a_canceled_call_are_not_written_and_the_others_are(
    open_test_database: OpenDatabase, other_connection: Any
) -> None:
    database = await open_test_database(size=2)

    async with locked_table(other_connection, database, "c") as first:
        canceled, other = insert(database, "c1"), insert(database, "c2")
        await asyncio.sleep(0)
        canceled.cancel()
    await asyncio.gather(first, canceled, return_exceptions=True)

    assert await other == ["c2"]
    assert await database.session().all(sql("select name from marks order by name")) == ["a", "b", "c", "c2"]


@pytest.mark.parametrize("ends_with_error", [False, True])
async def test_calls_run_although_the_first_one_was_canceled_or_lost_its_connection(
    open_test_database: OpenDatabase, other_connection: Any, ends_with_error: bool
) -> None:
    database = await open_test_database(size=2)

    async with locked_table(other_connection, database, "c") as first:
        other = insert(database, "c1")
        await asyncio.sleep(0)
        if ends_with_error:
            await other_connection.execute("select pg_terminate_backend(pid) from pg_locks where not granted")
        else:
            first.cancel()
        await asyncio.gather(first, return_exceptions=True)
    assert await other == ["c1"]
    assert isinstance(first.exception(), Unavailable) if ends_with_error else first.cancelled()
    await assert_no_slot_lost(database, 2)


async def test_calls_do_not_wait_for_a_run_that_has_stalled(
    open_test_database: OpenDatabase, other_connection: Any
) -> None:
    database = await open_test_database(size=2)

    async with asyncio.timeout(1.5), other_connection.transaction():
        await other_connection.execute("insert into marks (name, n) values ('c', 0)")
        first = insert(database, "c")
        await asyncio.sleep(0)
        both = [insert(database, "c1"), insert(database, "c2")]
        assert await asyncio.gather(*both) == [["c1", "c2"]] * 2
        assert await insert(database, "c3") == ["c3"]
        assert not first.done()

    with pytest.raises(ConstraintViolation):
        await first


@pytest.mark.security("X-03")
async def test_a_call_that_waits_ends_at_its_own_deadline(
    open_test_database: OpenDatabase, other_connection: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = await open_test_database(size=2)
    monkeypatch.setattr(pool, "COMBINED_SECONDS", 0.1)

    async with locked_table(other_connection, database, "c") as first:
        other = insert(database, "c1", seconds=0.3)
        with pytest.raises(Unavailable):
            await other
    assert await first == ["c"]
    assert await database.session().all(sql("select name from marks order by name")) == ["a", "b", "c"]


@pytest.mark.parametrize("seconds", [0.0, 0.5])
async def test_a_caller_with_little_time_left_does_not_shorten_the_time_of_others(
    open_test_database: OpenDatabase, other_connection: Any, seconds: float
) -> None:
    database = await open_test_database(size=3)

    async with locked_table(other_connection, database, "c") as first:
        hurried, other = insert(database, "c1", seconds=seconds), insert(database, "c2")
        with pytest.raises(Unavailable):
            await hurried
    assert [await first, await other] == [["c"], ["c2"]]
