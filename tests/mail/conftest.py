"""Fixtures of a shop with small mail budgets."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import asyncpg
import httpx2
import pytest

from tests.builders import Make
from tests.checkout_builders import CheckoutSetup, new_checkout_setup
from tests.cluster import Cluster
from tests.http_client import SharedTransport
from tests.mail.budget_shop import LIMITS, VARIANT_IDS
from tests.platform.client import new_machine
from tests.service import KEYS, Service


@pytest.fixture(scope="module")
def url(cluster: Cluster, worker_name: str) -> Iterator[str]:
    with cluster.database(f"budget_{worker_name}") as url:
        yield url


@pytest.fixture(scope="module")
def shop_service(url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A shop with small mail budgets behind a trusted proxy."""
    service = Service(
        SHOP_DATA_DIR=str(tmp_path_factory.mktemp("data")),
        SHOP_DATABASE_URL=url,
        SHOP_SECRET_KEYS=KEYS,
        SHOP_MAILBOX="on",
        SHOP_DRAIN_SECONDS="0",
        SHOP_TRUSTED_PROXIES="127.0.0.1/32",
        **LIMITS,
    )
    yield service
    service.stop()


@pytest.fixture
async def outbox(url: str) -> AsyncIterator[Any]:
    """A connection to the database of the shop, without counts and mails."""
    connection = await asyncpg.connect(url)
    await connection.execute("delete from rate_counts; delete from outbox_mails")
    yield connection
    await connection.close()


@pytest.fixture
async def client(
    shop_service: Service, outbox: Any, shared_transport: SharedTransport
) -> AsyncIterator[httpx2.AsyncClient]:
    async with shop_service.client(transport=shared_transport) as client:
        yield client


@pytest.fixture(scope="module")
def checkout_cache() -> dict[str, CheckoutSetup]:
    return {}


@pytest.fixture
async def shop_checkout(
    client: httpx2.AsyncClient, outbox: Any, checkout_cache: dict[str, CheckoutSetup]
) -> CheckoutSetup:
    if "setup" not in checkout_cache:
        checkout_cache["setup"] = checkout_setup = await new_checkout_setup(
            Make(await new_machine(client, outbox, "write")), card="none"
        )
        VARIANT_IDS[:] = [(await checkout_setup.product(on_hand=999)).variant_id]
    # The client of an earlier test is closed.
    checkout_cache["setup"].make.machine.http = client
    return checkout_cache["setup"]
