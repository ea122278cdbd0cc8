"""Fixtures of the tests of reports."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.admin.dashboard import new_dashboard
from tests.admin.operations.report_shop import ReportShop, empty
from tests.builders import Make
from tests.checkout_builders import new_checkout_setup
from tests.cluster import Cluster
from tests.connections import borrow_connection
from tests.http_client import SharedTransport
from tests.platform.client import new_machine
from tests.service import KEYS, Service


@pytest.fixture(scope="package")
def report_database(cluster: Cluster, worker_name: str) -> Iterator[tuple[Path, str]]:
    with cluster.data_dir(f"reports_{worker_name}") as (data_dir, url):
        yield data_dir, url


@pytest.fixture(scope="package")
def report_service(report_database: tuple[Path, str]) -> Iterator[Service]:
    """A try-out of two processes."""
    data_dir, _ = report_database
    service = Service("--workers", "2", SHOP_DATA_DIR=str(data_dir), SHOP_SECRET_KEYS=KEYS, SHOP_DRAIN_SECONDS="0")
    service.wait_for(lambda line: '"worker ready"' in line, count=2)
    yield service
    service.stop()


@pytest.fixture(scope="package")
def report_setups() -> dict[str, Any]:
    """The setup of the checkout, made by the first test."""
    return {}


@pytest.fixture
async def report_shop(
    report_service: Service,
    report_database: tuple[Path, str],
    report_setups: dict[str, Any],
    shared_connections: dict[str, Any],
    shared_transport: SharedTransport,
) -> AsyncIterator[ReportShop]:
    """A shop without orders and figures, in UTC."""
    async with (
        borrow_connection(shared_connections, report_database[1]) as db,
        report_service.client(transport=shared_transport) as http,
    ):
        if "setup" not in report_setups:
            await db.execute("update shops set currencies = '{USD,EUR}', version = version + 1")
            report_setups["setup"] = await new_checkout_setup(Make(await new_machine(http, db)))
        await empty(db)
        setup = report_setups["setup"]
        setup.make.machine.http = http
        yield ReportShop(report_service, report_database[1], http, db, await new_dashboard(http, db), setup)
