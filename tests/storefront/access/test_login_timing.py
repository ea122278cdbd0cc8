"""Response times do not reveal whether an address is known."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import uuid4

import asyncpg
import httpx2
import pytest

from shop.actions.mail.budget import UNVERIFIED
from shop.rules.rate_limits import counter_key
from tests.cluster import Cluster
from tests.service import KEYS, Service
from tests.storefront.access.test_login import new_address, post_auth
from tests.timing import Pair, assert_same_time

pytestmark = pytest.mark.torture
PAIRS = 500
"""Pairs of requests in each round."""
# Requests count towards these limits but never reach them.
LIMITS = {
    "SHOP_LIMIT_MAILS": "100000/3600",
    "SHOP_LIMIT_FAILURES": "100000/300, 100000/86400",
}


@pytest.fixture(scope="module")
def quiet_url(cluster: Cluster, worker_name: str) -> Iterator[str]:
    with cluster.database(f"timing_{worker_name}") as url:
        yield url


@pytest.fixture(scope="module")
def quiet_service(quiet_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A shop that only these tests call."""
    service = Service(
        SHOP_DATA_DIR=str(tmp_path_factory.mktemp("data")),
        SHOP_DATABASE_URL=quiet_url,
        SHOP_SECRET_KEYS=KEYS,
        SHOP_MAILBOX="on",
        SHOP_DRAIN_SECONDS="0",
        **LIMITS,
    )
    yield service
    service.stop()


@pytest.fixture
async def quiet_client(quiet_service: Service) -> AsyncIterator[httpx2.AsyncClient]:
    async with quiet_service.client() as client:
        for _ in range(15):
            email = new_address()
            await post_auth(client, email=email)
            await post_auth(client, email=email, code="123456")
        yield client


@pytest.fixture
async def database(quiet_url: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(quiet_url)
    yield connection
    await connection.close()


async def create_known_addresses(database: Any, count: int) -> list[str]:
    """Addresses of users who have signed in before."""
    emails = [new_address("known") for _ in range(count)]
    await database.executemany(
        "insert into users (id, email, email_key, public_metadata, verified_at, created_at, updated_at)"
        " values ($1, $2, $2, '{}', now(), now(), now())",
        [(uuid4(), email) for email in emails],
    )
    return emails


async def measure_pairs(http: httpx2.AsyncClient, emails: list[str], status: int, **fields: Any) -> list[Pair]:
    """Durations for a known and an unknown address, measured one after the other; each comes first equally often."""
    pairs = []
    for number, email in enumerate(emails):
        pair = {"known": email, "unknown": new_address("other")}
        times = {}
        for kind in pair if number % 2 else reversed(pair):
            start = time.perf_counter()
            answer = await post_auth(http, email=pair[kind], **fields)
            times[kind] = time.perf_counter() - start
            assert answer.status_code == status
        pairs.append((times["known"], times["unknown"]))
    return pairs


@pytest.mark.security("L-10")
async def test_requesting_a_code_takes_as_long_for_an_unknown_address(
    quiet_client: httpx2.AsyncClient, database: Any
) -> None:
    async def measure_round() -> list[Pair]:
        return await measure_pairs(quiet_client, await create_known_addresses(database, PAIRS), 200)

    await assert_same_time(measure_round)


@pytest.mark.security("M-08", "L-10")
async def test_requesting_a_code_takes_as_long_for_a_customer_while_others_are_limited(
    quiet_client: httpx2.AsyncClient, database: Any
) -> None:
    """Only customers get a mail then; the response time must not reveal which addresses are customers'."""
    await database.execute(
        """insert into rate_counts (key, seconds, window_start, count)
        select $1, 3600, date_trunc('hour', now()) + interval '1 hour' * n, 10000000 from generate_series(0, 1) n
        on conflict (key, seconds, window_start) do update set count = excluded.count""",
        counter_key(UNVERIFIED, ""),
    )
    count_mails = "select count(*) from outbox_mails where not awaits_budget"
    before, request_count = await database.fetchval(count_mails), 0

    async def measure_round() -> list[Pair]:
        nonlocal request_count
        request_count += PAIRS
        return await measure_pairs(quiet_client, await create_known_addresses(database, PAIRS), 200)

    try:
        await assert_same_time(measure_round)
    finally:
        await database.execute("delete from rate_counts")
    assert await database.fetchval(count_mails) == before + request_count


@pytest.mark.security("L-10")
async def test_a_wrong_code_takes_as_long_for_an_unknown_address(
    quiet_client: httpx2.AsyncClient, database: Any
) -> None:
    async def measure_round() -> list[Pair]:
        return await measure_pairs(quiet_client, await create_known_addresses(database, PAIRS), 401, code="000000")

    await assert_same_time(measure_round)


@pytest.mark.security("L-10")
async def test_a_wrong_code_takes_as_long_whether_or_not_a_valid_code_exists(
    quiet_client: httpx2.AsyncClient, database: Any
) -> None:
    async def measure_round() -> list[Pair]:
        emails = await create_known_addresses(database, PAIRS)
        await asyncio.gather(*(post_auth(quiet_client, email=email) for email in emails))
        return await measure_pairs(quiet_client, emails, 401, code="000000")

    await assert_same_time(measure_round)
