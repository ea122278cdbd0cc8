"""Overload: the shop refuses requests in time, with Retry-After, and recovers."""

import asyncio
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import httpx2
import psutil
import pytest

from shop.base.crypto.passwords import hash_password
from shop.base.crypto.secrets import CLIENT_SECRET, new_secret
from tests.db.processes import serving
from tests.platform.client import TOKEN, App, Machine, ask_for_token, new_app
from tests.service import KEYS, Service

CART = "/api/v2/storefront/cart"
CONNECTIONS = 2
SLOW = """
create function be_slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.1); return new; end $$;
create trigger be_slow before insert on orders for each row execute function be_slow();
"""


def settings(url: str, data_dir: Path, **more: str) -> dict[str, str]:
    return {
        "SHOP_DATA_DIR": str(data_dir),
        "SHOP_DATABASE_URL": url,
        "SHOP_SECRET_KEYS": KEYS,
        "SHOP_MAILBOX": "on",
        "SHOP_DRAIN_SECONDS": "0",
        **more,
    }


@pytest.mark.security("H-05")
@pytest.mark.torture
async def test_excess_load_is_refused_in_time_and_the_shop_recovers(
    own_database: Callable[..., str], tmp_path: Path
) -> None:
    """A cart takes 0.1 s here, so two connections make 20 a second; 200 come at once."""
    url = own_database()
    db = await asyncpg.connect(url)
    await db.execute(SLOW)
    with serving(**settings(url, tmp_path, SHOP_DATABASE_POOL=str(CONNECTIONS))) as service:
        async with service.client(timeout=30) as http:
            start = time.monotonic()
            responses = await asyncio.gather(*(open_cart(service) for _ in range(200)))
            duration = time.monotonic() - start
            alive = await http.get("/livez")
            again = await http.post(CART)
            recovery = time.monotonic() - start - duration

    assert {response.status_code for response in responses} == {201, 503}
    rejections = [response for response in responses if response.status_code == 503]
    assert {response.headers["retry-after"] for response in rejections} == {"5"}
    assert {response.json()["code"] for response in rejections} == {"temporarily_unavailable"}
    assert (alive.status_code, again.status_code, recovery < 10) == (200, 201, True)
    assert duration < 10
    # No worker crashed and was replaced.
    assert len(service.worker_pids()) == 1
    assert await db.fetchval("select count(*) from orders") == 200 - len(rejections) + 1
    await db.close()


async def open_cart(service: Service) -> httpx2.Response:
    async with service.client(timeout=30) as http:
        return await http.post(CART)


@pytest.mark.security("P-05")
async def test_a_wrong_client_secret_costs_no_password_hash(
    http: httpx2.AsyncClient, service: Service, db: Any
) -> None:
    app = await new_app(db)
    wrong = App(app.id, app.client_id, new_secret(CLIENT_SECRET))
    worker = psutil.Process(service.worker_pids()[-1])
    await ask_for_token(http, wrong, "admin")

    before = worker.cpu_times()
    for _ in range(100):
        assert (await ask_for_token(http, wrong, "admin")).status == 401
    after = worker.cpu_times()

    # The whole request, of which comparing digests is the least, takes a fraction of the time of a password hash.
    start = time.process_time()
    hash_password("any password")
    assert (after.user + after.system - before.user - before.system) / 100 < (time.process_time() - start) / 5


@pytest.mark.security("P-05")
@pytest.mark.torture
async def test_a_flood_of_wrong_client_secrets_does_not_slow_valid_clients_down(
    own_database: Callable[..., str], tmp_path: Path
) -> None:
    url = own_database()
    db = await asyncpg.connect(url)
    app = await new_app(db)
    await db.close()
    with serving(**settings(url, tmp_path, SHOP_LIMIT_LOOPBACK="1")) as service:
        async with service.client() as http:
            machine = Machine(http, (await ask_for_token(http, app, "admin")).json)
            alone = await read_orders(machine)
            flood = [asyncio.create_task(send_wrong_secrets(service, app, 500)) for _ in range(4)]
            during_flood = await read_orders(machine)
            statuses = [status for statuses in await asyncio.gather(*flood) for status in statuses]

    assert set(statuses) == {401, 429}
    assert statuses.count(401) <= 30
    # Twice as slow at most; the rest is what this process itself needs for the flood.
    assert statistics.median(during_flood) < 2 * statistics.median(alone) + 0.02, (alone, during_flood)


async def read_orders(machine: Machine) -> list[float]:
    seconds = []
    for _ in range(100):
        start = time.perf_counter()
        assert await machine.may_read()
        seconds.append(time.perf_counter() - start)
    return seconds


async def send_wrong_secrets(service: Service, app: App, count: int) -> list[int]:
    """Sends raw requests as fast as one connection can; returns the statuses."""
    body = json.dumps(
        {
            "grant_type": "client_credentials",
            "scope": "admin",
            "client_id": app.client_id,
            "client_secret": new_secret(CLIENT_SECRET),
        }
    )
    head = f"POST {TOKEN} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    address = urlsplit(service.url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    statuses = []
    for _ in range(count):
        writer.write(f"{head}{body}".encode())
        response = await reader.readuntil(b"\r\n\r\n")
        statuses.append(int(response.split(b" ", 2)[1]))
        length = next(line for line in response.split(b"\r\n") if line.lower().startswith(b"content-length"))
        await reader.readexactly(int(length.partition(b":")[2]))
    writer.close()
    return statuses
