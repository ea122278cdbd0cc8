"""The connection pool: a bounded number of connections, bounded waits, and no slot is ever lost."""

import asyncio
import time
from math import inf
from typing import Any

import pytest

from shop.base.errors import Unavailable
from shop.db.connections import URGENT_SECONDS, WAIT_SECONDS, Connections
from shop.db.embedded import Embedded
from shop.db.pool import SESSION_SETTINGS, Database, open_database
from tests.cluster import with_database
from tests.db.pools import ONE, PID, OpenDatabase, acquire, assert_no_slot_lost, hold_all_connections, run_timed, sql
from tests.db.processes import accessible_dir, until


@pytest.mark.security("X-03")
async def test_waits_for_a_connection_and_for_a_silent_server_are_bounded(open_test_database: OpenDatabase) -> None:
    # Both wait at the same time.
    await asyncio.gather(
        assert_wait_ends_after_two_seconds(await open_test_database(size=2)),
        assert_silent_server_is_unavailable(),
    )


async def assert_wait_ends_after_two_seconds(database: Database) -> None:
    async with hold_all_connections(database, 2):
        results = await asyncio.gather(*(run_timed(database.session().one(ONE)) for _ in range(40)))

    assert {type(error) for error, _ in results} == {Unavailable}
    assert all(1.9 < seconds < 5 for _, seconds in results)
    # Waiters that gave up have left the queue.
    answers, seconds = await run_timed(asyncio.gather(*(database.session().one(ONE) for _ in range(40))))
    assert (answers, seconds < 5) == ([1] * 40, True)
    await assert_no_slot_lost(database, 2)


async def test_the_pool_never_exceeds_its_size(open_test_database: OpenDatabase, other_connection: Any) -> None:
    database = await open_test_database(size=3)

    # Slow enough that one connection does not serve them all before the others are open.
    slow = sql("select pg_backend_pid() from pg_sleep(0.02)")
    pids = await asyncio.gather(*(database.session().one(slow) for _ in range(50)))

    assert len(set(pids)) == 3
    query = "select count(*) from pg_stat_activity where datname = current_database() and application_name = 'shop'"
    assert await other_connection.fetchval(query) == 3


async def test_connections_are_opened_on_demand_and_the_last_one_is_reused_first(
    open_test_database: OpenDatabase,
) -> None:
    database = await open_test_database(size=3)

    pids = [await database.session().one(PID) for _ in range(5)]

    assert len(set(pids)) == 1


@pytest.mark.security("X-03")
async def test_every_connection_has_the_time_limits(open_test_database: OpenDatabase) -> None:
    session = (await open_test_database()).session()

    settings = {name: await session.one(sql(f"show {name}")) for name in SESSION_SETTINGS}

    assert settings == {
        "application_name": "shop",
        "statement_timeout": "5s",
        "lock_timeout": "2s",
        "idle_in_transaction_session_timeout": "10s",
        "timezone": "UTC",
        "jit": "off",
        "random_page_cost": "1.1",
    }


async def test_canceled_waiters_release_their_slots(open_test_database: OpenDatabase) -> None:
    database = await open_test_database(size=3)

    async with hold_all_connections(database, 3):
        waiting = [asyncio.create_task(acquire(database)) for _ in range(10)]
        await asyncio.sleep(0)
        for task in waiting:
            task.cancel()
        results = await asyncio.gather(*waiting, return_exceptions=True)

    assert {type(result) for result in results} == {asyncio.CancelledError}
    await assert_no_slot_lost(database, 3)


async def test_a_waiter_canceled_when_it_gets_a_connection_passes_it_on(
    open_test_database: OpenDatabase,
) -> None:
    database = await open_test_database(size=1)

    async with hold_all_connections(database, 1) as connections:
        first, second = [asyncio.create_task(acquire(database)) for _ in range(2)]
        await asyncio.sleep(0)
        database.connections.release(connections.pop())
        first.cancel()
        connections.append(await asyncio.wait_for(second, 20))

    assert first.cancelled()
    await assert_no_slot_lost(database, 1)


async def test_a_waiter_canceled_when_its_connection_is_lost_passes_the_slot_on(
    open_test_database: OpenDatabase,
) -> None:
    database = await open_test_database(size=1)

    async with hold_all_connections(database, 1) as connections:
        first, second = [asyncio.create_task(acquire(database)) for _ in range(2)]
        await asyncio.sleep(0)
        connections[0].terminate()
        database.connections.release(connections.pop())
        first.cancel()
        connections.append(await asyncio.wait_for(second, 20))

    assert first.cancelled()
    await assert_no_slot_lost(database, 1)


async def test_urgent_waiters_are_served_first(open_test_database: OpenDatabase) -> None:
    database = await open_test_database(size=1)
    names: list[str] = []

    async def use(name: str, seconds: float) -> None:
        connection = await database.connections.wait(inf, seconds)
        names.append(name)
        database.connections.release(connection)

    async with hold_all_connections(database, 1):
        waiting = [use("first", WAIT_SECONDS), use("urgent", URGENT_SECONDS), use("urgent too", URGENT_SECONDS)]
        tasks = [asyncio.create_task(each) for each in waiting]
        await asyncio.sleep(0)
    await asyncio.gather(*tasks)

    assert names == ["urgent", "urgent too", "first"]
    await assert_no_slot_lost(database, 1)


@pytest.mark.torture
async def test_a_waiter_canceled_at_its_deadline_is_canceled(open_test_database: OpenDatabase) -> None:
    database = await open_test_database(size=1)

    async with hold_all_connections(database, 1):
        waiting = asyncio.create_task(acquire(database))
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_later(2.05, waiting.cancel)
        # Blocks the loop, like a long garbage collection, so that both timers are due in the same iteration.
        time.sleep(2.1)  # noqa: ASYNC251
        await asyncio.gather(waiting, return_exceptions=True)

    assert waiting.cancelled()
    await assert_no_slot_lost(database, 1)


async def test_a_task_canceled_while_connecting_releases_its_slot(open_test_database: OpenDatabase) -> None:
    database = await open_test_database(size=2)
    connecting = [asyncio.create_task(acquire(database)) for _ in range(2)]
    waiting = asyncio.create_task(database.session().one(ONE))
    await asyncio.sleep(0)

    for task in connecting:
        task.cancel()
    await asyncio.gather(*connecting, return_exceptions=True)

    assert await asyncio.wait_for(waiting, 20) == 1
    await assert_no_slot_lost(database, 2)


async def test_a_connection_closed_by_the_server_is_replaced(
    open_test_database: OpenDatabase, other_connection: Any
) -> None:
    database = await open_test_database(size=1)
    pid = await database.session().one(PID)
    connection = await acquire(database)
    database.connections.release(connection)
    await other_connection.execute("select pg_terminate_backend($1, 2000)", pid)
    # The server has closed the connection; wait until the client has noticed.
    await until(lambda: asyncio.sleep(0, connection.is_closed()))

    assert await database.session().one(PID) != pid
    await assert_no_slot_lost(database, 1)


async def test_a_closed_pool_has_no_connection_left(open_test_database: OpenDatabase, other_connection: Any) -> None:
    database = await open_test_database(size=3)
    await asyncio.gather(*(database.session().one(ONE) for _ in range(9)))

    await database.close()

    query = "select count(*) = 0 from pg_stat_activity where datname = current_database() and application_name = 'shop'"
    await until(lambda: other_connection.fetchval(query))


async def test_an_unreachable_database_is_unavailable_immediately(database_with_marks: str) -> None:
    for url in ("postgresql://shop@127.0.0.1:1/shop", with_database(database_with_marks, "no_such_database")):
        database = open_database(url, size=2)

        results = await asyncio.gather(*(run_timed(database.session().one(ONE)) for _ in range(20)))

        assert {type(error) for error, _ in results} == {Unavailable}
        assert max(seconds for _, seconds in results) < 1.9


async def assert_silent_server_is_unavailable() -> None:
    async def ignore_input(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(ignore_input, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    connections = Connections(f"postgresql://shop@{host}:{port}/shop?sslmode=disable", 1, {})

    error, seconds = await run_timed(Database(connections).session().one(ONE))

    assert type(error) is Unavailable
    assert 1.9 < seconds < 5
    server.close()
    await server.wait_closed()


async def test_the_pool_recovers_after_a_server_restart(open_test_database: OpenDatabase) -> None:
    with accessible_dir() as data_dir:
        server = Embedded(data_dir)
        database = open_database(await asyncio.to_thread(server.start), size=3)
        await asyncio.gather(*(database.session().one(ONE) for _ in range(9)))

        await asyncio.to_thread(server.stop)
        failures = await asyncio.gather(*(run_timed(database.session().one(ONE)) for _ in range(9)))
        await asyncio.to_thread(server.start)
        values = await asyncio.gather(*(database.session().one(ONE) for _ in range(9)))

        assert {type(error) for error, _ in failures} == {Unavailable}
        assert max(seconds for _, seconds in failures) < 1.9
        assert values == [1] * 9
        await assert_no_slot_lost(database, 3)
        await database.close()
        await asyncio.to_thread(server.stop)
