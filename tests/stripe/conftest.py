"""Fixtures of the Stripe tests: a separate shop that takes cards through the stand-in."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shop.actions.operations.verify import find_inconsistencies
from shop.db.pool import open_database
from tests import secret_leaks
from tests.builders import Make
from tests.checkout_builders import CheckoutSetup, new_checkout_setup
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
def stripe_server() -> Iterator[StandIn]:
    with stand_in() as stand_in_server:
        yield stand_in_server


@pytest.fixture
def stripe(stripe_server: StandIn) -> Iterator[StandIn]:
    yield stripe_server
    stripe_server.reset()


@pytest.fixture(scope="session")
def database_url(cluster: Cluster, worker_name: str) -> Iterator[str]:
    name = f"stripe_{worker_name}"
    with cluster.database(name) as url:
        execute(url, "update shops set name = 'Tested', currencies = '{USD,EUR,JPY,KWD}'")
        yield url
        with ThreadPoolExecutor(1) as thread:
            thread.submit(lambda: asyncio.run(secret_leaks.search_database(url))).result()


@pytest.fixture(scope="session")
def service(database_url: str, stripe_server: StandIn, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    data = tmp_path_factory.mktemp("data")
    service = Service(**environ(database_url, data, stripe_server))
    yield service
    service.stop()
    secret_leaks.search_files(data)


@pytest.fixture(scope="session")
def machines() -> dict[str, Machine]:
    return {}


@pytest.fixture(scope="session")
def common() -> dict[str, Any]:
    return {}


@pytest.fixture
async def checkout_setup(make: Make, common: dict[str, Any]) -> CheckoutSetup:
    """Each test gets its own Stripe payment method as the card."""
    method = await make.new("payment_methods", "payment_method", name="Card", type="stripe")
    if "checkout_setup" not in common:
        common["checkout_setup"] = await new_checkout_setup(make, card=method.id, KWD="1.000")
    shared: CheckoutSetup = common["checkout_setup"]
    return msgspec.structs.replace(shared, make=make, card=method.id)


async def find_problems(url: str) -> dict[str, Any]:
    """The problems that `shop verify` finds."""
    shop = open_database(url, size=1)
    try:
        return {name: problems async for name, problems in find_inconsistencies(shop.session()) if problems}
    finally:
        await shop.close()


@pytest.fixture(autouse=True)
async def verify_after_test(database_url: str, service: Service) -> AsyncIterator[None]:
    """Checks after each test that `shop verify` finds no problems."""
    yield
    assert await find_problems(database_url) == {}
