"""Two shops behind HAProxy on a Patroni cluster, and clients that write and read without a pause."""

import asyncio
import subprocess
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from itertools import zip_longest
from urllib.parse import urlsplit

import httpx2
import msgspec
import pytest

from shop.db.hosts import Hosts
from shop.migrations.upgrade import upgrade
from tests.db.processes import kill, session_pids, until
from tests.journeys.networks import Machine
from tests.journeys.patroni import PatroniCluster
from tests.service import KEYS, SHOP, Service
from tests.shopper import PREFIX
from tests.site.test_outages import haproxy

WRITE_SECONDS = 5
"""How long after the choice of a new leader writes may fail."""


class MachineService(Service):
    """A shop on a machine of a network."""

    def __init__(self, machine: Machine, **environ: str) -> None:
        self._machine = machine
        super().__init__("--host", machine.host, **environ)

    def _start(self, command: list[str]) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            self._machine.command([str(SHOP), *command]),
            env=self.environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )


class Shops(msgspec.Struct):
    """Two shops behind HAProxy."""

    patroni: PatroniCluster
    url: str
    services: list[Service]


@contextmanager
def run_shops(
    patroni: PatroniCluster, directories: pytest.TempPathFactory, machines: Sequence[Machine] = ()
) -> Iterator[Shops]:
    """Runs a shop on each of two machines, or both on this one."""
    upgrade(patroni.url)
    environs = [
        {
            "SHOP_DATA_DIR": str(directories.mktemp("data")),
            "SHOP_DATABASE_URL": patroni.url,
            "SHOP_SECRET_KEYS": KEYS,
            "SHOP_MAILBOX": "on",
            "SHOP_DRAIN_SECONDS": "0",
            "SHOP_LIMIT_CARTS_PER_SOURCE": "0",
        }
        for _ in range(2)
    ]
    services: list[Service] = []
    try:
        for environ, machine in zip_longest(environs, machines):
            services.append(MachineService(machine, **environ) if machine else Service(**environ))
        upstreams = [urlsplit(service.url).netloc for service in services]
        with haproxy(*upstreams, directory=directories.mktemp("haproxy"), interval="2s") as url:
            yield Shops(patroni, url, services)
    finally:
        for service in services:
            kill(*session_pids(service.process.pid))
            service.kill()


class Load(msgspec.Struct):
    """What a client writes and reads without a pause."""

    tokens: list[str] = []  # msgspec copies the default.
    write_times: list[float] = []
    refusal_times: list[float] = []
    read_statuses: list[int] = []

    async def wait_for_write(self, after: float) -> float:
        """Returns the seconds from a time to the next acknowledged write."""

        async def has_written() -> bool:
            return bool(self.write_times) and self.write_times[-1] > after

        await until(has_written, 60)
        return next(at for at in self.write_times if at > after) - after

    async def wait_for_refusals(self, after: float, count: int) -> None:
        """Waits until writes that were refused after a time have reached a number."""

        async def are_refused() -> bool:
            return len(self.refusal_times) >= count and self.refusal_times[-count] > after

        await until(are_refused, 60)


@asynccontextmanager
async def under_load(shops: Shops) -> AsyncIterator[Load]:
    load, is_over = Load(), asyncio.Event()

    async def write(http: httpx2.AsyncClient) -> None:
        while not is_over.is_set():
            response = await http.post(f"{PREFIX}/cart")
            if response.status_code == 201:
                load.tokens.append(response.json()["data"]["id"])
                load.write_times.append(time.monotonic())
            else:
                load.refusal_times.append(time.monotonic())

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
