"""Streamed request and response bodies: complete, or visibly truncated."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import httpx2
import pytest

from tests.cli.command import external
from tests.cluster import Cluster
from tests.db.processes import serving, until
from tests.platform.bulk import new_slug, to_ndjson
from tests.platform.client import PREFIX, Machine, new_machine
from tests.sampling import first
from tests.service import Service

PRODUCTS = f"{PREFIX}/exports/products"
NAMES = "/products?fields[product]=name"
COUNT = 1500
# More than a socket buffers, so that the shop must wait for the reader: about 20 MB.
LARGE = """
insert into products (id, name, slug, description, created_at, updated_at)
select ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'P', 'p-' || lpad(n::text, 6, '0'),
    repeat('long', 3500), now(), now() from generate_series(1, $1) n;
"""
MASTERS = """
insert into variants (id, product_id, is_master, created_at, updated_at)
select gen_random_uuid(), id, true, now(), now() from products
"""


class LargeShop:
    """A shop with so many products that an export exceeds the buffer of a socket."""

    def __init__(self, service: Service, db: Any, machine: Machine) -> None:
        self.service = service
        self.db = db
        self.machine = machine
        self.headers = {"Authorization": f"Bearer {machine.access_token}"}

    async def begin_export(self, request_id: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Starts an export and reads only its status line."""
        address = urlsplit(self.service.url)
        reader, writer = await asyncio.open_connection(address.hostname, address.port, limit=4096)
        head = {"Host": "shop", "X-Request-Id": request_id, **self.headers}
        writer.write(
            f"GET {PRODUCTS} HTTP/1.1\r\n".encode() + b"".join(f"{k}: {v}\r\n".encode() for k, v in head.items())
        )
        writer.write(b"\r\n")
        assert b"200" in await reader.readline()
        return reader, writer

    async def request_line(self, request_id: str) -> dict[str, Any]:
        return await asyncio.to_thread(self.service.request_line, request_id)

    async def count_busy_connections(self) -> int:
        """The number of database connections that are not idle."""
        return int(
            await self.db.fetchval(
                "select count(*) from pg_stat_activity where datname = current_database()"
                " and application_name = 'shop' and state <> 'idle'"
            )
        )


@pytest.fixture(scope="module")
async def large_shop(
    cluster: Cluster, worker_name: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[LargeShop]:
    """One shop for all tests: the first measures its memory, and the last stops it."""
    with cluster.database(f"large_{worker_name}") as url:
        connection = await asyncpg.connect(url)
        await connection.execute(LARGE.replace("$1", str(COUNT)))
        await connection.execute(MASTERS)
        temp = tmp_path_factory.mktemp("large")
        with serving(**external(url, SHOP_DRAIN_SECONDS="0", TMPDIR=str(temp))) as service:
            async with service.client() as http:
                yield LargeShop(service, connection, await new_machine(http, connection))
        await connection.close()


async def test_a_large_export_is_complete_and_takes_little_memory(large_shop: LargeShop) -> None:
    (pid,) = large_shop.service.worker_pids()
    async with large_shop.service.client() as http, http.stream("GET", PRODUCTS, headers=large_shop.headers) as answer:
        # The first chunks load what every export needs.
        chunks = answer.aiter_bytes()
        first_chunks = [await anext(chunks) for _ in range(20)]
        size, lines = sum(map(len, first_chunks)), sum(chunk.count(b"\n") for chunk in first_chunks)
        before = peak = resident(pid)
        async for chunk in chunks:
            size, lines, peak = size + len(chunk), lines + chunk.count(b"\n"), max(peak, resident(pid))

    assert (answer.status_code, lines) == (200, COUNT)
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert "content-length" not in answer.headers
    assert size > 20_000_000
    assert peak - before < 15_000_000


@pytest.mark.torture
async def test_an_export_stops_when_the_client_disconnects(large_shop: LargeShop) -> None:
    for number in range(20):
        _, writer = await large_shop.begin_export(f"gone-{number}")
        writer.close()
        await writer.wait_closed()

    lines = [await large_shop.request_line(f"gone-{number}") for number in range(20)]

    assert {line["status"] for line in lines} == {499}
    assert max(line["statements"] for line in lines) < COUNT / 100 * 9
    await until(lambda: _is_quiet(large_shop))
    assert (await large_shop.machine.get(NAMES)).status == 200


@pytest.mark.torture
async def test_slow_readers_hold_no_database_connection(large_shop: LargeShop) -> None:
    slow = [await large_shop.begin_export(f"slow-{number}") for number in range(20)]

    await until(lambda: _is_quiet(large_shop))
    answers = await asyncio.gather(*(large_shop.machine.get(NAMES) for _ in range(20)))

    assert {answer.status for answer in answers} == {200}
    for _, writer in slow:
        writer.close()


async def _is_quiet(large_shop: LargeShop) -> bool:
    return await large_shop.count_busy_connections() == 0


async def test_an_export_that_fails_midway_is_truncated_and_logged(large_shop: LargeShop) -> None:
    reader, writer = await large_shop.begin_export("broken")
    await until(lambda: _is_quiet(large_shop))
    await large_shop.db.execute("alter table classifications rename to elsewhere")

    rest = await reader.read(-1)

    writer.close()
    assert 0 < rest.count(b'"slug"') < COUNT
    assert not rest.endswith(b"0\r\n\r\n")
    assert (await large_shop.request_line("broken"))["status"] == 503
    # A failure before the first line is an ordinary error.
    response = await large_shop.machine.get("/exports/products")
    await large_shop.db.execute("alter table elsewhere rename to classifications")
    assert (response.status, response.code) == (503, "temporarily_unavailable")


async def test_an_export_in_progress_is_completed_when_the_shop_stops(large_shop: LargeShop) -> None:
    reader, writer = await large_shop.begin_export("stopped")
    await until(lambda: _is_quiet(large_shop))

    large_shop.service.process.send_signal(signal.SIGTERM)
    rest = await reader.read(-1)

    writer.close()
    assert rest.count(b'"slug"') == COUNT
    assert rest.endswith(b"0\r\n\r\n")
    assert await asyncio.to_thread(large_shop.service.process.wait, 30) == 0


def resident(pid: int) -> int:
    """The resident memory of a process in bytes."""
    (line,) = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) * 1024


@pytest.mark.parametrize("resource", ["products", "prices"])
async def test_a_head_request_for_an_export_has_no_body(writer: Machine, resource: str) -> None:
    answer = await writer.ask("HEAD", f"/exports/{resource}")

    assert (answer.status, answer.response.content) == (200, b"")
    assert answer.headers["content-type"] == "application/x-ndjson"


@pytest.mark.parametrize("is_chunked", [True, False])
@pytest.mark.parametrize("end", first(1, [b'{"slug": "', b"", b"\n"]))
async def test_an_interrupted_import_saves_complete_batches_and_is_audited(
    service: Service, writer: Machine, db: Any, is_chunked: bool, end: bytes
) -> None:
    slugs = [new_slug() for _ in range(150)]
    body = to_ndjson({"slug": slug, "name": "Mug"} for slug in slugs) + end
    request_id = f"broken-{slugs[0]}"
    address = urlsplit(service.url)
    reader, sender = await asyncio.open_connection(address.hostname, address.port)
    size = b"Transfer-Encoding: chunked" if is_chunked else b"Content-Length: 9999999"
    chunk = b"%x\r\n%s\r\n" % (len(body), body) if is_chunked else body
    head = f"POST {PREFIX}/imports/products HTTP/1.1\r\nHost: shop\r\nAuthorization: Bearer {writer.access_token}\r\n"
    head += f"X-Request-Id: {request_id}\r\nContent-Type: application/x-ndjson\r\n"

    sender.write(head.encode() + size + b"\r\n\r\n" + chunk)
    await sender.drain()
    await until(lambda: _count_products(db, slugs))
    sender.close()

    line = await asyncio.to_thread(service.request_line, request_id)
    assert line["status"] == 400
    assert await _count_products(db, slugs) == 100
    outcome, detail = await db.fetchrow("select outcome, detail from audit_events where request_id = $1", request_id)
    assert (outcome, json.loads(detail)["created"]) == ("broken off", 100)
    assert await reader.read() == b""


async def _count_products(db: Any, slugs: list[str]) -> int:
    return int(await db.fetchval("select count(*) from products where slug = any($1)", slugs))


async def test_a_client_that_is_still_sending_receives_the_response(http: httpx2.AsyncClient) -> None:
    async def body() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b"x" * 65_536

    answer = await http.post(f"{PREFIX}/imports/products", content=body())

    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")


@pytest.mark.torture
async def test_ndjson_lines_may_be_split_across_chunks(writer: Machine) -> None:
    slugs = [new_slug() for _ in range(3)]
    whole = b"\xef\xbb\xbf" + b"\r\n".join(to_ndjson([{"slug": slug, "name": "Müg"}]).strip() for slug in slugs)

    async def body() -> AsyncIterator[bytes]:
        for start in range(0, len(whole), 7):
            yield whole[start : start + 7]

    answer = await writer.ask(
        "POST", "/imports/products", content=body(), headers={"Content-Type": "application/x-ndjson"}
    )

    assert (answer.json["created"], answer.json["failed"]) == (3, 0)
