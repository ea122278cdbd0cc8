"""The limit of requests by source, which each process counts in memory."""

from collections.abc import AsyncIterator, Iterator
from itertools import count

import httpx2
import pytest

from shop.base.errors import RateLimitError
from shop.web.memory_limits import MAX_SOURCES, InMemoryRateLimiter
from tests.cluster import Cluster
from tests.http_client import SharedTransport
from tests.rate_limits import assert_limited
from tests.service import KEYS, Service

CART = "/api/v2/storefront/cart"
MOST = 3


@pytest.fixture(scope="module")
def limited_service(cluster: Cluster, worker_name: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A shop behind a trusted proxy that accepts three requests a day from each source."""
    service = Service(
        SHOP_DATA_DIR=str(tmp_path_factory.mktemp("data")),
        SHOP_DATABASE_URL=cluster.new_database(f"request_limit_{worker_name}"),
        SHOP_SECRET_KEYS=KEYS,
        SHOP_MAILBOX="on",
        SHOP_DRAIN_SECONDS="0",
        SHOP_METRICS="public",
        SHOP_TRUSTED_PROXIES="127.0.0.1",
        SHOP_LIMIT_REQUESTS_PER_SOURCE=f"1000/60, {MOST}/86400",
    )
    yield service
    service.stop()
    cluster.drop_database(f"request_limit_{worker_name}")


@pytest.fixture
async def limited_client(
    limited_service: Service, shared_transport: SharedTransport
) -> AsyncIterator[httpx2.AsyncClient]:
    async with limited_service.client(transport=shared_transport) as client:
        yield client


_numbers = count(1)


@pytest.fixture
def source() -> dict[str, str]:
    return {"X-Forwarded-For": f"198.51.100.{next(_numbers)}"}


@pytest.mark.security("H-05")
async def test_a_source_over_its_limit_gets_retry_after_and_other_sources_are_served(
    limited_client: httpx2.AsyncClient, source: dict[str, str]
) -> None:
    answers = [await limited_client.post(CART, headers=source) for _ in range(MOST + 1)]
    other = await limited_client.post(CART, headers={"X-Forwarded-For": "203.0.113.1"})

    assert [answer.status_code for answer in answers] == [201] * MOST + [429]
    assert answers[-1].json()["code"] == "too_many_requests"
    assert int(answers[-1].headers["retry-after"]) <= 86400
    assert_limited(answers[-1], "requests by source")
    assert other.status_code == 201


async def test_every_path_is_limited_except_health_and_metrics(
    limited_client: httpx2.AsyncClient, source: dict[str, str]
) -> None:
    for path in (CART, "/api/v2/nowhere", "/nowhere"):
        assert (await limited_client.get(path, headers=source)).status_code in {401, 404}

    responses = [
        await limited_client.get(path, headers=source)
        for path in (CART, "/api/v2/nowhere", "/nowhere", "/openapi.json")
    ]
    revocation = await limited_client.post("/shop_oauth/revoke", json={"token": "x"}, headers=source)
    exempt = [await limited_client.get(path, headers=source) for path in ("/livez", "/readyz", "/metrics")]

    assert {answer.status_code for answer in responses} == {429}
    assert (revocation.status_code, revocation.json()["error"]) == (429, "temporarily_unavailable")
    assert {answer.status_code for answer in exempt} == {200}


async def test_an_ipv6_network_of_64_bits_is_one_source(limited_client: httpx2.AsyncClient) -> None:
    network_headers = [{"X-Forwarded-For": f"2001:db8:0:7::{number}"} for number in range(1, MOST + 2)]

    answers = [await limited_client.post(CART, headers=source) for source in network_headers]
    other_network = await limited_client.post(CART, headers={"X-Forwarded-For": "2001:db8:0:8::1"})

    assert [answer.status_code for answer in answers] == [201] * MOST + [429]
    assert other_network.status_code == 201


@pytest.mark.security("M-07")
def test_larger_ipv6_networks_have_4_and_16_times_the_limit() -> None:
    limiter = InMemoryRateLimiter(((1, 10**9),), with_loopback=False)

    def count_rejections(network: int, count: int) -> int:
        """How many of `count` /64 networks of one /56 are refused, with one call each."""
        rejections = 0
        for number in range(count):
            try:
                limiter.count(f"2001:db8:7:{network:02x}{number:02x}::1")
            except RateLimitError:
                rejections += 1
        return rejections

    assert [count_rejections(network, 5) for network in range(3)] == [1, 1, 1]
    # Fifteen calls of the /48 so far.
    assert count_rejections(4, 3) == 2


async def test_loopback_is_not_limited(limited_client: httpx2.AsyncClient) -> None:
    answers = [await limited_client.get("/openapi.json") for _ in range(MOST + 2)]

    assert {answer.status_code for answer in answers} == {200}


def test_loopback_is_limited_if_configured() -> None:
    limiter = InMemoryRateLimiter(((1, 60),), with_loopback=True)
    limiter.count("127.0.0.1")

    with pytest.raises(RateLimitError):
        limiter.count("127.0.0.1")


def test_a_source_is_served_again_after_its_window_and_retry_after_is_the_longest_wait() -> None:
    moments = iter([0.0, 1.0, 2.5, 10.0, 11.0, 99.5, 100.0])
    limiter = InMemoryRateLimiter(((1, 10), (3, 100)), with_loopback=False, clock=lambda: next(moments))

    def retry_after() -> int:
        try:
            limiter.count("198.51.100.1")
        except RateLimitError as error:
            return error.retry_after
        return 0

    # Refused requests count too: a source that goes on waits for the end of the longer window.
    assert [retry_after() for _ in range(7)] == [0, 9, 8, 90, 89, 1, 0]


def test_the_least_recently_seen_source_is_evicted_and_memory_is_bounded() -> None:
    limiter = InMemoryRateLimiter(((1, 60),), with_loopback=False, clock=lambda: 0.0)
    limiter.count("first")
    limiter.count("second")
    for number in range(MAX_SOURCES - 1):
        limiter.count(f"caller {number}")

    limiter.count("first")
    with pytest.raises(RateLimitError):
        limiter.count("first")

    assert len(limiter) == MAX_SOURCES
