"""Fixtures for every test: a served shop, its database, shoppers, builders."""

import asyncio
import gc
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any

import httpx2
import hypothesis
import msgspec
import pytest
import uvloop

from tests import contract, secret_leaks, unlogged_changes
from tests.browser import Browser, chromium
from tests.builders import Make
from tests.checkout_builders import Buyer, CheckoutSetup, new_checkout_setup
from tests.cli.command import Command
from tests.cluster import Cluster, execute, make_run_dir, remove_run_dir
from tests.connections import borrow_connection
from tests.forkserver import start_fork_server
from tests.http_client import SharedTransport
from tests.platform.client import Machine, new_machine
from tests.sampling import leave_out_torture_cases
from tests.scheduling import FileScheduling, find_other_browsers
from tests.service import KEYS, Service
from tests.shopper import Shopper

_RUN_DIR = pytest.StashKey[Path]()
_QUICK = ("tests/base/", "tests/gateways/", "tests/jsonapi/", "tests/rules/")
# The HTTP client tries to import it with every request; this ends the search for a module that is not installed.
sys.modules.setdefault("sniffio", None)  # type: ignore[arg-type]
# The event loop of the shop itself; tests take an eighth less time with it.
asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
# The number of examples of a property test that sends no request; `make torture` uses the second profile.
hypothesis.settings.register_profile("suite", max_examples=40, derandomize=True, deadline=None, database=None)
hypothesis.settings.register_profile("thorough", max_examples=2000, deadline=None, database=None, print_blob=True)
hypothesis.settings.load_profile("suite")


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()
    if config.getoption("markexpr") == "not torture":
        leave_out_torture_cases()
    if hasattr(config, "workerinput"):
        config.stash[_RUN_DIR] = Path(config.workerinput["run_dir"])
        start_fork_server()
        return
    run_dir = config.stash[_RUN_DIR] = make_run_dir()
    config.add_cleanup(lambda: remove_run_dir(run_dir))
    if config.getoption("numprocesses", None) and not config.option.collectonly:
        _start_cluster(config)


def pytest_configure_node(node: Any) -> None:
    """Passes the directory of the shared database server to a process that runs tests."""
    node.workerinput["run_dir"] = str(node.config.stash[_RUN_DIR])


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FileScheduling | None:
    return FileScheduling(config, log) if config.getvalue("dist") == "loadfile" else None


def _start_cluster(config: pytest.Config) -> None:
    """Starts the shared database server while the tests are collected."""
    cluster = Cluster(config.stash[_RUN_DIR])
    thread = Thread(target=cluster.start)
    thread.start()

    def stop() -> None:
        thread.join()
        cluster.stop()

    config.add_cleanup(stop)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Generating the cases of these tests takes longer than the rest of the suite."""
    return True if collection_path.name == "test_edges.py" and config.getoption("markexpr") != "torture" else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuses tests that pytest-xdist would silently leave out: it runs one test for each id. Moves the tests without a
    shop to the end, where they keep all processes busy until the last long file ends.
    """
    repeated = [name for name, count in Counter(item.nodeid for item in items).items() if count > 1]
    if hasattr(config, "workerinput") and repeated:
        raise pytest.UsageError(f"several tests have the id {repeated[0]}; run its file without -n")
    if other_browsers := find_other_browsers(items):
        raise pytest.UsageError(f"add the file of {other_browsers[0]} to tests/scheduling.py: it uses the browser")
    items.sort(key=lambda item: item.nodeid.startswith(_QUICK))


def pytest_collection_finish() -> None:
    """Modules stay loaded to the end; frozen, they do not slow down each garbage collection."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def assert_no_secret_leaked() -> Iterator[None]:
    """Set up first and so torn down last: every shop is stopped, and its log, database and files are searched."""
    yield
    assert not secret_leaks.leaks, "\n".join(["secrets leaked", *secret_leaks.leaks[:20]])


@pytest.fixture(scope="session", autouse=True)
def assert_responses_match_openapi() -> Iterator[None]:
    """Every response that a test receives matches the OpenAPI description."""
    yield
    violations = [f"{violation}\n    {excerpt}" for violation, excerpt in contract.violations.items()]
    assert not violations, "\n".join(["responses differ from /openapi.json", *violations])


@pytest.fixture(scope="session")
def worker_name(worker_id: str) -> str:
    """The name of this process among those that run tests."""
    return worker_id


@pytest.fixture(scope="session")
def cluster(pytestconfig: pytest.Config) -> Iterator[Cluster]:
    cluster = Cluster(pytestconfig.stash[_RUN_DIR])
    cluster.start()
    yield cluster
    cluster.stop()


@pytest.fixture(scope="session")
def database(cluster: Cluster, worker_name: str) -> Iterator[tuple[Path, str]]:
    """The data directory of the shop that `service` serves, and the URL of the embedded database in it."""
    with cluster.data_dir(f"data_{worker_name}") as (data_dir, url):
        execute(url, "update shops set name = 'Tested', currencies = '{USD,EUR,GBP,JPY}'")
        unlogged_changes.watch(url)
        yield data_dir, url
        # In another thread: the event loop of the tests may still run.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(lambda: asyncio.run(secret_leaks.search_database(url))).result()
            changes = thread.submit(lambda: asyncio.run(unlogged_changes.find_unlogged(url))).result()
        assert not changes, "\n".join(["records changed without an event", *changes])


@pytest.fixture(scope="session")
def database_url(database: tuple[Path, str]) -> str:
    """The database of the shop that `service` serves."""
    return database[1]


@pytest.fixture
def own_database(cluster: Cluster, worker_name: str) -> Iterator[Callable[..., str]]:
    """Makes databases that only one test uses."""
    names: list[str] = []

    def make(template: str = "shop_template") -> str:
        names.append(f"own_{worker_name}_{len(names)}")
        return cluster.new_database(names[-1], template)

    yield make
    for name in names:
        cluster.drop_database(name)


@pytest.fixture
def own_data_dir(cluster: Cluster, worker_name: str) -> Iterator[Callable[[], tuple[Path, str]]]:
    """Makes data directories for the try-outs of one test, each with the URL of its embedded database."""
    with ExitStack() as stack:
        numbers = count()
        yield lambda: stack.enter_context(cluster.data_dir(f"own_{worker_name}_{next(numbers)}"))


@pytest.fixture(scope="session")
def service(database: tuple[Path, str]) -> Iterator[Service]:
    """A try-out with four currencies and nothing to sell, served by one worker process."""
    data_dir, _ = database
    service = Service(
        SHOP_DATA_DIR=str(data_dir),
        SHOP_SECRET_KEYS=KEYS,
        SHOP_DRAIN_SECONDS="0",
        SHOP_LOG_LEVEL="info",
        SHOP_CORS_ORIGINS="https://store.example",
        # The suite signs in more new shoppers in an hour than the default allows.
        SHOP_LIMIT_MAILS="100000/3600",
    )
    yield service
    service.stop()
    secret_leaks.search_files(data_dir)


@pytest.fixture(scope="session")
def shop() -> Command:
    return Command()


@pytest.fixture(scope="session")
async def shared_transport() -> AsyncIterator[SharedTransport]:
    """Connections to served shops that stay open from test to test."""
    transport = SharedTransport()
    yield transport
    await transport.close()


@pytest.fixture
async def http(service: Service, shared_transport: SharedTransport) -> AsyncIterator[httpx2.AsyncClient]:
    async with service.client(transport=shared_transport) as client:
        yield client


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    """A real Chromium; open pages with `visit`."""
    async with chromium() as browser:
        yield browser


@pytest.fixture
def guest(http: httpx2.AsyncClient) -> Shopper:
    return Shopper(http)


@pytest.fixture
def another_guest(http: httpx2.AsyncClient) -> Shopper:
    return Shopper(http)


@pytest.fixture(scope="session")
async def shared_connections(cluster: Cluster) -> AsyncIterator[dict[str, Any]]:
    """Database connections by URL, which tests use one after another: to open one takes as long as a small test. They
    are closed before the shared server stops.
    """
    connections: dict[str, Any] = {}
    yield connections
    for connection in connections.values():
        # Its database may be dropped already.
        connection.terminate()


@pytest.fixture
async def db(database_url: str, shared_connections: dict[str, Any]) -> AsyncIterator[Any]:
    """A connection to the database of the served shop."""
    async with borrow_connection(shared_connections, database_url) as connection:
        yield connection


@pytest.fixture(scope="session")
def machines() -> dict[str, Machine]:
    """The applications of `writer` and `reader`, by access level. A test that ends a token makes another one."""
    return {}


@pytest.fixture
async def writer(http: httpx2.AsyncClient, db: Any, machines: dict[str, Machine]) -> Machine:
    """An application that may write."""
    return await _machine_for(machines, http, db, "write")


@pytest.fixture
async def reader(http: httpx2.AsyncClient, db: Any, machines: dict[str, Machine]) -> Machine:
    """An application that may only read."""
    return await _machine_for(machines, http, db, "read")


@pytest.fixture(scope="session")
def common() -> dict[str, Any]:
    """Records that the tests of one shop share: a stock location, and the setup of a checkout."""
    return {}


@pytest.fixture
async def make(writer: Machine, common: dict[str, Any]) -> Make:
    """Builds records. All tests share its stock location: a test that changes one makes another."""
    if "stock_location" not in common:
        common["stock_location"] = await Make(writer).stock_location()
    return Make(writer, common["stock_location"])


@pytest.fixture
async def checkout_setup(make: Make, common: dict[str, Any]) -> CheckoutSetup:
    """Shared by all tests: a test that changes a part of it makes another setup."""
    if "checkout_setup" not in common:
        common["checkout_setup"] = await new_checkout_setup(make)
    shared: CheckoutSetup = common["checkout_setup"]
    return msgspec.structs.replace(shared, make=make)


@pytest.fixture
def buyer(http: httpx2.AsyncClient, checkout_setup: CheckoutSetup) -> Buyer:
    return Buyer(http, checkout_setup)


async def _machine_for(machines: dict[str, Machine], http: httpx2.AsyncClient, db: Any, level: str) -> Machine:
    if level not in machines:
        machines[level] = await new_machine(http, db, level)
    machine = machines[level]
    return Machine(http, {"access_token": machine.access_token, "refresh_token": machine.refresh_token})
