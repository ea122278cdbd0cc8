"""Clients that are slow on purpose: the shipped proxy or the shop disconnects them, while others are served."""

import asyncio
import contextlib
import statistics
import time
from urllib.parse import urlsplit

import httpx2
import pytest

from shop.cli.server.serve import IDLE_SECONDS
from shop.web.input.request import BODY_SECONDS
from tests.service import Service
from tests.web.test_nginx import CART, PREFIX, Proxy, proxy, shop

__all__ = ["proxy", "shop"]
pytestmark = pytest.mark.torture
SLOW_CLIENTS = 500
HEAD = f"POST {CART} HTTP/1.1\r\nHost: x\r\n"
BODY_HEAD = HEAD + "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
BUSY = 3
"""Seconds that a busy machine may be late."""


async def seconds_until_closed(port: int, request: str, trickle: bytes = b"", source: str = "127.0.0.1") -> float:
    """Sends the beginning of a request, then `trickle` each second; returns the seconds until the connection ends."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0))
    writer.write(request.encode())
    start = time.monotonic()
    reading = asyncio.create_task(read_to_the_end(reader))
    while not (await asyncio.wait([reading], timeout=1))[0]:
        if trickle and not writer.is_closing():
            with contextlib.suppress(ConnectionError):
                writer.write(trickle)
    writer.close()
    return time.monotonic() - start


async def read_to_the_end(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except ConnectionError:
        return b""


async def latencies(http: httpx2.AsyncClient, count: int) -> list[float]:
    seconds = []
    for _ in range(count):
        start = time.perf_counter()
        assert (await http.post(CART)).status_code == 201
        seconds.append(time.perf_counter() - start)
    return seconds


@pytest.mark.security("H-04")
async def test_clients_that_never_finish_their_headers_are_disconnected_and_delay_no_others(
    proxy: Proxy,
) -> None:
    sources = [f"127.0.1.{number % 10 + 1}" for number in range(SLOW_CLIENTS)]
    async with proxy.http() as http:
        await latencies(http, 20)
        alone = await latencies(http, 100)
        slow = [asyncio.create_task(seconds_until_closed(proxy.port, HEAD, b"X", source)) for source in sources]
        while_slow: list[float] = []
        while not all(task.done() for task in slow):
            while_slow += await latencies(http, 20)

    assert max(await asyncio.gather(*slow)) < 11 + BUSY
    # Twice as slow at most; the rest is what this process itself needs for the slow ones.
    assert statistics.median(while_slow) < 2 * statistics.median(alone) + 0.02


@pytest.mark.security("H-04")
async def test_the_proxy_closes_stalled_bodies_and_idle_connections(proxy: Proxy) -> None:
    body, idle = await asyncio.gather(
        seconds_until_closed(proxy.port, BODY_HEAD),
        seconds_until_closed(proxy.port, HEAD + "Content-Length: 0\r\n\r\n"),
    )

    assert 4 < body < 5 + BUSY
    assert 4 < idle < 5 + BUSY


@pytest.mark.security("H-04")
async def test_without_a_proxy_the_shop_closes_connections_with_stalled_headers_or_bodies(shop: Service) -> None:
    port = urlsplit(shop.url).port or 0
    sign_in = BODY_HEAD.replace(CART, f"{PREFIX}/auth")

    headers, body = await asyncio.gather(
        seconds_until_closed(port, HEAD, b"X"), seconds_until_closed(port, sign_in, b" ")
    )

    assert IDLE_SECONDS - 1 < headers < IDLE_SECONDS + BUSY
    assert BODY_SECONDS - 1 < body < BODY_SECONDS + BUSY
