"""Responses while the database is away, hangs or is read-only."""

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import httpx2
import msgspec
import psutil
import pytest

from shop.base.caches.response_cache import CachedResponse, ResponseCache
from shop.base.crypto.secrets import USER_ACCESS, new_bytes, secret_text
from tests.builders import Make
from tests.cluster import Cluster
from tests.db.processes import postmaster_pid, until
from tests.db.test_faults import change_setting
from tests.platform.client import new_machine
from tests.programs import find_program
from tests.service import KEYS, Service
from tests.shopper import PREFIX
from tests.tcp_proxy import TcpProxy, proxy_to
from tests.web.test_nginx import free_port, wait_for_listener

EXAMPLE = Path(__file__).parents[2] / "docs" / "haproxy.cfg"
CATALOG = f"{PREFIX}/products"
BESTSELLERS = f"{CATALOG}?sort_by=best-selling"
CART = f"{PREFIX}/cart"


class Outage(msgspec.Struct, frozen=True):
    """A shop with a separate database, behind a TCP proxy that can break the connection."""

    service: Service
    path: TcpProxy
    url: str
    data_dir: Path

    def client(self) -> httpx2.AsyncClient:
        return self.service.client()

    @contextmanager
    def stopped_server(self) -> Iterator[None]:
        """Pauses every process of the database server."""
        postmaster = psutil.Process(postmaster_pid(self.data_dir))
        processes = [postmaster.pid, *(child.pid for child in postmaster.children(recursive=True))]
        for pid in processes:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in processes:
                os.kill(pid, signal.SIGCONT)


@pytest.fixture(scope="module")
def outage(cluster: Cluster, worker_name: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outage]:
    with cluster.data_dir(f"outage_{worker_name}") as (data_dir, url), proxy_to(url) as path:
        service = Service(
            SHOP_DATA_DIR=str(tmp_path_factory.mktemp("data")),
            SHOP_DATABASE_URL=path.url(),
            SHOP_DATABASE_POOL="3",
            SHOP_SECRET_KEYS=KEYS,
            SHOP_MAILBOX="on",
            SHOP_DRAIN_SECONDS="0",
        )
        yield Outage(service, path, url, data_dir)
        path.accept()
        service.stop()


async def time_response(request: Awaitable[httpx2.Response]) -> tuple[httpx2.Response, float]:
    start = time.monotonic()
    return await request, time.monotonic() - start


async def wait_until_ready(http: httpx2.AsyncClient) -> None:
    async def is_ready() -> bool:
        return (await http.get("/readyz")).status_code == 200

    await until(is_ready)


def assert_unavailable(*responses: httpx2.Response) -> None:
    for response in responses:
        assert (response.status_code, response.headers["retry-after"]) == (503, "5"), response.text


@pytest.mark.security("X-05", "X-07", "X-17")
async def test_the_catalog_is_served_from_memory_while_the_database_is_unreachable(outage: Outage) -> None:
    bearer = {"Authorization": f"Bearer {secret_text(USER_ACCESS, new_bytes())}"}
    async with outage.client() as http:
        before, bestsellers = await http.get(CATALOG), await http.get(BESTSELLERS)

        outage.path.refuse()
        page, seconds = await time_response(http.get(CATALOG))
        same = await http.get(CATALOG, headers={"If-None-Match": before.headers["etag"]})
        bestsellers_after = await http.get(BESTSELLERS)
        other_page, with_bearer = await http.get(f"{CATALOG}?page=7"), await http.get(CATALOG, headers=bearer)
        cart, ready, live = await http.post(CART), await http.get("/readyz"), await http.get("/livez")
        readable = await http.get("/readyz?for=reads")
        outage.path.accept()
        await wait_until_ready(http)
        after = await http.get(CATALOG)

    assert (page.status_code, page.content, bestsellers_after.content) == (200, before.content, bestsellers.content)
    assert int(page.headers["age"]) < 60
    assert page.headers["cache-control"] == "public, no-cache"
    assert (same.status_code, "age" in same.headers) == (304, True)
    assert_unavailable(other_page, with_bearer, cart)
    assert (ready.status_code, live.status_code, readable.status_code) == (503, 200, 200)
    assert "age" not in {*before.headers, *after.headers}
    assert seconds < 2


@pytest.mark.security("X-05", "X-17")
async def test_products_are_served_from_memory_unless_they_are_known_to_be_gone(outage: Outage) -> None:
    shop_db = await asyncpg.connect(outage.url)
    async with outage.client() as http:
        make = Make(await new_machine(http, shop_db))
        paths = [f"{CATALOG}/{(await make.product()).slug}" for _ in range(2)]
        before = [await http.get(path) for path in paths]
        await shop_db.execute("update products set deleted_at = now() where slug = $1", paths[1].rpartition("/")[2])
        gone = await http.get(paths[1])
        await shop_db.close()

        outage.path.refuse()
        kept, gone_later = [await http.get(path) for path in paths]
        outage.path.accept()
        await wait_until_ready(http)

    assert [answer.status_code for answer in (*before, gone)] == [200, 200, 404]
    assert (kept.status_code, kept.content, "age" in kept.headers) == (200, before[0].content, True)
    assert_unavailable(gone_later)


@pytest.mark.security("X-07", "X-13", "X-17")
async def test_a_read_only_database_makes_the_service_unready_for_writes(outage: Outage) -> None:
    async with outage.client() as http:
        await http.get(CATALOG)
        await change_setting(outage.url, "default_transaction_read_only", "on")
        try:
            ready, readable = await http.get("/readyz"), await http.get("/readyz?for=reads")
            cart, page = await http.post(CART), await http.get(CATALOG)
            unknown_use = await http.get("/readyz?for=fun")
        finally:
            await change_setting(outage.url, "default_transaction_read_only", "off")
        await wait_until_ready(http)

    assert (ready.status_code, readable.status_code, unknown_use.status_code) == (503, 200, 400)
    assert_unavailable(cart)
    # From memory: a standby is never read.
    assert (page.status_code, "age" in page.headers) == (200, True)


@pytest.mark.security("X-17")
def test_a_stale_response_is_not_served_beyond_its_maximum_age() -> None:
    answers = ResponseCache()
    answers.save("page", CachedResponse(1, b"body", b"tag"))
    answers.find("page", 1)

    assert (answers.find_stale("page", 60), answers.has_stale(60)) == ((answers.find("page", 1), 0), True)
    assert (answers.find_stale("page", 0), answers.has_stale(0)) == (None, False)
    assert answers.find_stale("other", 60) is None


@contextmanager
def haproxy(upstream: str, other_upstream: str = "", *, directory: Path, interval: str = "100ms") -> Iterator[str]:
    """HAProxy with the shipped example, in front of two shops or of one and a missing one. The interval of its health
    checks is also their time limit.
    """
    listening = free_port()
    text = EXAMPLE.read_text()
    for original, here in {
        "bind :80": f"bind 127.0.0.1:{listening}",
        "127.0.0.1:8000": upstream,
        "127.0.0.1:8001": other_upstream or f"127.0.0.1:{free_port()}",
        "inter 2s": f"inter {interval}",
    }.items():
        assert original in text
        text = text.replace(original, here)
    file = directory / "haproxy.cfg"
    file.write_text(text)
    process = subprocess.Popen([find_program("haproxy"), "-db", "-f", str(file)], stderr=subprocess.PIPE, text=True)
    try:
        wait_for_listener(process, listening)
        yield f"http://127.0.0.1:{listening}"
    finally:
        process.terminate()
        process.communicate(timeout=20)


@pytest.mark.security("X-05", "X-17")
async def test_haproxy_routes_reads_to_shops_that_serve_the_catalog_from_memory(outage: Outage, tmp_path: Path) -> None:
    bearer = {"Authorization": f"Bearer {secret_text(USER_ACCESS, new_bytes())}"}
    with haproxy(urlsplit(outage.service.url).netloc, directory=tmp_path) as url:
        async with httpx2.AsyncClient(base_url=url, timeout=20) as http:

            async def status(method: str, path: str, **options: Any) -> int:
                return (await http.request(method, path, **options)).status_code

            async def is_served() -> bool:
                return (await status("GET", CATALOG), await status("POST", CART)) == (200, 201)

            async def is_read() -> bool:
                return await status("GET", CATALOG) == 200

            async def has_no_writer() -> bool:
                # The proxy responds by itself: it has no shop left for writes.
                return "retry-after" not in (await http.post(CART)).headers

            await until(is_served)
            outage.path.refuse()
            await until(has_no_writer)
            # The proxy may check the shop for reads a moment later.
            await until(is_read)
            page = await http.get(CATALOG)
            others = [await status("GET", CATALOG, headers=bearer), await status("GET", "/metrics")]
            outage.path.accept()
            await until(is_served)

    assert (page.status_code, "age" in page.headers, others) == (200, True, [503, 404])


async def test_haproxy_gives_a_write_to_another_shop_if_one_cannot_be_reached(outage: Outage, tmp_path: Path) -> None:
    # The first check of the missing shop comes later than these requests.
    with haproxy(urlsplit(outage.service.url).netloc, directory=tmp_path, interval="60s") as url:
        async with httpx2.AsyncClient(base_url=url, timeout=20) as http:
            statuses = [(await http.post(CART)).status_code for _ in range(4)]

    assert statuses == [201] * 4


@pytest.mark.torture
@pytest.mark.security("X-03", "X-07", "X-11", "H-05")
@pytest.mark.parametrize("fault", ["server", "path"])
async def test_every_request_gets_a_response_within_six_seconds_while_the_database_hangs(
    outage: Outage, fault: str
) -> None:
    async with outage.client() as http:
        await wait_until_ready(http)
        await http.get(CATALOG)

        async def send_requests() -> list[tuple[httpx2.Response, float]]:
            calls = [http.post(CART) for _ in range(20)] + [http.get(CATALOG), http.get("/readyz")]
            return await asyncio.gather(*map(time_response, calls))

        async def ask_in_rounds() -> list[list[tuple[httpx2.Response, float]]]:
            return [await send_requests() for _ in range(3)]

        if fault == "server":
            with outage.stopped_server():
                rounds = await ask_in_rounds()
        else:
            outage.path.hang()
            rounds = await ask_in_rounds()
            outage.path.refuse()
            outage.path.accept()
        start = time.monotonic()
        await wait_until_ready(http)
        recovery_seconds = time.monotonic() - start
        cart = await http.post(CART)

    for answers in rounds:
        assert max(seconds for _, seconds in answers) < 6.0
        *carts, page, ready = [response for response, _ in answers]
        assert_unavailable(*carts, ready)
        assert (page.status_code, "age" in page.headers) == (200, True)
    # Once the database is known to be away, no request waits long.
    assert max(seconds for _, seconds in rounds[-1]) < 3
    assert rounds[-1][-2][1] < 1
    assert (cart.status_code, recovery_seconds < 10) == (201, True)


@pytest.mark.torture
@pytest.mark.security("X-03", "X-07", "X-11", "X-13")
async def test_without_the_synchronous_standby_writes_fail_in_time_and_reads_succeed(outage: Outage) -> None:
    async with outage.client() as http:
        await wait_until_ready(http)
        await http.get(CATALOG)
        await change_setting(outage.url, "synchronous_standby_names", "nobody")
        try:
            carts = [asyncio.create_task(time_response(http.post(CART))) for _ in range(6)]
            await asyncio.sleep(1)
            page, wait_seconds = await time_response(http.get(CATALOG))
            outcomes = await asyncio.gather(*carts)
            ready, readable = await http.get("/readyz"), await http.get("/readyz?for=reads")
        finally:
            await change_setting(outage.url, "synchronous_standby_names", "")
        await wait_until_ready(http)
        cart = await http.post(CART)

    assert_unavailable(*(response for response, _ in outcomes))
    assert max(seconds for _, seconds in outcomes) < 6.0
    assert (page.status_code, wait_seconds < 1.5) == (200, True)
    assert (ready.status_code, readable.status_code, cart.status_code) == (503, 200, 201)
