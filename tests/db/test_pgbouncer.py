"""The shop behind a real PgBouncer in transaction mode: recognized, with time limits, and through a whole purchase."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from shop.base.errors import Unavailable
from shop.db.pool import SESSION_SETTINGS, Database, LockTimeout, open_database
from shop.db.poolers import find_pooler
from tests.builders import Make
from tests.checkout_builders import Buyer, new_checkout_setup, on_hand
from tests.cli.command import Command
from tests.cluster import Cluster
from tests.db import test_faults
from tests.db.conftest import MARKS
from tests.db.pools import ONE, PID, OpenDatabase, assert_no_slot_lost, run_timed, sql
from tests.db.processes import is_event, until
from tests.pgbouncer import PREPARED_COUNT, PgBouncer, run_pgbouncer
from tests.platform.client import new_machine
from tests.service import KEYS, Service

pytestmark = pytest.mark.torture
BUYERS = 12


@pytest.fixture(scope="module")
def server(cluster: Cluster, worker_name: str) -> Iterator[str]:
    with cluster.data_dir(f"pgbouncer_{worker_name}") as (_, url):
        yield url


@pytest.fixture(scope="module", params=[0, PREPARED_COUNT], ids=["unprepared", "prepared"])
def pooler(server: str, request: pytest.FixtureRequest) -> Iterator[PgBouncer]:
    with run_pgbouncer(server, prepared_count=request.param) as pooler:
        yield pooler


@pytest.fixture
async def open_pooled(pooler: PgBouncer, server: str) -> AsyncIterator[OpenDatabase]:
    """Opens pools through PgBouncer, on a database with a table of two counters."""
    direct = await asyncpg.connect(server)
    await direct.execute(f"drop table if exists marks; {MARKS}")
    await direct.close()
    databases: list[Database] = []

    async def make(size: int = 4) -> Database:
        databases.append(open_database(pooler.url, size=size, is_prepared=pooler.is_prepared))
        return databases[-1]

    yield make
    for database in databases:
        await database.close()


def environ(pooler: PgBouncer, tmp_path: Path, **extra: str) -> dict[str, str]:
    return {
        "SHOP_DATA_DIR": str(tmp_path),
        "SHOP_DATABASE_URL": pooler.url,
        "SHOP_DATABASE_PREPARED": "on" if pooler.is_prepared else "off",
        "SHOP_SECRET_KEYS": KEYS,
        "SHOP_MAILBOX": "on",
        "SHOP_DRAIN_SECONDS": "0",
        **extra,
    }


async def test_pgbouncer_is_recognized_and_postgresql_is_not(pooler: PgBouncer, server: str) -> None:
    direct = await find_pooler(server, SESSION_SETTINGS)
    pgbouncer = await find_pooler(pooler.url, SESSION_SETTINGS)

    assert direct is None
    assert pgbouncer is not None
    assert (pgbouncer.name, pgbouncer.mode, pgbouncer.wrong_settings) == ("PgBouncer", "transaction", {})
    assert pgbouncer.keeps_prepared is pooler.is_prepared


async def test_every_transaction_has_the_time_limits(open_pooled: OpenDatabase) -> None:
    session = (await open_pooled()).session()

    settings = {name: await session.one(sql(f"show {name}")) for name in SESSION_SETTINGS}

    assert settings == SESSION_SETTINGS


async def test_a_lock_is_not_awaited_longer_than_its_limit(open_pooled: OpenDatabase) -> None:
    database = await open_pooled()
    update = sql("update marks set n = n + 1 where name = 'a' returning n", writes=True)
    holder, waiter = database.session(), database.session()

    async with holder.transaction():
        await holder.one(update)
        error, seconds = await run_timed(waiter.one(update))

    assert type(error) is LockTimeout
    assert 1.9 < seconds < 5


@pytest.mark.parametrize(
    "fault",
    [
        test_faults.test_a_hung_statement_in_a_transaction_is_abandoned_at_its_deadline,
        test_faults.test_the_deadline_of_a_request_covers_waits_statements_and_separate_sessions,
        test_faults.test_the_deadline_of_a_stream_applies_to_each_statement,
    ],
)
async def test_the_faults_of_a_server_have_the_same_results(
    fault: Callable[..., Any], open_pooled: OpenDatabase
) -> None:
    await fault(open_pooled)


async def test_a_killed_server_process_fails_one_statement(open_pooled: OpenDatabase) -> None:
    database = await open_pooled(size=1)
    session = database.session()

    async def work() -> None:
        async with session.transaction():
            os.kill(await session.one(PID) or 0, signal.SIGTERM)
            await session.one(sql("select pg_sleep(1)"))

    error, _ = await run_timed(work())

    assert type(error) is Unavailable
    await assert_no_slot_lost(database, 1)


async def test_statements_of_many_sessions_share_few_server_connections(open_pooled: OpenDatabase) -> None:
    databases = [await open_pooled(size=4) for _ in range(4)]
    count = sql("update marks set n = n + 1 where name = 'a' returning n", writes=True)

    async def work(database: Database) -> None:
        session = database.session()
        async with session.transaction():
            await session.one(count)
            await session.one(ONE)

    await asyncio.gather(*(work(database) for database in databases for _ in range(50)))

    assert await databases[0].session().one(sql("select n from marks where name = 'a'")) == 200


@pytest.mark.parametrize("prepared_count", [0, PREPARED_COUNT], ids=["unprepared", "prepared"])
async def test_a_restarted_pgbouncer_is_used_again(server: str, prepared_count: int) -> None:
    with run_pgbouncer(server, prepared_count=prepared_count) as pooler:
        database = open_database(pooler.url, size=2, is_prepared=pooler.is_prepared)
        assert await database.session().one(ONE) == 1

        pooler.kill()
        error, _ = await run_timed(database.session().one(ONE))
        pooler.start()

        async def is_back() -> bool:
            return bool((await run_timed(database.session().one(ONE)))[0] == 1)

        await until(is_back)
        assert type(error) is Unavailable
        await database.close()


async def test_statements_beyond_the_limit_are_prepared_again(server: str) -> None:
    with run_pgbouncer(server, prepared_count=2) as pooler:
        database = open_database(pooler.url, size=4, is_prepared=True)
        numbers = [sql(f"select {number}") for number in range(10)]

        results = await asyncio.gather(*(database.session().one(number) for number in numbers * 20))

        assert results == [*range(10)] * 20
        await database.close()


async def test_customers_buy_through_pgbouncer(pooler: PgBouncer, server: str, tmp_path: Path) -> None:
    service = Service("--workers", "2", **environ(pooler, tmp_path, SHOP_LIMIT_CARTS_PER_SOURCE="0"))
    service.wait_for(is_event("the database is behind a connection pooler"))
    db = await asyncpg.connect(server)
    try:
        async with service.client() as http:
            make = Make(await new_machine(http, db))
            check = await make.new("payment_methods", "payment_method", name="Check", type="check")
            checkout_setup = await new_checkout_setup(make, card=check.id)
            mug = await checkout_setup.product(on_hand=BUYERS)

            async def buy() -> int:
                buyer = Buyer(http, checkout_setup)
                await buyer.add_items((mug, 1))
                await buyer.enter_address()
                await buyer.pay(method=checkout_setup.check)
                return (await buyer.complete()).status

            statuses = await asyncio.gather(*(buy() for _ in range(BUYERS)))

        assert statuses == [200] * BUYERS
        assert await on_hand(db, mug.variant_id) == 0
    finally:
        await db.close()
        service.stop()
    assert not [line for line in service.lines if '"level":"error"' in line]


def test_the_shop_does_not_start_if_prepared_statements_are_lost(shop: Command, server: str, tmp_path: Path) -> None:
    with run_pgbouncer(server) as pooler:
        result = shop.serve(**environ(pooler, tmp_path, SHOP_DATABASE_PREPARED="on"))

    assert result.returncode != 0
    assert "PgBouncer loses prepared statements" in result.stderr


def test_migrations_do_not_run_through_a_pooler(shop: Command, pooler: PgBouncer, tmp_path: Path) -> None:
    result = shop("migrate", **environ(pooler, tmp_path))

    assert result.returncode != 0
    assert "with the URL of PostgreSQL itself" in result.stderr


def test_doctor_names_pgbouncer_and_missing_time_limits(
    shop: Command, pooler: PgBouncer, cluster: Cluster, worker_name: str, tmp_path: Path
) -> None:
    healthy = shop("doctor", **environ(pooler, tmp_path))
    with (
        cluster.data_dir(f"no_limits_{worker_name}") as (_, url),
        run_pgbouncer(
            url,
            prepared_count=0,
            has_role_settings=False,
            **{"pool_mode =": "ignore_startup_parameters = statement_timeout, lock_timeout, jit\npool_mode ="},
        ) as unlimited,
    ):
        report = shop("doctor", **environ(unlimited, tmp_path))

    assert "ok    pooler: PgBouncer in transaction mode" in healthy.stdout
    assert "FAIL  pooler: PgBouncer does not apply session settings" in report.stdout
    assert "alter role current_user set statement_timeout = '5s';" in report.stdout
