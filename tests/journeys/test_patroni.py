"""Two shops behind a proxy on a Patroni cluster: no acknowledged write is lost, and the catalog is always served."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import httpx2
import msgspec
import pytest

from shop.db.hosts import Hosts
from shop.migrations.upgrade import upgrade
from tests.db.processes import until
from tests.journeys.patroni import Node, PatroniCluster, run_patroni
from tests.service import KEYS, Service
from tests.shopper import PREFIX
from tests.site.test_outages import haproxy

pytestmark = pytest.mark.torture
WRITE_SECONDS = 5
"""How long after the choice of a new leader writes may fail."""


class Shops(msgspec.Struct):
    """Two shops behind HAProxy."""

    patroni: PatroniCluster
    url: str
    services: list[Service]


@pytest.fixture(scope="module")
def shops(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shops]:
    with run_patroni() as patroni:
        upgrade(patroni.url)
        services = [
            Service(
                SHOP_DATA_DIR=str(tmp_path_factory.mktemp("data")),
                SHOP_DATABASE_URL=patroni.url,
                SHOP_SECRET_KEYS=KEYS,
                SHOP_MAILBOX="on",
                SHOP_DRAIN_SECONDS="0",
                SHOP_LIMIT_CARTS_PER_SOURCE="0",
            )
            for _ in range(2)
        ]
        upstreams = [urlsplit(service.url).netloc for service in services]
        with haproxy(*upstreams, directory=tmp_path_factory.mktemp("haproxy"), interval="2s") as url:
            yield Shops(patroni, url, services)
        for service in services:
            service.kill()


class Load(msgspec.Struct):
    """What a client writes and reads without a pause."""

    tokens: list[str] = []  # msgspec copies the default.
    write_times: list[float] = []
    read_statuses: list[int] = []

    async def wait_for_write(self, after: float) -> float:
        """Returns the seconds from a time to the next acknowledged write."""

        async def has_written() -> bool:
            return bool(self.write_times) and self.write_times[-1] > after

        await until(has_written, 60)
        return next(at for at in self.write_times if at > after) - after


@asynccontextmanager
async def under_load(shops: Shops) -> AsyncIterator[Load]:
    load, is_over = Load(), asyncio.Event()

    async def write(http: httpx2.AsyncClient) -> None:
        while not is_over.is_set():
            response = await http.post(f"{PREFIX}/cart")
            if response.status_code == 201:
                load.tokens.append(response.json()["data"]["id"])
                load.write_times.append(time.monotonic())

    async def read(http: httpx2.AsyncClient) -> None:
        while not is_over.is_set():
            load.read_statuses.append((await http.get(f"{PREFIX}/products")).status_code)
            await asyncio.sleep(0.02)

    async with httpx2.AsyncClient(base_url=shops.url, timeout=30) as http:

        async def is_served() -> bool:
            # The proxy takes turns, so both shops have the catalog in memory.
            return {(await http.get(f"{PREFIX}/products")).status_code for _ in range(10)} == {200}

        await until(is_served, 60)
        tasks = [asyncio.create_task(each(http)) for each in (write, write, read)]
        await load.wait_for_write(0)
        try:
            yield load
        finally:
            is_over.set()
            await asyncio.gather(*tasks)


async def assert_nothing_lost(shops: Shops, load: Load) -> None:
    connection = await Hosts(shops.patroni.url).connect()
    try:
        rows = await connection.fetch("select id::text from orders where id = any($1::uuid[])", load.tokens)
    finally:
        await connection.close()
    lost_count = len(set(load.tokens) - {row["id"] for row in rows})
    assert lost_count == 0
    failure_count = sum(status != 200 for status in load.read_statuses)
    assert failure_count == 0


def report(fault: str, seconds: float, recovery: float) -> None:
    print(f"{fault}: a new leader after {seconds:.1f} s, writes {recovery:.1f} s later")


async def fail_over(shops: Shops, fault: str) -> Node:
    """Ends the leader in one way, and asserts that the shop goes on with the next one."""
    leader = await asyncio.to_thread(shops.patroni.wait_for_leader)
    await asyncio.to_thread(shops.patroni.wait_for_standbys)
    async with under_load(shops) as load:
        start = time.monotonic()
        match fault:
            case "switch-over":
                await asyncio.to_thread(shops.patroni.switch_over, leader)
            case "killed leader":
                leader.kill()
            case "hung leader":
                leader.send(signal.SIGSTOP)
        await asyncio.to_thread(shops.patroni.wait_for_leader, except_for=leader)
        elected = time.monotonic()
        recovery = await load.wait_for_write(elected)
    report(fault, elected - start, recovery)
    await assert_nothing_lost(shops, load)
    assert recovery < WRITE_SECONDS
    return leader


@pytest.mark.security("T-08", "X-11", "X-12", "X-13")
async def test_a_planned_switch_over_loses_nothing(shops: Shops) -> None:
    await fail_over(shops, "switch-over")
    await asyncio.to_thread(shops.patroni.wait_for_standbys)


@pytest.mark.security("T-08", "X-11", "X-12", "X-13")
async def test_a_killed_leader_loses_nothing(shops: Shops) -> None:
    leader = await fail_over(shops, "killed leader")
    leader.start()
    await asyncio.to_thread(shops.patroni.wait_for_standbys)


@pytest.mark.security("T-08", "X-11", "X-12", "X-13")
async def test_a_hung_leader_loses_nothing(shops: Shops) -> None:
    leader = await fail_over(shops, "hung leader")
    leader.send(signal.SIGCONT)

    async def has_stepped_down() -> bool:
        return await asyncio.to_thread(leader.role) not in ("master", "primary")

    # The next test shows that nothing is written to it any more.
    await until(has_stepped_down)


async def test_a_killed_shop_fails_no_read(shops: Shops) -> None:
    async with under_load(shops) as load:
        shops.services[0].kill()
        await load.wait_for_write(time.monotonic() + 1)
    await assert_nothing_lost(shops, load)


def test_the_shop_has_not_been_restarted(shops: Shops) -> None:
    """After all failovers, the other shop still has its first worker."""
    assert len(shops.services[1].worker_pids()) == 1
