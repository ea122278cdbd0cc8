"""Crashes: acknowledged carts survive whichever process is killed, and the shop recovers without help."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg
import httpx2
import pytest

from shop.db.embedded import Embedded, database_url
from tests.db.processes import accessible_dir, is_event, kill, postmaster_pid, running_pids, serving, session_pids, stop
from tests.service import Service
from tests.shopper import PREFIX

READY = is_event("worker ready")
DATABASE_RESTARTED = is_event("the embedded database crashed and was restarted")


@pytest.fixture(scope="module")
def data_dir() -> Iterator[Path]:
    """One data directory for all crashes: each test continues with the data of the one before."""
    with accessible_dir() as path:
        (path / "tmp").mkdir()
        yield path / "var"
        # A clean stop at the end frees the shared memory of killed servers.
        server = Embedded(path / "var")
        server.start()
        server.stop()


def serve(data_dir: Path) -> AbstractContextManager[Service]:
    return serving(SHOP_DATA_DIR=str(data_dir), SHOP_DRAIN_SECONDS="0", TMPDIR=str(data_dir.parent / "tmp"))


def shop_pids(service: Service) -> list[int]:
    """The parent, its workers and their children, except the database, which has a separate session."""
    return session_pids(service.process.pid)


class Load:
    """Shoppers who open carts, half of them with an Idempotency-Key, and record the acknowledged ones."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.tokens: dict[UUID, str] = {}
        """The acknowledged carts."""
        self.answers: Counter[tuple[int, str | None]] = Counter()
        """By status and Retry-After."""
        self.unanswered = 0
        self._progress = asyncio.Condition()
        self._shoppers = [asyncio.create_task(self._shop(has_key=number % 2 == 0)) for number in range(8)]

    async def _shop(self, *, has_key: bool) -> None:
        async with self.service.client(timeout=30) as http:
            while True:
                headers = {"Idempotency-Key": str(uuid4())} if has_key else {}
                try:
                    await self._record(await http.post(PREFIX + "/cart", headers=headers))
                except httpx2.TransportError:
                    self.unanswered += 1
                    await asyncio.sleep(0.01)

    async def _record(self, answer: httpx2.Response) -> None:
        if answer.status_code == 201:
            cart = answer.json()["data"]
            self.tokens[UUID(cart["id"])] = cart["attributes"]["token"]
        self.answers[answer.status_code, answer.headers.get("retry-after")] += 1
        async with self._progress:
            self._progress.notify_all()

    async def wait_for_carts(self, count: int, seconds: float = 30) -> None:
        """Returns when `count` more carts are acknowledged."""
        target = len(self.tokens) + count
        async with asyncio.timeout(seconds), self._progress:
            await self._progress.wait_for(lambda: len(self.tokens) >= target)

    async def end(self) -> None:
        for shopper in self._shoppers:
            shopper.cancel()
        endings = await asyncio.gather(*self._shoppers, return_exceptions=True)
        assert {type(ending) for ending in endings} == {asyncio.CancelledError}


@asynccontextmanager
async def load_on(service: Service) -> AsyncIterator[Load]:
    load = Load(service)
    try:
        yield load
    finally:
        await load.end()


async def find_lost_carts(data_dir: Path, tokens: dict[UUID, str]) -> set[UUID]:
    """The acknowledged carts that are not in the running database."""
    connection = await asyncpg.connect(database_url(data_dir))
    order_ids = {row["id"] for row in await connection.fetch("select id from orders")}
    await connection.close()
    return set(tokens) - order_ids


@pytest.mark.security("X-01")
@pytest.mark.parametrize(
    "kills",
    [
        pytest.param([True], id="with the database"),
        pytest.param([False, True], id="alone, then with the database", marks=pytest.mark.torture),
    ],
)
async def test_no_acknowledged_cart_is_lost_when_the_shop_or_its_database_is_killed(
    data_dir: Path, kills: list[bool]
) -> None:
    tokens: dict[UUID, str] = {}
    for with_its_database in kills:
        with serve(data_dir) as service:
            async with load_on(service) as load:
                await load.wait_for_carts(100)
                victims = shop_pids(service) + [postmaster_pid(data_dir)] * with_its_database
                await asyncio.to_thread(kill, *victims)
        tokens |= load.tokens

    with serve(data_dir) as service:
        assert await find_lost_carts(data_dir, tokens) == set()
        async with service.client() as http:
            for cart_id, token in list(tokens.items())[-10:]:
                cart = await http.get(PREFIX + "/cart", headers={"X-Shop-Order-Token": token})
                assert (cart.status_code, cart.json()["data"]["id"]) == (200, str(cart_id))


@pytest.mark.torture
async def test_a_killed_database_is_restarted_and_requests_get_503_until_then(data_dir: Path) -> None:
    with serve(data_dir) as service:
        async with load_on(service) as load:
            await load.wait_for_carts(100)
            await asyncio.to_thread(kill, postmaster_pid(data_dir))
            await asyncio.to_thread(service.wait_for, DATABASE_RESTARTED)
            await load.wait_for_carts(100)

        assert await find_lost_carts(data_dir, load.tokens) == set()
        assert stop(service) == 0

    assert set(load.answers) <= {(201, None), (503, "5")}
    assert load.unanswered == 0
    assert running_pids(data_dir) == []


@pytest.mark.torture
async def test_a_worker_killed_with_its_database_is_replaced(data_dir: Path) -> None:
    with serve(data_dir) as service:
        async with load_on(service) as load:
            await load.wait_for_carts(50)
            await asyncio.to_thread(kill, postmaster_pid(data_dir), *service.worker_pids())
            await asyncio.to_thread(service.wait_for, READY, count=2)
            await load.wait_for_carts(50)

        assert await find_lost_carts(data_dir, load.tokens) == set()
        assert stop(service) == 0

    assert set(load.answers) <= {(201, None), (503, "5")}


@pytest.mark.security("X-01")
@pytest.mark.torture
async def test_no_acknowledged_cart_is_lost_in_ten_rounds_of_random_kills(data_dir: Path) -> None:
    seed = random.randrange(10**6)
    rng = random.Random(seed)
    tokens: dict[UUID, str] = {}

    for _ in range(10):
        with serve(data_dir) as service:
            assert await find_lost_carts(data_dir, tokens) == set(), seed
            async with load_on(service) as load:
                for times in range(rng.randrange(3)):
                    await load.wait_for_carts(rng.randrange(1, 300))
                    await asyncio.to_thread(kill, postmaster_pid(data_dir))
                    await asyncio.to_thread(service.wait_for, DATABASE_RESTARTED, count=times + 1)
                await load.wait_for_carts(rng.randrange(1, 300))
                victims = shop_pids(service) + [postmaster_pid(data_dir)] * rng.randrange(2)
                await asyncio.to_thread(kill, *rng.sample(victims, len(victims)))
            tokens |= load.tokens
            assert set(load.answers) <= {(201, None), (503, "5")}, seed

    with serve(data_dir):
        assert await find_lost_carts(data_dir, tokens) == set(), seed


async def open_one_cart(http: httpx2.AsyncClient, key: str) -> str:
    """Repeats the request with its key until it succeeds; returns the id of the cart."""
    while True:
        try:
            answer = await http.post(PREFIX + "/cart", headers={"Idempotency-Key": key})
        except httpx2.TransportError:
            continue
        if answer.status_code == 201:
            return str(answer.json()["data"]["id"])
        assert answer.status_code in {409, 503}, answer.text
        await asyncio.sleep(0.05)


@pytest.mark.security("X-01", "C-06")
@pytest.mark.torture
async def test_retries_with_idempotency_keys_during_database_kills_create_one_cart_each(
    data_dir: Path,
) -> None:
    with serve(data_dir) as service:
        before = await count_carts(data_dir)
        async with service.client(timeout=30) as http:
            for number in (1, 2, 3):
                keys = [str(uuid4()) for _ in range(50)]
                opening = [asyncio.create_task(open_one_cart(http, key)) for key in keys]
                await asyncio.wait(opening, return_when=asyncio.FIRST_COMPLETED)
                await asyncio.to_thread(kill, postmaster_pid(data_dir))
                await asyncio.to_thread(service.wait_for, DATABASE_RESTARTED, count=number)
                carts = await asyncio.gather(*opening)
                assert [await open_one_cart(http, key) for key in keys] == carts

        assert await count_carts(data_dir) == before + 150


async def count_carts(data_dir: Path) -> int:
    connection = await asyncpg.connect(database_url(data_dir))
    try:
        return int(await connection.fetchval("select count(*) from orders"))
    finally:
        await connection.close()
