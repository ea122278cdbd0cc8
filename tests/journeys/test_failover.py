"""A shop with a primary and a standby: it uses the one that can be written to, and finds it by itself."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.cluster import Cluster, Server
from tests.db.processes import ask, roomy_dir, until
from tests.db.test_faults import several
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
        self._own_directory(self._cluster)
        self._run("pg_basebackup", "-D", str(self._cluster), "-h", socket_dir, "-U", "shop", "-R", "-c", "fast")
        return self.start()

    def promote(self) -> None:
        self._run("pg_ctl", "promote", "-D", str(self._cluster), "-w", "-t", "20")


@contextmanager
def standby_of(primary_url: str) -> Iterator[tuple[Standby, str]]:
    with roomy_dir() as directory:
        standby = Standby(directory)
        yield standby, standby.follow(primary_url)


@pytest.mark.torture
@pytest.mark.security("T-08", "X-11", "X-12", "X-13")
async def test_a_hung_primary_is_left_for_the_promoted_standby(
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
            SHOP_DATABASE_URL=several(first, second),
            SHOP_SECRET_KEYS=KEYS,
            SHOP_MAILBOX="on",
            SHOP_DRAIN_SECONDS="0",
        )
        shop = Outage(service, first, primary_url, data_dir)
        async with shop.client() as http:
            assert (await http.post(CART)).status_code == 201
            with shop.stopped_server():
                start = time.monotonic()
                hung = await http.post(CART)
                wait_seconds = time.monotonic() - start
                # The standby answers, and is not read: a revoked token may still be valid there.
                unready = await http.get("/readyz")
                standby.promote()
                start = time.monotonic()
                await until(lambda: is_written(http))
                recovery_seconds = time.monotonic() - start
        service.stop()

        assert (hung.status_code, wait_seconds < 6.5, unready.status_code) == (503, True, 503)
        assert recovery_seconds < 10
        # The one from before, and the one since.
        assert await asyncio.to_thread(ask, standby_url, "select count(*) from orders") == 2


async def is_written(http: httpx.AsyncClient) -> bool:
    return (await http.post(CART)).status_code == 201
