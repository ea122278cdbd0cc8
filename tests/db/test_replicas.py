"""Read replicas: real standbys that lag, hang and die; what a session wrote is never missing from what it reads."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import httpx2
import pytest

from shop.base.errors import Unavailable
from shop.db.pool import SESSION_SETTINGS, Database, open_database
from shop.db.replicas import open_replicas
from tests.builders import Make
from tests.cli.command import Command
from tests.cluster import Cluster
from tests.db.pools import run_timed, sql
from tests.db.processes import is_event, until
from tests.db.standbys import RunningStandby, standbys_of
from tests.platform.client import Machine, new_machine
from tests.service import KEYS, Service
from tests.tcp_proxy import proxy_to

pytestmark = pytest.mark.torture
IS_STANDBY = sql("select pg_is_in_recovery()")
WRITE = sql("update shops set name = name returning name", writes=True)


@pytest.fixture(scope="module")
def primary(cluster: Cluster, worker_name: str) -> Iterator[str]:
    with cluster.data_dir(f"replicated_{worker_name}") as (_, url):
        yield url


@pytest.fixture(scope="module")
def standbys(primary: str) -> Iterator[list[RunningStandby]]:
    with standbys_of(primary, 2) as standbys:
        yield standbys


@pytest.fixture
async def database(primary: str, standbys: list[RunningStandby]) -> AsyncIterator[Database]:
    """A database with two replicas that are used."""
    urls = [standby.url for standby in standbys]
    replicas = open_replicas(urls, size=2, max_lag=1, settings=SESSION_SETTINGS, is_prepared=True)
    database = open_database(primary, size=2, replicas=replicas)
    watching = asyncio.create_task(database.watch_replicas())
    await wait_for_replicas(database, 2)
    yield database
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    await database.close()


async def wait_for_replicas(database: Database, count: int) -> None:
    async def are_used() -> bool:
        assert database.replicas
        return sum(state.is_used for state in database.replicas.states()) == count

    await until(are_used)


async def is_read_from_standby(database: Database) -> bool:
    session = database.session()
    session.prefer_replica()
    return bool(await session.one(IS_STANDBY))


async def test_a_read_goes_to_a_replica_and_all_else_to_the_primary(database: Database) -> None:
    session = database.session()
    session.prefer_replica()

    read_from_standby = await session.one(IS_STANDBY)
    async with session.transaction():
        transaction_on_standby = await session.one(IS_STANDBY)
    writing_session = database.session()
    writing_session.prefer_replica()
    await writing_session.one(WRITE)

    assert (read_from_standby, transaction_on_standby) == (True, False)
    assert await database.session().one(IS_STANDBY) is False
    assert await session.separate().one(IS_STANDBY) is False


async def test_a_replica_that_lags_is_not_read(database: Database, standbys: list[RunningStandby]) -> None:
    for standby in standbys:
        standby.pause_replay()
    try:
        await database.session().one(WRITE)
        await wait_for_replicas(database, 0)
        assert not await is_read_from_standby(database)
    finally:
        for standby in standbys:
            standby.resume_replay()
    await wait_for_replicas(database, 2)
    assert await is_read_from_standby(database)


async def test_a_hung_replica_delays_a_read_by_a_second_and_is_left(
    database: Database, standbys: list[RunningStandby]
) -> None:
    with standbys[0].hung(), standbys[1].hung():
        answer, seconds = await run_timed(is_read_from_standby(database))
        await wait_for_replicas(database, 0)
        assert (answer, seconds < 3) == (False, True)
        answer, seconds = await run_timed(is_read_from_standby(database))
        assert (answer, seconds < 1) == (False, True)
    await wait_for_replicas(database, 2)


@pytest.mark.security("T-08")
async def test_a_replica_that_becomes_writable_is_not_read(primary: str, cluster: Cluster, worker_name: str) -> None:
    """A former standby that was promoted no longer receives changes, such as revoked tokens."""
    with cluster.data_dir(f"promoted_{worker_name}") as (_, other_url):
        replicas = open_replicas([other_url], size=1, max_lag=1, settings=SESSION_SETTINGS, is_prepared=True)
        database = open_database(primary, size=1, replicas=replicas)
        watching = asyncio.create_task(database.watch_replicas())
        await asyncio.sleep(1)
        assert not replicas.states()[0].is_used
        watching.cancel()
        await database.close()


def environ(primary_url: str, tmp_path: Path, *standbys: RunningStandby) -> dict[str, str]:
    return {
        "SHOP_DATA_DIR": str(tmp_path),
        "SHOP_DATABASE_URL": primary_url,
        "SHOP_DATABASE_REPLICA_URLS": ", ".join(standby.url for standby in standbys),
        "SHOP_REPLICA_LAG_SECONDS": "60",
        "SHOP_SECRET_KEYS": KEYS,
        "SHOP_MAILBOX": "on",
        "SHOP_METRICS": "public",
        "SHOP_DRAIN_SECONDS": "0",
    }


async def names(machine: Machine, **params: str) -> set[str]:
    response = await machine.get("/products", {"per_page": "100", **params})
    assert response.status == 200, response
    return {record["attributes"]["name"] for record in response.json["data"]}


async def test_an_application_reads_its_own_changes_from_every_worker(
    primary: str, standbys: list[RunningStandby], tmp_path: Path
) -> None:
    """The bound is so high that a replica is used whose replay is paused."""
    service = Service("--workers", "2", **environ(primary, tmp_path, *standbys))
    service.wait_for(is_event("the replica is used"), count=4)
    db = await asyncpg.connect(primary)
    try:
        async with service.client() as http, service.client() as other_http:
            writer, reader = await new_machine(http, db), await new_machine(http, db, "read")
            other_writer = Machine(other_http, {"access_token": writer.access_token, "refresh_token": ""})
            for standby in standbys:
                standby.pause_replay()
            product = await Make(writer).product()
            name = (await writer.get(f"/products/{product.id}"))["name"]

            # Several requests, so that both workers answer.
            for machine in (writer, other_writer) * 5:
                assert name in await names(machine, consistency="eventual", sort="-created_at")
            assert name in await names(reader, sort="-created_at")
            assert name not in await names(reader, consistency="eventual", sort="-created_at")
            assert (await reader.get("/products", {"consistency": "none"})).status == 400
            await assert_public_reads_are_old(http, product.id)
            for standby in standbys:
                standby.resume_replay()
            await until(lambda: has_name(reader, name))
            metrics = (await http.get("/metrics")).text
            assert len(re.findall(r'shop_replica_used\{replica="[^"]+"\} 1.0', metrics)) == 2
    finally:
        await db.close()
        service.stop()


async def assert_public_reads_are_old(http: httpx2.AsyncClient, product_id: str) -> None:
    """A paused replica does not have the product, but a user token or a cart is looked up in the primary."""
    public = await http.get(f"/api/v2/storefront/products/{product_id}")
    cart = (await http.post("/api/v2/storefront/cart")).json()["data"]["attributes"]["token"]
    own_cart = await http.get("/api/v2/storefront/cart", headers={"X-Shop-Order-Token": cart})
    assert (public.status_code, own_cart.status_code) == (404, 200)


async def has_name(reader: Machine, name: str) -> bool:
    return name in await names(reader, consistency="eventual", sort="-created_at")


async def test_doctor_names_replicas_with_their_lag(
    shop: Command, primary: str, standbys: list[RunningStandby], tmp_path: Path
) -> None:
    settings = environ(primary, tmp_path, *standbys)

    healthy = await asyncio.to_thread(lambda: shop("doctor", **settings))
    settings["SHOP_DATABASE_REPLICA_URLS"] = primary
    report = await asyncio.to_thread(lambda: shop("doctor", **settings))

    assert re.search(r"ok    replicas: \S+ lags [0-9.]+ s, \S+ lags [0-9.]+ s", healthy.stdout)
    assert "FAIL  replicas: " in report.stdout
    assert "does not answer as a standby" in report.stdout


async def test_reads_continue_while_replicas_die(primary: str, tmp_path: Path) -> None:
    with standbys_of(primary, 1) as (standby,):
        service = Service(**environ(primary, tmp_path, standby))
        service.wait_for(is_event("the replica is used"))
        statuses: list[int] = []
        is_over = asyncio.Event()

        async def read(http: httpx2.AsyncClient) -> None:
            while not is_over.is_set():
                # Without the cache, because each address is new.
                response: Any = await http.get(f"/api/v2/storefront/products?filter[name]={len(statuses)}")
                statuses.append(response.status_code)

        async with service.client() as http:
            readers = [asyncio.create_task(read(http)) for _ in range(4)]
            await until(lambda: _is_longer(statuses, 20))
            await asyncio.to_thread(standby.kill)
            await asyncio.to_thread(service.wait_for, is_event("the replica is not used: it lags or does not answer"))
            size = len(statuses)
            await until(lambda: _is_longer(statuses, size + 20))
            is_over.set()
            await asyncio.gather(*readers)
        service.stop()

    assert set(statuses) == {200}


async def _is_longer(values: list[int], length: int) -> bool:
    return len(values) > length


async def test_without_a_primary_no_replica_is_read(primary: str, standbys: list[RunningStandby]) -> None:
    """Nobody knows then how much the replicas lag."""
    with proxy_to(primary) as proxy:
        replicas = open_replicas([standbys[0].url], size=1, max_lag=1, settings=SESSION_SETTINGS, is_prepared=True)
        database = open_database(proxy.url(), size=1, replicas=replicas)
        watching = asyncio.create_task(database.watch_replicas())
        await wait_for_replicas(database, 1)
        proxy.refuse()
        await wait_for_replicas(database, 0)
        error, _ = await run_timed(is_read_from_standby(database))
        watching.cancel()
        await database.close()

    assert type(error) is Unavailable
