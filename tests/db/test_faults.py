"""The connection pool when a server hangs, is disconnected, loses its standby or becomes read-only."""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import asyncpg
import pytest

from shop.base.errors import Unavailable
from shop.db.hosts import CONNECT_SECONDS, Hosts, split_hosts
from shop.db.pool import Database, DatabaseSession, open_database
from tests.cluster import Cluster
from tests.db.pools import ONE, PID, OpenDatabase, assert_no_slot_lost, hold_all_connections, run_timed, sql
from tests.db.processes import until
from tests.tcp_proxy import TcpProxy, proxy_to

WRITE = sql("update shops set name = name returning name", writes=True)
SERVER = sql("show data_directory")
NAP = sql("select pg_sleep(0.2)")
DEADLINE = 0.5


@pytest.fixture(scope="module")
def server(cluster: Cluster, worker_name: str) -> Iterator[str]:
    """A separate database server; a test that breaks it must repair it."""
    with cluster.data_dir(f"faults_{worker_name}") as (_, url):
        yield url


def session_with_deadline(database: Database, seconds: float = DEADLINE) -> DatabaseSession:
    """A session of a request that has little time left."""
    session = database.session()
    session.is_bounded, session.seconds = True, seconds
    return session


@contextmanager
def pause_processes(*pids: Any) -> Iterator[None]:
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


async def change_setting(url: str, name: str, value: str) -> None:
    """Changes a setting of the whole server; returns when new sessions have it."""
    writable = {"default_transaction_read_only": "off", "synchronous_commit": "off"}
    connection = await asyncpg.connect(url, server_settings=writable)
    await connection.execute(f"alter system set {name} = '{value}'")
    await connection.execute("select pg_reload_conf()")
    await connection.close()

    async def is_in_force() -> bool:
        fresh = await asyncpg.connect(url)
        try:
            return bool(await fresh.fetchval(f"show {name}") == value)
        finally:
            await fresh.close()

    await until(is_in_force)


@pytest.mark.security("X-03", "X-11")
async def test_a_statement_on_a_hung_server_is_abandoned_at_its_deadline(open_test_database: OpenDatabase) -> None:
    database = await open_test_database(size=2)
    # Two connections, of which the second stays idle. Each has a transaction, so they differ.
    one, other = database.session(), database.session()
    async with one.transaction(), other.transaction():
        first, second = await one.one(PID), await other.one(PID)

    with pause_processes(first, second):
        error, seconds = await run_timed(session_with_deadline(database).one(ONE))
        # The other connection leads to the same server, so it is not used any more either.
        assert await asyncio.wait_for(database.session().one(PID), 20) not in {first, second}

    assert type(error) is Unavailable
    assert DEADLINE <= seconds < 5
    await assert_no_slot_lost(database, 2)


@pytest.mark.security("X-03", "X-11")
async def test_a_hung_statement_in_a_transaction_is_abandoned_at_its_deadline(open_test_database: OpenDatabase) -> None:
    database = await open_test_database(size=1)
    session = session_with_deadline(database)

    async def work() -> None:
        async with session.transaction():
            with pause_processes(await session.one(PID)):
                await session.one(ONE)

    error, seconds = await run_timed(work())

    assert type(error) is Unavailable
    assert DEADLINE <= seconds < 5
    await assert_no_slot_lost(database, 1)


@pytest.mark.security("X-03", "X-11")
async def test_the_deadline_of_a_request_covers_waits_statements_and_separate_sessions(
    open_test_database: OpenDatabase,
) -> None:
    database = await open_test_database(size=1)
    session = session_with_deadline(database, 2)

    await session.one(NAP)
    await session.separate().one(NAP)
    assert session.seconds <= 1.6
    async with hold_all_connections(database, 1):
        error, seconds = await run_timed(session.one(ONE))

    assert type(error) is Unavailable
    assert seconds < 1.9
    assert type((await run_timed(session.one(ONE)))[0]) is Unavailable
    await assert_no_slot_lost(database, 1)


@pytest.mark.torture
async def test_the_deadline_of_a_stream_applies_to_each_statement(open_test_database: OpenDatabase) -> None:
    session = (await open_test_database(size=1)).session()
    session.seconds = 1

    async with session.transaction():
        for _ in range(6):
            await session.one(NAP)
        await asyncio.sleep(1.1)  # The reader is slow, not the database.
        assert await session.one(ONE) == 1

    assert session.seconds == 1


@pytest.mark.security("X-03", "X-11")
async def test_a_commit_without_its_synchronous_standby_is_abandoned(server: str) -> None:
    database = open_database(server, size=1)
    await change_setting(server, "synchronous_standby_names", "nobody")
    try:
        session = session_with_deadline(database)

        async def work() -> None:
            async with session.transaction():
                await session.one(WRITE)

        error, seconds = await run_timed(session.retrying(work))
        lone_error, _ = await run_timed(session_with_deadline(database).one(WRITE))
        readable = await database.session().one(ONE)
    finally:
        await change_setting(server, "synchronous_standby_names", "")

    assert (type(error), type(lone_error), readable) == (Unavailable, Unavailable, 1)
    assert DEADLINE <= seconds < 5
    assert not session.committed
    await assert_no_slot_lost(database, 1)
    await database.close()


@pytest.mark.security("X-11")
async def test_a_silently_broken_network_path_is_unavailable_until_it_is_back(server: str) -> None:
    with proxy_to(server) as proxy:
        database = open_database(proxy.url(), size=2)
        await asyncio.gather(*(database.session().one(ONE) for _ in range(2)))

        proxy.hang()
        first, _ = await run_timed(session_with_deadline(database).one(ONE))
        connecting, wait = await run_timed(database.session().one(ONE))
        later = await asyncio.gather(*(run_timed(database.session().one(ONE)) for _ in range(20)))
        was_away = database.connections.is_unavailable
        proxy.refuse()
        proxy.accept()

        assert {type(error) for error in (first, connecting, *(each for each, _ in later))} == {Unavailable}
        assert (was_away, wait < 5) == (True, True)
        # Sessions do not wait for a database that is known to be away.
        assert max(seconds for _, seconds in later) < 1.9
        await wait_until_available(database)
        await assert_no_slot_lost(database, 2)
        await database.close()


async def wait_until_available(database: Database) -> None:
    async def is_available() -> bool:
        return bool((await run_timed(database.session().one(ONE)))[0] == 1)

    await until(is_available)


@pytest.mark.security("X-16")
async def test_a_waiter_whose_connection_fails_gets_one_of_the_others(server: str) -> None:
    with proxy_to(server) as proxy:
        database = open_database(proxy.url(), size=3)
        async with hold_all_connections(database, 1) as connections:
            proxy.refuse_new()
            waiting = asyncio.create_task(database.session().one(ONE))
            finished_tasks, _ = await asyncio.wait([waiting], timeout=0.5)
            assert not finished_tasks
            database.connections.release(connections.pop())

            assert await asyncio.wait_for(waiting, 20) == 1
        assert not database.connections.is_unavailable
        await database.close()


def test_a_url_with_several_hosts_is_split() -> None:
    assert split_hosts("postgresql://u:p%40@a,b:6000,[::1]:7000/d?x=1") == [
        "postgresql://u:p%40@a/d?x=1",
        "postgresql://u:p%40@b:6000/d?x=1",
        "postgresql://u:p%40@[::1]:7000/d?x=1",
    ]
    assert split_hosts("postgresql:///d?host=/a&user=u") == ["postgresql:///d?host=/a&user=u"]
    assert split_hosts("postgresql:///d?host=/a,/b&port=1,2") == [
        "postgresql:///d?host=%2Fa&port=1",
        "postgresql:///d?host=%2Fb&port=2",
    ]
    assert split_hosts("postgresql:///d?host=a,b&port=3")[1] == "postgresql:///d?host=b&port=3"


def multi_host_url(*proxies: TcpProxy) -> str:
    hosts = ",".join(f"127.0.0.1:{proxy.port}" for proxy in proxies)
    return f"postgresql://shop@{hosts}/shop?sslmode=disable"


async def test_the_host_that_answered_last_is_asked_first() -> None:
    calls: list[str] = []

    async def connect(url: str) -> str:
        calls.append(url)
        await asyncio.sleep(3600 if "//hung/" in url else 0)
        return url

    hosts = Hosts("postgresql://hung,healthy/shop")

    assert [await hosts.connect(connect) for _ in range(2)] == ["postgresql://healthy/shop"] * 2
    assert calls == ["postgresql://hung/shop", "postgresql://healthy/shop", "postgresql://healthy/shop"]


@pytest.mark.security("X-12")
async def test_a_hung_host_does_not_delay_a_healthy_one(server: str) -> None:
    with proxy_to(server) as hung, proxy_to(server) as healthy:
        hung.hang()
        database = open_database(multi_host_url(hung, healthy), size=2)

        first, seconds = await run_timed(database.session().one(ONE))
        async with hold_all_connections(database, 1):
            second, second_wait = await run_timed(database.session().one(ONE))

        assert (first, second) == (1, 1)
        # Waiting for the hung host takes CONNECT_SECONDS.
        assert max(seconds, second_wait) < CONNECT_SECONDS
        healthy.refuse()
        hung.accept()
        await wait_until_available(database)
        await database.close()


@pytest.mark.security("T-08", "X-13")
async def test_the_pool_leaves_a_read_only_server_for_a_writable_one(
    server: str, own_database: Callable[..., str]
) -> None:
    with proxy_to(server) as old, proxy_to(await asyncio.to_thread(own_database)) as new:
        database = open_database(multi_host_url(old, new), size=2)
        new.refuse()
        before = await asyncio.gather(*(database.session().one(SERVER) for _ in range(2)))
        new.accept()
        await change_setting(server, "default_transaction_read_only", "on")
        try:
            error, _ = await run_timed(database.session().one(WRITE))
            after = await asyncio.gather(*(database.session().one(SERVER) for _ in range(2)))
            result = await database.session().one(WRITE)
        finally:
            await change_setting(server, "default_transaction_read_only", "off")

        assert type(error) is Unavailable
        assert len({*before}) == len({*after}) == 1
        # Nothing is read from the old server either: tokens that were revoked since may be valid there.
        assert before != after
        assert result is not None
        await database.close()
