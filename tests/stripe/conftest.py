"""What the tests of Stripe may ask for: a shop of their own that takes cards through the stand-in."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shop.actions.operations.verify import verify
from shop.db.pool import open_database
from tests import secrets_seen
from tests.builders import Make
from tests.checkout_builders import Till, new_till
from tests.cluster import Cluster, execute
from tests.platform.client import Machine
from tests.service import KEYS, Service
from tests.stripe.stand_in import PUBLISHABLE_KEY, SECRET_KEY, WEBHOOK_SECRET, StandIn, stand_in


def environ(url: str, data: Path, stripe: StandIn) -> dict[str, str]:
    """The settings of a shop that takes cards."""
    return {
        "SHOP_DATA_DIR": str(data),
        "SHOP_DATABASE_URL": url,
        "SHOP_SECRET_KEYS": KEYS,
        "SHOP_MAILBOX": "on",
        "SHOP_DRAIN_SECONDS": "0",
        "SHOP_LOG_LEVEL": "debug",
        "SHOP_METRICS": "public",
        "SHOP_STRIPE_SECRET_KEY": SECRET_KEY,
        "SHOP_STRIPE_WEBHOOK_SECRET": WEBHOOK_SECRET,
        "SHOP_STRIPE_PUBLISHABLE_KEY": PUBLISHABLE_KEY,
        "SHOP_STRIPE_API_BASE": stripe.url,
    }


@pytest.fixture(scope="session")
def standing_in() -> Iterator[StandIn]:
    with stand_in() as stand_in_server:
        yield stand_in_server


@pytest.fixture
def stripe(standing_in: StandIn) -> Iterator[StandIn]:
    yield standing_in
    standing_in.forget_moods()


@pytest.fixture(scope="session")
def database_url(cluster: Cluster, worker_name: str) -> Iterator[str]:
    name = f"stripe_{worker_name}"
    with cluster.database(name) as url:
        execute(url, "update shops set name = 'Tested', currencies = '{USD,EUR,JPY,KWD}'")
        yield url
        with ThreadPoolExecutor(1) as thread:
            thread.submit(lambda: asyncio.run(secrets_seen.search_database(url))).result()


@pytest.fixture(scope="session")
def service(database_url: str, standing_in: StandIn, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    data = tmp_path_factory.mktemp("data")
    service = Service(**environ(database_url, data, standing_in))
    yield service
    service.stop()
    secrets_seen.search_files(data)


@pytest.fixture(scope="session")
def granted() -> dict[str, Machine]:
    return {}


@pytest.fixture(scope="session")
def common() -> dict[str, Any]:
    return {}


@pytest.fixture
async def till(make: Make, common: dict[str, Any]) -> Till:
    """Its card is one of Stripe, and a test's own."""
    method = await make.new("payment_methods", "payment_method", name="Card", type="stripe")
    if "till" not in common:
        common["till"] = await new_till(make, card=method.id, KWD="1.000")
    shared: Till = common["till"]
    return msgspec.structs.replace(shared, make=make, card=method.id)


async def wrong(url: str) -> dict[str, Any]:
    """What `shop verify` finds."""
    shop = open_database(url, size=1)
    try:
        return {name: problems async for name, problems in verify(shop.session()) if problems}
    finally:
        await shop.close()


@pytest.fixture(autouse=True)
async def adds_up(database_url: str, service: Service) -> AsyncIterator[None]:
    """After each test everything does."""
    yield
    assert await wrong(database_url) == {}
