"""Fixtures of the dashboard tests."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
import pytest

from tests.admin.dashboard import Dashboard, new_dashboard
from tests.admin.order_builders import buy
from tests.checkout_builders import Buyer
from tests.cluster import Cluster
from tests.connections import borrow_connection
from tests.http_client import SharedTransport
from tests.service import KEYS, Service
from tests.shopper import Answer


@pytest.fixture
async def dashboard(http: httpx2.AsyncClient, db: Any) -> Dashboard:
    """A new operator, signed in just now."""
    return await new_dashboard(http, db)


@pytest.fixture
async def other_dashboard(http: httpx2.AsyncClient, db: Any) -> Dashboard:
    return await new_dashboard(http, db)


@pytest.fixture(scope="module")
def module_orders() -> list[tuple[Answer, str]]:
    """The order of `unchanged_order`, once it is placed."""
    return []


@pytest.fixture
async def unchanged_order(buyer: Buyer, module_orders: list[tuple[Answer, str]]) -> tuple[Answer, str]:
    """A paid order of two teapots and the variant's id, which the tests of a module share: they do not change it."""
    if not module_orders:
        module_orders.append(await buy(buyer, name="Teapot"))
    return module_orders[0]


@pytest.fixture(scope="package")
def empty_url(cluster: Cluster, worker_name: str) -> Iterator[str]:
    yield cluster.new_database(f"admin_{worker_name}")
    cluster.drop_database(f"admin_{worker_name}")


@pytest.fixture(scope="package")
def empty_service(empty_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A shop of two processes behind a trusted proxy, with small limits and tokens of ninety minutes."""
    service = Service(
        "--workers",
        "2",
        SHOP_DATA_DIR=str(tmp_path_factory.mktemp("data")),
        SHOP_DATABASE_URL=empty_url,
        SHOP_SECRET_KEYS=KEYS,
        SHOP_MAILBOX="on",
        SHOP_DRAIN_SECONDS="0",
        SHOP_TRUSTED_PROXIES="127.0.0.1/32",
        SHOP_PLATFORM_TOKEN_TTL="5400",
        SHOP_LIMIT_SIGN_INS="3/86400, 1000/604800",
        SHOP_LIMIT_AUTHENTICATOR_CODES="4/86400",
    )
    service.wait_for(lambda line: '"worker ready"' in line, count=2)
    yield service
    service.stop()


@pytest.fixture
async def empty_db(empty_url: str, shared_connections: dict[str, Any]) -> AsyncIterator[Any]:
    """The database of `empty_service`, without operators and rate counts."""
    async with borrow_connection(shared_connections, empty_url) as connection:
        await connection.execute("delete from operator_links; delete from operators; delete from rate_counts")
        yield connection


@pytest.fixture
async def empty_client(
    empty_service: Service, empty_db: Any, shared_transport: SharedTransport
) -> AsyncIterator[httpx2.AsyncClient]:
    async with empty_service.client(transport=shared_transport) as client:
        yield client
