"""Health as a proxy sees it, metrics over all workers, and the description of the APIs."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import asyncpg
import httpx
from openapi_spec_validator import validate

from shop.storefront.resources.sales import CART
from shop.storefront.routes import ROUTES
from tests.cluster import with_database
from tests.service import KEYS, Service


async def test_liveness_touches_nothing(http: httpx.AsyncClient, service: Service) -> None:
    response = await http.get("/livez")

    assert (response.status_code, response.json()) == (200, {"status": "alive"})
    assert service.request_line(response.headers["x-request-id"])["statements"] == 0


async def test_a_database_that_is_away_or_behind_makes_the_service_unready_but_alive(
    own_database: Callable[..., str], tmp_path: Any
) -> None:
    url = own_database()
    admin = await asyncpg.connect(url)
    outside = await asyncpg.connect(with_database(url, "postgres"))
    service = Service(
        SHOP_DATA_DIR=str(tmp_path),
        SHOP_DATABASE_URL=url,
        SHOP_SECRET_KEYS=KEYS,
        SHOP_MAILBOX="on",
        SHOP_DRAIN_SECONDS="0",
    )
    try:
        async with httpx.AsyncClient(base_url=service.url, timeout=10) as http:
            assert (await http.get("/readyz")).json() == {"status": "ready"}

            await admin.execute("alter table alembic_version rename to hidden")
            hidden = await http.get("/readyz")
            await admin.execute("alter table hidden rename to alembic_version")
            name = await admin.fetchval("select current_database()")
            await outside.execute(f"alter database {name} with allow_connections false")
            await outside.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1",
                name,
            )
            away, alive, cart = await asyncio.gather(
                http.get("/readyz"), http.get("/livez"), http.post("/api/v2/storefront/cart")
            )
            await outside.execute(f"alter database {name} with allow_connections true")
            back = await http.get("/readyz")
    finally:
        admin.terminate()
        await outside.close()
        service.stop()

    assert hidden.status_code == 503
    assert (away.status_code, alive.status_code, cart.status_code) == (503, 200, 503)
    assert (cart.json()["code"], cart.headers["retry-after"]) == ("temporarily_unavailable", "5")
    assert name not in away.text
    assert back.status_code == 200


def test_metrics_add_up_over_all_workers_and_are_closed_by_default(
    own_database: Callable[..., str], tmp_path: Any
) -> None:
    common = {
        "SHOP_DATABASE_URL": own_database(),
        "SHOP_SECRET_KEYS": KEYS,
        "SHOP_MAILBOX": "on",
        "SHOP_DRAIN_SECONDS": "0",
    }
    service = Service("--workers", "2", SHOP_DATA_DIR=str(tmp_path), SHOP_METRICS="public", **common)
    try:
        service.wait_for(lambda line: '"worker ready"' in line, count=2)
        for _ in range(30):
            # A connection each: the kernel spreads connections over the workers.
            assert httpx.get(f"{service.url}/livez").status_code == 200
        # The worker that did not answer this leaves its numbers a few times a second.
        wanted = 'shop_request_seconds_count{method="GET",route="/livez",status="200"} 30.0'
        deadline = time.monotonic() + 5
        while wanted not in (text := httpx.get(f"{service.url}/metrics").text) and time.monotonic() < deadline:
            pass
    finally:
        service.stop()
    closed = Service(SHOP_DATA_DIR=str(tmp_path), **common)
    try:
        refused = httpx.get(f"{closed.url}/metrics")
    finally:
        closed.stop()

    assert wanted in text
    assert refused.status_code == 404


async def test_the_description_is_valid_and_names_every_route_and_attribute(http: httpx.AsyncClient) -> None:
    description = (await http.get("/openapi.json")).json()

    validate(description)
    assert description["openapi"].startswith("3.1")
    for route in ROUTES:
        assert route.method.lower() in description["paths"][route.path.replace("*}", "}")]
    attributes = description["components"]["schemas"]["cart"]["properties"]["data"]["properties"]["attributes"]
    assert set(attributes["properties"]) == set(CART.kinds())
