"""A shop with a primary and a standby: it finds and uses the writable one."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from shop.db.embedded_account import own_directory
from tests.cluster import Cluster, Server
from tests.db.processes import accessible_dir, fetch_value, until
from tests.db.test_faults import multi_host_url
from tests.service import KEYS, Service
from tests.shopper import PREFIX
from tests.site.test_outages import Outage
from tests.tcp_proxy import proxy_to

CART = f"{PREFIX}/cart"


class Standby(Server):
    """A standby of the server in another data directory."""

    def follow(self, primary_url: str) -> str:
        """Copies the primary and starts; returns the URL of the copy."""
        socket_dir = primary_url.partition("host=")[2].partition("&")[0]
        self._check_reachable()
        own_directory(self._cluster, self._account)
        self._run("pg_basebackup", "-D", str(self._cluster), "-h", socket_dir, "-U", "shop", "-R", "-c", "fast")
        return self.start()

    def promote(self) -> None:
        self._run("pg_ctl", "promote", "-D", str(self._cluster), "-w", "-t", "20")


@contextmanager
def standby_of(primary_url: str) -> Iterator[tuple[Standby, str]]:
    with accessible_dir() as directory:
        standby = Standby(directory)
        yield standby, standby.follow(primary_url)


@pytest.mark.torture
@pytest.mark.security("T-08", "X-11", "X-12", "X-13")
async def test_the_shop_switches_from_a_hung_primary_to_the_promoted_standby(
    cluster: Cluster, worker_name: str, tmp_path: Path
) -> None:
    with (
        cluster.data_dir(f"primary_{worker_name}") as (data_dir, primary_url),
        standby_of(primary_url) as (standby, standby_url),
        proxy_to(primary_url) as first,
        proxy_to(standby_url) as second,
    ):
        service = Service(
            SHOP_DATA_DIR=str(tmp_path),
            SHOP_DATABASE_URL=multi_host_url(first, second),
            SHOP_SECRET_KEYS=KEYS,
            SHOP_MAILBOX="on",
            SHOP_DRAIN_SECONDS="0",
        )
        shop = Outage(service, first, primary_url, data_dir)
        async with shop.client() as http:
            assert (await http.post(CART)).status_code == 201
            with shop.stopped_server():
                start = time.monotonic()
                timed_out = await http.post(CART)
                wait_seconds = time.monotonic() - start
                # The standby responds but is not read: a revoked token may still be valid there.
                unready = await http.get("/readyz")
                standby.promote()
                start = time.monotonic()
                await until(lambda: is_writable(http))
                recovery_seconds = time.monotonic() - start
        service.stop()

        assert (timed_out.status_code, wait_seconds < 6.5, unready.status_code) == (503, True, 503)
        assert recovery_seconds < 10
        # One order from before the failover and one since.
        assert await asyncio.to_thread(fetch_value, standby_url, "select count(*) from orders") == 2


async def is_writable(http: httpx2.AsyncClient) -> bool:
    return (await http.post(CART)).status_code == 201
