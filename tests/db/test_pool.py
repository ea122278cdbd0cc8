"""Sessions: a transaction writes all or nothing, conflicts are retried a few times, and every wait ends."""

import asyncio
from typing import Any

import asyncpg
import pytest

from shop.base.errors import TransactionConflict, Unavailable
from shop.db.pool import Database, DatabaseSession, LockTimeout
from tests.db.pools import ONE, PID, OpenDatabase, assert_no_slot_lost, run_timed, sql
from tests.db.processes import until

SLEEP = sql("select pg_sleep(10)")
COUNT = sql("select sum(n)::int from marks")
ADD = {name: sql(f"update marks set n = n + 1 where name = '{name}' returning n", writes=True) for name in "ab"}
MISS = sql("update marks set n = n + 1 where name = 'none' returning n", writes=True)


async def assert_locked_row_times_out(database: Database, other_connection: Any) -> None:
    async with other_connection.transaction():
        await other_connection.execute("update marks set n = 7 where name = 'a'")

        error, seconds = await run_timed(database.session().one(ADD["a"]))

    assert isinstance(error, LockTimeout)
    assert (error.status, 1.9 < seconds < 4) == (503, True)
    assert await database.session().one(ADD["a"]) == 8


async def assert_long_statement_is_canceled(database: Database) -> None:
    pid = await database.session().one(PID)

    error, seconds = await run_timed(database.session().one(SLEEP))

    assert isinstance(error, Unavailable)
    assert 4.9 < seconds < 6.5
    assert await database.session().one(PID) == pid


@pytest.mark.security("X-03")
@pytest.mark.torture
async def test_waits_for_a_locked_row_and_long_statements_are_bounded(
    open_test_database: OpenDatabase, other_connection: Any
) -> None:
    # Both wait at the same time.
    await asyncio.gather(
        assert_locked_row_times_out(await open_test_database(size=1), other_connection),
        assert_long_statement_is_canceled(await open_test_database(size=1)),
    )


@pytest.mark.security("X-03")
async def test_a_deadlock_is_retried_until_both_transactions_succeed(open_test_database: OpenDatabase) -> None:
    database = await open_test_database(size=2)
    both_have_one_lock = asyncio.Barrier(2)
    tries: list[str] = []

    async def lock_both(first: str, second: str) -> None:
        session = database.session()

        async def work() -> None:
            tries.append(first)
            async with session.transaction():
                await session.one(ADD[first])
                if tries.count(first) == 1:
                    await both_have_one_lock.wait()
                await session.one(ADD[second])

        await session.retrying(work)

    await asyncio.gather(lock_both("a", "b"), lock_both("b", "a"))

    assert len(tries) == 3
    assert await database.session().all(sql("select n from marks")) == [2, 2]


async def run_losing_transaction(session: DatabaseSession, other_connection: Any) -> None:
    """A transaction that always fails: the other connection changes its row after its snapshot."""
    async with session.transaction():
        await session.one(sql("set transaction isolation level repeatable read"))
        await session.one(COUNT)
        await other_connection.execute("update marks set n = n + 100 where name = 'a'")
        await session.one(ADD["a"])


@pytest.mark.security("X-03")
async def test_a_serialization_failure_is_retried(open_test_database: OpenDatabase, other_connection: Any) -> None:
    session = (await open_test_database()).session()
    tries = 0

    async def work() -> int:
        nonlocal tries
        tries += 1
        if tries < 3:
            await run_losing_transaction(session, other_connection)
        async with session.transaction():
            return int(await session.one(ADD["a"]) or 0)

    assert await session.retrying(work) == 201
    assert tries == 3


@pytest.mark.security("X-03")
@pytest.mark.torture
async def test_after_five_retries_the_database_is_unavailable(
    open_test_database: OpenDatabase, other_connection: Any
) -> None:
    database = await open_test_database(size=1)
    session = database.session()
    tries = 0

    async def work() -> None:
        nonlocal tries
        tries += 1
        await run_losing_transaction(session, other_connection)

    error, seconds = await run_timed(session.retrying(work))

    assert type(error) is Unavailable
    assert tries == 6
    assert 5 * 0.01 < seconds < 5 * 0.2 + 1
    assert await database.session().one(COUNT) == 600
    await assert_no_slot_lost(database, 1)


async def test_work_with_a_committed_part_is_not_retried(
    open_test_database: OpenDatabase, other_connection: Any
) -> None:
    session = (await open_test_database()).session()
    tries = 0

    async def work() -> None:
        nonlocal tries
        tries += 1
        await session.one(ADD["b"])
        await run_losing_transaction(session, other_connection)

    error, _ = await run_timed(session.retrying(work))

    assert (type(error), tries) == (Unavailable, 1)
    assert await other_connection.fetchval("select n from marks where name = 'b'") == 1


async def test_a_programming_error_is_neither_retried_nor_translated(open_test_database: OpenDatabase) -> None:
    session = (await open_test_database()).session()
    tries = 0

    async def work() -> None:
        nonlocal tries
        tries += 1
        await session.one(sql("select nonsense"))

    with pytest.raises(asyncpg.UndefinedColumnError):
        await session.retrying(work)

    assert tries == 1


async def test_a_statement_outside_a_transaction_can_conflict(
    open_test_database: OpenDatabase, other_connection: Any
) -> None:
    session = (await open_test_database()).session()
    await other_connection.execute(
        "create function lose() returns int language plpgsql as "
        "$$begin raise exception using errcode = 'serialization_failure'; end$$"
    )

    with pytest.raises(TransactionConflict):
        await session.one(sql("select lose()"))

    assert await session.one(ONE) == 1


async def test_a_second_write_outside_a_transaction_is_an_assertion_error(open_test_database: OpenDatabase) -> None:
    session = (await open_test_database()).session()
    await session.one(ADD["a"])

    with pytest.raises(AssertionError, match="open one with"):
        await session.one(ADD["b"])

    assert await session.one(COUNT) == 1


async def test_a_write_that_changed_no_row_may_be_followed_by_another(open_test_database: OpenDatabase) -> None:
    session = (await open_test_database()).session()

    assert await session.one(MISS) is None
    assert await session.one(ADD["a"]) == 1


async def test_a_transaction_commits_all_of_its_writes(open_test_database: OpenDatabase) -> None:
    session = (await open_test_database()).session()

    async with session.transaction():
        await session.one(ADD["a"])
        await session.one(ADD["b"])

    assert await session.one(COUNT) == 2


async def test_a_failed_transaction_is_rolled_back(open_test_database: OpenDatabase) -> None:
    database = await open_test_database(size=1)
    session = database.session()

    async def work() -> None:
        async with session.transaction():
            await session.one(ADD["a"])
            raise KeyError

    with pytest.raises(KeyError):
        await work()

    assert await session.one(COUNT) == 0
    assert await session.one(ADD["b"]) == 1
    await assert_no_slot_lost(database, 1)


async def test_a_failed_statement_rolls_back_its_transaction(open_test_database: OpenDatabase) -> None:
    database = await open_test_database(size=1)
    session = database.session()

    async def work() -> None:
        async with session.transaction():
            await session.one(ADD["a"])
            await session.one(sql("select nonsense"))

    with pytest.raises(asyncpg.UndefinedColumnError):
        await work()

    assert await session.one(COUNT) == 0
    await assert_no_slot_lost(database, 1)


async def is_running(other_connection: Any, text: str) -> bool:
    """Whether another session of this database runs that statement now."""
    busy = (
        "select exists (select from pg_stat_activity where datname = current_database() and state = 'active' "
        "and query = $1 and pid <> pg_backend_pid())"
    )
    return bool(await other_connection.fetchval(busy, text))


async def test_the_connection_of_a_task_canceled_during_a_statement_is_replaced(
    open_test_database: OpenDatabase, other_connection: Any
) -> None:
    database = await open_test_database(size=1)
    pid = await database.session().one(PID)
    sleeper = asyncio.create_task(database.session().one(SLEEP))
    await until(lambda: is_running(other_connection, SLEEP.sql))

    sleeper.cancel()
    other = await asyncio.wait_for(database.session().one(PID), 20)

    assert (await asyncio.gather(sleeper, return_exceptions=True))[0].__class__ is asyncio.CancelledError
    assert other != pid
    await assert_no_slot_lost(database, 1)


async def test_the_transaction_of_a_canceled_task_is_rolled_back(
    open_test_database: OpenDatabase, other_connection: Any
) -> None:
    database = await open_test_database(size=1)
    session = database.session()

    async def work() -> None:
        async with session.transaction():
            await session.one(ADD["a"])
            await asyncio.Event().wait()

    working = asyncio.create_task(work())
    waiting = asyncio.create_task(database.session().one(COUNT))
    adding = "update marks set n = n + 1 where name = 'a' returning n"
    is_idle = "select exists (select from pg_stat_activity where state = 'idle in transaction' and query = $1)"
    await until(lambda: other_connection.fetchval(is_idle, adding))
    working.cancel()

    assert await asyncio.wait_for(waiting, 20) == 0
    assert (await asyncio.gather(working, return_exceptions=True))[0].__class__ is asyncio.CancelledError
    assert await database.session().one(ADD["a"]) == 1
    await assert_no_slot_lost(database, 1)


@pytest.mark.security("X-03")
async def test_a_connection_lost_at_commit_is_unavailable_and_not_retried(
    open_test_database: OpenDatabase, other_connection: Any
) -> None:
    database = await open_test_database(size=1)
    session = database.session()
    tries = 0

    async def work() -> None:
        nonlocal tries
        tries += 1
        async with session.transaction():
            await session.one(ADD["a"])
            await other_connection.execute("select pg_terminate_backend($1, 2000)", await session.one(PID))

    error, _ = await run_timed(session.retrying(work))

    assert (type(error), tries) == (Unavailable, 1)
    assert await database.session().one(COUNT) == 0
    await assert_no_slot_lost(database, 1)
