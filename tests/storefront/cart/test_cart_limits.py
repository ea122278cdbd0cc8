"""Limits on carts and coupon codes by source; carts are counted in memory, unless the source is near its limit."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
import pytest

from tests.builders import Make
from tests.http_client import SharedTransport
from tests.promotion_builders import TENTH, create_promotion, new_code
from tests.rate_limits import assert_limited
from tests.service import KEYS, Service
from tests.shopper import Shopper


@pytest.fixture(scope="module")
def limited_service(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The same shop, with limits that apply to this machine too."""
    service = Service(
        SHOP_DATA_DIR=str(tmp_path_factory.mktemp("data")),
        SHOP_DATABASE_URL=database_url,
        SHOP_SECRET_KEYS=KEYS,
        SHOP_MAILBOX="on",
        SHOP_LOG_LEVEL="debug",
        SHOP_LIMIT_LOOPBACK="1",
        SHOP_LIMIT_CARTS_PER_SOURCE="5/3600, 6/86400",
        SHOP_LIMIT_COUPONS_PER_SOURCE="3/3600",
        SHOP_TRUSTED_PROXIES="127.0.0.1/32",
        SHOP_DRAIN_SECONDS="0",
    )
    yield service
    service.stop()


@pytest.fixture
async def limited_client(
    limited_service: Service, shared_transport: SharedTransport
) -> AsyncIterator[httpx2.AsyncClient]:
    async with limited_service.client(transport=shared_transport) as client:
        yield client


@pytest.mark.security("H-05")
async def test_a_source_over_its_cart_limit_is_429_and_other_sources_are_served(
    limited_client: httpx2.AsyncClient, limited_service: Service, db: Any
) -> None:
    before = await db.fetchval("select count(*) from orders")
    headers = {"X-Forwarded-For": "203.0.113.7"}

    answers = await asyncio.gather(*(Shopper(limited_client).post("/cart", headers=headers) for _ in range(9)))
    other = await Shopper(limited_client).post("/cart", headers={"X-Forwarded-For": "198.51.100.7"})

    assert sorted(answer.status for answer in answers) == [201] * 5 + [429] * 4
    refusal = next(answer for answer in answers if answer.status == 429)
    seconds = int(refusal.headers["retry-after"])
    assert 0 < seconds <= 86400
    assert_limited(refusal.response, "carts by source")
    assert await db.fetchval("select count(*) from orders") == before + 6
    events = "select count(*) from audit_events where action = 'limit' and detail->>'limit' = 'carts by source'"
    assert await db.fetchval(events) == 2
    cart = next(answer for answer in answers if answer.status == 201)
    ipv6 = await Shopper(limited_client).post("/cart", headers={"X-Forwarded-For": "2001:db8:1:2::3"})
    # Such a small limit is exact: each cart is counted before it is made.
    for answer in (cart, other, ipv6):
        assert limited_service.request_line(answer.request_id)["statements"] == 2


LARGE, PROCESSES = 100, 2


@pytest.fixture(scope="module")
def limited_processes(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Service]]:
    services = [
        Service(
            SHOP_DATA_DIR=str(tmp_path_factory.mktemp(f"process{number}")),
            SHOP_DATABASE_URL=database_url,
            SHOP_SECRET_KEYS=KEYS,
            SHOP_MAILBOX="on",
            SHOP_LOG_LEVEL="debug",
            SHOP_LIMIT_CARTS_PER_SOURCE=f"{LARGE}/86400",
            SHOP_TRUSTED_PROXIES="127.0.0.1/32",
            SHOP_DRAIN_SECONDS="0",
        )
        for number in range(PROCESSES)
    ]
    yield services
    for service in services:
        service.stop()


@pytest.mark.security("H-05")
async def test_a_large_limit_is_counted_in_memory_and_exceeded_by_a_twentieth_for_each_process_at_most(
    limited_processes: list[Service], db: Any
) -> None:
    headers = {"X-Forwarded-For": "203.0.113.55"}
    count = "select count(*) from orders"
    before = await db.fetchval(count)
    clients = [service.client() for service in limited_processes]
    try:
        first = await Shopper(clients[0]).post("/cart", headers=headers)
        answers = [first]
        for _ in range(15):
            shoppers = [Shopper(clients[number % PROCESSES]) for number in range(10)]
            answers += await asyncio.gather(*(shopper.post("/cart", headers=headers) for shopper in shoppers))
        refused_again = await Shopper(clients[0]).post("/cart", headers=headers)
    finally:
        for client in clients:
            await client.aclose()

    statuses = [answer.status for answer in answers]
    assert set(statuses) == {201, 429}
    assert LARGE <= statuses.count(201) <= LARGE + PROCESSES * (LARGE // 20)
    assert await db.fetchval(count) == before + statuses.count(201)
    assert limited_processes[0].request_line(first.request_id)["statements"] == 1
    # A source over its limit is refused from memory.
    assert_limited(refused_again.response, "carts by source")
    assert limited_processes[0].request_line(refused_again.request_id)["statements"] == 0
    events = "select count(*) from audit_events where action = 'limit' and detail->>'allowed' = $1"
    assert await db.fetchval(events, f"{LARGE}/86400") == 1


@pytest.mark.security("H-05")
async def test_counts_in_memory_reach_the_other_processes(limited_processes: list[Service], db: Any) -> None:
    headers = {"X-Forwarded-For": "203.0.113.56"}
    # Other processes may still write the counts of other sources.
    known_keys = [row["key"] for row in await db.fetch("select distinct key from rate_counts")]
    total = "select coalesce(sum(count), 0)::bigint from rate_counts where seconds = 86400 and key <> all($1)"
    async with limited_processes[0].client() as client:
        for _ in range(4):
            await Shopper(client).post("/cart", headers=headers)

    async with asyncio.timeout(20):
        while await db.fetchval(total, known_keys) < 4:
            await db.execute("select pg_sleep(0.05)")

    assert await db.fetchval(total, known_keys) == 4


@pytest.mark.security("H-05")
async def test_a_source_that_guesses_coupon_codes_is_rate_limited(
    limited_client: httpx2.AsyncClient, make: Make, db: Any
) -> None:
    code, guesser = new_code(), {"X-Forwarded-For": "203.0.113.99"}
    await create_promotion(make, TENTH, code=code)
    shopper = Shopper(limited_client)
    await shopper.post("/cart", headers=guesser)
    product = await make.product(price="10.00", on_hand=9)
    await shopper.post("/cart/add_item", headers=guesser, variant_id=product.variant_id)

    async def apply_code(text: str, headers: dict[str, str]) -> int:
        body = {"json": {"coupon_code": text}}
        answer = await shopper.ask("PATCH", "/cart/apply_coupon_code", headers=headers, **body)
        if answer.status == 429:
            assert_limited(answer.response, "unknown coupons by source")
        return answer.status

    guesses = [await apply_code(f"guess-{number}", guesser) for number in range(4)]
    by_checkout = await shopper.ask("PATCH", "/checkout", headers=guesser, json={"order": {"coupon_code": "guess"}})
    without = await shopper.ask("PATCH", "/checkout", headers=guesser, json={"order": {"email": "ada@example.org"}})
    right = await apply_code(code, guesser)
    elsewhere = await apply_code(code, {"X-Forwarded-For": "203.0.113.98"})

    assert guesses == [422, 422, 422, 429]
    assert (by_checkout.status, without.status, right, elsewhere) == (429, 200, 429, 200)
