"""Health as a proxy sees it, and metrics over all workers."""

import asyncio
import time
from collections.abc import Iterator

import asyncpg
import httpx
import pytest

from tests.cluster import Cluster, with_database
from tests.service import KEYS, Service


@pytest.mark.security("X-07")
async def test_liveness_touches_nothing(http: httpx.AsyncClient, service: Service) -> None:
    response = await http.get("/livez")

    assert (response.status_code, response.json()) == (200, {"status": "alive"})
    assert service.request_line(response.headers["x-request-id"])["statements"] == 0


@pytest.fixture(scope="module")
def two_workers_url(cluster: Cluster, worker_name: str) -> Iterator[str]:
    with cluster.database(f"health_{worker_name}") as url:
        yield url


@pytest.fixture(scope="module")
def two_workers(two_workers_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A shop that is served by two processes, on a database that can be taken away."""
    service = Service(
        "--workers",
        "2",
        SHOP_DATA_DIR=str(tmp_path_factory.mktemp("data")),
        SHOP_DATABASE_URL=two_workers_url,
        SHOP_SECRET_KEYS=KEYS,
        SHOP_MAILBOX="on",
        SHOP_DRAIN_SECONDS="0",
        SHOP_METRICS="public",
    )
    service.wait_for(lambda line: '"worker ready"' in line, count=2)
    yield service
    service.stop()


@pytest.mark.security("X-07")
async def test_a_database_that_is_away_or_behind_makes_the_service_unready_but_alive(
    two_workers: Service, two_workers_url: str
) -> None:
    admin = await asyncpg.connect(two_workers_url)
    outside = await asyncpg.connect(with_database(two_workers_url, "postgres"))
    name = await admin.fetchval("select current_database()")
    async with two_workers.client(timeout=10) as http:
        assert (await http.get("/readyz")).json() == {"status": "ready"}

        await admin.execute("alter table alembic_version rename to hidden")
        hidden = await http.get("/readyz")
        await admin.execute("alter table hidden rename to alembic_version")
        newest = await admin.fetchval("select version_num from alembic_version")
        await admin.execute("update alembic_version set version_num = '0001'")
        behind = await http.get("/readyz")
        await admin.execute("update alembic_version set version_num = $1", newest)
        await outside.execute(f"alter database {name} with allow_connections false")
        await outside.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", name)
        away, alive, cart = await asyncio.gather(
            http.get("/readyz"), http.get("/livez"), http.post("/api/v2/storefront/cart")
        )
        await outside.execute(f"alter database {name} with allow_connections true")
        back = await http.get("/readyz")
    admin.terminate()
    await outside.close()

    assert (hidden.status_code, behind.status_code) == (503, 503)
    assert (away.status_code, alive.status_code, cart.status_code) == (503, 200, 503)
    assert (cart.json()["code"], cart.headers["retry-after"]) == ("temporarily_unavailable", "5")
    assert name not in away.text
    assert back.status_code == 200


def test_metrics_add_up_over_all_workers(two_workers: Service) -> None:
    for _ in range(30):
        # A connection each: the kernel spreads connections over the workers.
        assert two_workers.get("/openapi.json").status_code == 200

    # The worker that did not answer this leaves its numbers a few times a second.
    wanted = 'shop_request_seconds_count{method="GET",route="/openapi.json",status="200"} 30.0'
    deadline = time.monotonic() + 5
    while wanted not in (text := two_workers.get("/metrics").text) and time.monotonic() < deadline:
        pass
    assert wanted in text
