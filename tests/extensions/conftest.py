"""A shop with three extensions: the example, one whose parts fail, and one with a payment provider."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest

from tests.accounts import sign_in
from tests.admin.dashboard import Dashboard, new_dashboard
from tests.builders import Make
from tests.checkout_builders import CheckoutSetup, SignedInBuyer, new_checkout_setup
from tests.cluster import Cluster
from tests.connections import borrow_connection
from tests.extensions.packages import ExtendedService, install_faulty, install_loyalty, install_pay
from tests.http_client import SharedTransport
from tests.platform.client import Machine, new_machine
from tests.service import KEYS

_OR_FAILS = " and failure_count = 0"
_IS_BEHIND = f"""select count(*) from extension_listeners, event_counters
    where extension = $1 and position < last_position{_OR_FAILS}"""
_UNNUMBERED = "select count(*) from events where position is null"


class ExtendedShop(msgspec.Struct, frozen=True):
    """The shop with extensions: its service, and what a test needs to buy something."""

    service: ExtendedService
    url: str
    switch: Path
    """The file that ends the failures of the faulty listener."""
    records: dict[str, Any] = {}
    """The application and the setup of a checkout, made once."""


@contextmanager
def serve_extensions(
    cluster: Cluster, name: str, tmp_path_factory: pytest.TempPathFactory, **environ: str
) -> Iterator[ExtendedShop]:
    """A shop with these extensions, on a database of this name."""
    packages, switch = tmp_path_factory.mktemp("packages"), tmp_path_factory.mktemp("switch") / "on"
    install_loyalty(packages)
    install_faulty(packages)
    install_pay(packages)
    with cluster.data_dir(name) as (data_dir, url):
        service = ExtendedService(
            packages,
            SHOP_DATA_DIR=str(data_dir),
            SHOP_SECRET_KEYS=KEYS,
            SHOP_DRAIN_SECONDS="0",
            SHOP_LIMIT_MAILS="100000/3600",
            SHOP_X_LOYALTY_POINTS_PER_UNIT="2",
            SHOP_X_FAULTY_SWITCH=str(switch),
            SHOP_X_PAY_SWITCH=str(switch),
            **environ,
        )
        yield ExtendedShop(service, url, switch)
        service.stop()


@pytest.fixture(scope="package")
def extended_shop(
    cluster: Cluster, worker_name: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ExtendedShop]:
    with serve_extensions(cluster, f"extended_{worker_name}", tmp_path_factory) as shop:
        yield shop


@pytest.fixture
async def shop_http(
    extended_shop: ExtendedShop, shared_transport: SharedTransport
) -> AsyncIterator[httpx2.AsyncClient]:
    async with extended_shop.service.client(transport=shared_transport) as client:
        yield client


@pytest.fixture
async def shop_db(extended_shop: ExtendedShop, shared_connections: dict[str, Any]) -> AsyncIterator[Any]:
    async with borrow_connection(shared_connections, extended_shop.url) as connection:
        yield connection


@pytest.fixture
async def machine(extended_shop: ExtendedShop, shop_http: httpx2.AsyncClient, shop_db: Any) -> Machine:
    records = extended_shop.records
    if "machine" not in records:
        records["machine"] = await new_machine(shop_http, shop_db, "write")
    tokens = records["machine"]
    return Machine(shop_http, {"access_token": tokens.access_token, "refresh_token": tokens.refresh_token})


@pytest.fixture
async def operator(shop_http: httpx2.AsyncClient, shop_db: Any) -> Dashboard:
    return await new_dashboard(shop_http, shop_db)


@pytest.fixture
async def setup(extended_shop: ExtendedShop, machine: Machine) -> CheckoutSetup:
    records = extended_shop.records
    if "setup" not in records:
        make = Make(machine)
        records["location"] = await make.stock_location()
        records["setup"] = await new_checkout_setup(Make(machine, records["location"]))
    setup: CheckoutSetup = records["setup"]
    return msgspec.structs.replace(setup, make=Make(machine, records["location"]))


@pytest.fixture
async def customer(shop_http: httpx2.AsyncClient, setup: CheckoutSetup) -> SignedInBuyer:
    return SignedInBuyer(shop_http, setup, await sign_in(shop_http))


@pytest.fixture
def wait_for_listeners(shop_db: Any) -> Callable[[str], Awaitable[None]]:
    """Waits until the listeners of an extension have handled all events, or fail at one; `*` before the name waits for
    the end of failures too.
    """

    async def wait(name: str) -> None:
        is_behind = _IS_BEHIND.removesuffix(_OR_FAILS) if name.startswith("*") else _IS_BEHIND
        name = name.removeprefix("*")
        for _ in range(1200):
            if not await shop_db.fetchval(_UNNUMBERED) and not await shop_db.fetchval(is_behind, name):
                return
            await asyncio.sleep(0.05)
        raise AssertionError(f"the listeners of {name} stand still")

    return wait
