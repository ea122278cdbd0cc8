"""What every test may ask for: a served shop, shoppers, the database behind it, builders."""

import asyncio
import gc
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import hypothesis
import msgspec
import pytest
import uvloop

from tests import contract, secrets_seen
from tests.browser import Browser, chromium
from tests.builders import Make
from tests.checkout_builders import Buyer, Till, new_till
from tests.cli.command import Command
from tests.cluster import Cluster, execute, make_run_dir, remove_run_dir
from tests.connections import as_new
from tests.http_client import Kept
from tests.platform.client import Machine, new_machine
from tests.sampling import leave_out_the_rest
from tests.service import KEYS, Service
from tests.shopper import Shopper
from tests.warm import warm

pytest_plugins = ["tests.forks"]
_RUN_DIR = pytest.StashKey[Path]()
_STARTING = pytest.StashKey[Thread]()
# Asked for by the client at every request; that it is not there is otherwise found out anew each time.
sys.modules.setdefault("sniffio", None)  # type: ignore[arg-type]
# What runs the shop runs its tests: it takes an eighth off their time.
asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
# How much is thought out where nothing is asked of a shop; `make torture` takes the second.
hypothesis.settings.register_profile("suite", max_examples=40, derandomize=True, deadline=None, database=None)
hypothesis.settings.register_profile("thorough", max_examples=2000, deadline=None, database=None, print_blob=True)
hypothesis.settings.load_profile("suite")


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()
    if config.getoption("markexpr") == "not torture":
        leave_out_the_rest()
    run_dir = config.stash[_RUN_DIR] = make_run_dir()
    config.add_cleanup(lambda: remove_run_dir(run_dir))
    if config.getoption("forks") and not config.option.collectonly:
        config.stash[_STARTING] = _start_early(config)


def _start_early(config: pytest.Config) -> Thread:
    """While the tests are gathered the server is made that they would wait for, and what shops are forked off."""
    warm()
    cluster = Cluster(config.stash[_RUN_DIR])
    starting = Thread(target=cluster.start)
    starting.start()

    def end() -> None:
        starting.join()
        cluster.stop()

    config.add_cleanup(end)
    return starting


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """To think out what they try takes longer than the rest of the suite."""
    return True if collection_path.name == "test_edges.py" and config.getoption("markexpr") != "torture" else None


def pytest_collection_finish(session: pytest.Session) -> None:
    """What was loaded stays to the end, and need not be looked at by every collection of garbage."""
    gc.collect()
    gc.freeze()
    gc.enable()
    if starting := session.config.stash.get(_STARTING, None):
        # A process with threads is not one to be copied.
        starting.join()


@pytest.fixture(scope="session", autouse=True)
def nothing_leaked() -> Iterator[None]:
    """Set up before all else, so that at its end every shop has ended, and its log and what it kept were searched."""
    yield
    assert not secrets_seen.leaks, "\n".join(["secrets stand where none may", *secrets_seen.leaks[:20]])


@pytest.fixture(scope="session", autouse=True)
def responses_are_described() -> Iterator[None]:
    """Every response that a test received is one that the OpenAPI description allows."""
    yield
    found = [f"{what}\n    {excerpt}" for what, excerpt in contract.violations.items()]
    assert not found, "\n".join(["responses differ from /openapi.json", *found])


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
        yield data_dir, url
        # A thread of its own: the loop of the tests may still run.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(lambda: asyncio.run(secrets_seen.search_database(url))).result()


@pytest.fixture(scope="session")
def database_url(database: tuple[Path, str]) -> str:
    """The database of the shop that `service` serves."""
    return database[1]


@pytest.fixture
def own_database(cluster: Cluster, worker_name: str) -> Iterator[Callable[..., str]]:
    """Databases that a test may spoil."""
    names: list[str] = []

    def make(template: str = "shop_template") -> str:
        names.append(f"own_{worker_name}_{len(names)}")
        return cluster.new_database(names[-1], template)

    yield make
    for name in names:
        cluster.drop_database(name)


@pytest.fixture
def own_data_dir(cluster: Cluster, worker_name: str) -> Iterator[Callable[[], tuple[Path, str]]]:
    """Data directories for try-outs of a test's own, each with the URL of its embedded database."""
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
        # The suite signs in more new shoppers in an hour than a shop would want to.
        SHOP_LIMIT_MAILS="100000/3600",
    )
    yield service
    service.stop()
    secrets_seen.search_files(data_dir)


@pytest.fixture(scope="session")
def shop() -> Command:
    return Command()


@pytest.fixture(scope="session")
async def kept_lines() -> AsyncIterator[Kept]:
    """Connections to served shops that stay open from test to test."""
    kept = Kept()
    yield kept
    await kept.close()


@pytest.fixture
async def http(service: Service, kept_lines: Kept) -> AsyncIterator[httpx.AsyncClient]:
    async with service.client(transport=kept_lines) as client:
        yield client


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    """A real Chromium; open pages with `visit`."""
    async with chromium() as started:
        yield started


@pytest.fixture
def guest(http: httpx.AsyncClient) -> Shopper:
    return Shopper(http)


@pytest.fixture
def another_guest(http: httpx.AsyncClient) -> Shopper:
    return Shopper(http)


@pytest.fixture(scope="session")
async def kept_connections(cluster: Cluster) -> AsyncIterator[dict[str, Any]]:
    """Connections that tests use one after another, by their address: one costs as much as a small test. They end
    before the databases do, which are dropped while some may still be open.
    """
    kept: dict[str, Any] = {}
    yield kept
    for connection in kept.values():
        # Its database may be gone already.
        connection.terminate()


@pytest.fixture
async def db(database_url: str, kept_connections: dict[str, Any]) -> AsyncIterator[Any]:
    """A connection to the served shop's database, as new."""
    async with as_new(kept_connections, database_url) as connection:
        yield connection


@pytest.fixture(scope="session")
def granted() -> dict[str, Machine]:
    """The machines of `writer` and `reader`, let in once: a test that ends a token has a machine of its own."""
    return {}


@pytest.fixture
async def writer(http: httpx.AsyncClient, db: Any, granted: dict[str, Machine]) -> Machine:
    """A machine that writes."""
    return await _known(granted, http, db, "write")


@pytest.fixture
async def reader(http: httpx.AsyncClient, db: Any, granted: dict[str, Machine]) -> Machine:
    """A machine that only reads."""
    return await _known(granted, http, db, "read")


@pytest.fixture(scope="session")
def common() -> dict[str, Any]:
    """What the tests of one shop make once: where goods lie, and how they are sent and paid."""
    return {}


@pytest.fixture
async def make(writer: Machine, common: dict[str, Any]) -> Make:
    """What it stores lies where other tests have theirs: whoever changes that place has one of their own."""
    if "place" not in common:
        common["place"] = await Make(writer).place()
    return Make(writer, common["place"])


@pytest.fixture
async def till(make: Make, common: dict[str, Any]) -> Till:
    """The same for all: whoever changes anything of it has one of their own."""
    if "till" not in common:
        common["till"] = await new_till(make)
    shared: Till = common["till"]
    return msgspec.structs.replace(shared, make=make)


@pytest.fixture
def buyer(http: httpx.AsyncClient, till: Till) -> Buyer:
    return Buyer(http, till)


async def _known(granted: dict[str, Machine], http: httpx.AsyncClient, db: Any, level: str) -> Machine:
    if level not in granted:
        granted[level] = await new_machine(http, db, level)
    kept = granted[level]
    return Machine(http, {"access_token": kept.access_token, "refresh_token": kept.refresh_token})
