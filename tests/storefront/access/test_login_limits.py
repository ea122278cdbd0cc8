"""Limits on mails, failures and carts, by address, by source and in total; no limit locks out an address's owner."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import asyncpg
import httpx2
import pytest

from tests.cluster import Cluster
from tests.http_client import SharedTransport
from tests.rate_limits import assert_limited
from tests.service import KEYS, Service
from tests.storefront.access.test_login import (
    NOTICE,
    mails_to,
    new_address,
    new_code,
    post_auth,
    stable_headers,
    wrong_code,
)

# Windows of one day, so that a window hardly ever ends during a test.
LIMITS = {
    "SHOP_LIMIT_LOOPBACK": "1",
    "SHOP_LIMIT_MAILS_PER_ADDRESS": "4/86400",
    "SHOP_LIMIT_MAILS_PER_SOURCE": "5/86400",
    "SHOP_LIMIT_MAILS": "40/86400",
    "SHOP_LIMIT_FAILURES_PER_SOURCE": "4/86400",
    "SHOP_LIMIT_FAILURES_PER_ADDRESS": "6/86400, 4",
    "SHOP_LIMIT_FAILURES": "12/86400, 1000/604800",
    "SHOP_LIMIT_CARTS_PER_SOURCE": "3/86400",
}
CART = "/api/v2/storefront/cart"
_numbers = itertools.count()


def new_source() -> dict[str, str]:
    """The header that the proxy adds for a client with a new IP address."""
    number = next(_numbers)
    return {"X-Forwarded-For": f"198.18.{number // 250}.{number % 250 + 1}"}


def serve(url: str, data_dir: Any, **environ: str) -> Service:
    common = {"SHOP_SECRET_KEYS": KEYS, "SHOP_MAILBOX": "on", "SHOP_DRAIN_SECONDS": "0"}
    return Service(SHOP_DATA_DIR=str(data_dir), SHOP_DATABASE_URL=url, **common, **environ)


@pytest.fixture(scope="module")
def limited_url(cluster: Cluster, worker_name: str) -> Iterator[str]:
    with cluster.database(f"limits_{worker_name}") as url:
        yield url


@pytest.fixture(scope="module")
def limited_service(limited_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A shop with small budgets behind a trusted proxy."""
    service = serve(limited_url, tmp_path_factory.mktemp("data"), SHOP_TRUSTED_PROXIES="127.0.0.1/32", **LIMITS)
    yield service
    service.stop()


@pytest.fixture
async def limited_client(
    limited_service: Service, limited_db: Any, shared_transport: SharedTransport
) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of that shop, whose counters start at zero."""
    await limited_db.execute("delete from rate_counts")
    async with limited_service.client(transport=shared_transport) as client:
        yield client


@pytest.fixture
async def limited_db(limited_url: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(limited_url)
    yield connection
    await connection.close()


async def send_wrong_codes(http: httpx2.AsyncClient, email: str, code: str, times: int) -> None:
    """Sends wrong codes, each from another source."""
    for by in range(1, times + 1):
        guess = wrong_code(code, by) if len(code) == 6 else f"{by:06}"
        answer = await post_auth(http, new_source(), email=email, code=guess)
        assert (answer.status_code, answer.json()["code"]) == (401, "invalid_code")


async def fetch_audited_limits(limited_db: Any, answers: list[httpx2.Response]) -> list[str]:
    """The limits that the audit log names for these responses."""
    ids = [answer.headers["x-request-id"] for answer in answers]
    rows = "select detail ->> 'limit' from audit_events where action = 'limit' and request_id = any($1) order by 1"
    return [row[0] for row in await limited_db.fetch(rows, ids)]


@pytest.mark.security("M-01", "H-05")
async def test_an_address_over_its_mail_budget_gets_the_same_response_and_no_email(
    limited_client: httpx2.AsyncClient,
) -> None:
    email = new_address()

    answers = [await post_auth(limited_client, new_source(), email=email) for _ in range(6)]

    assert {(answer.status_code, answer.text) for answer in answers} == {(200, answers[0].text)}
    assert answers[0].json() == NOTICE
    assert all(stable_headers(answer) == stable_headers(answers[0]) for answer in answers)
    # The response must not reveal how often others requested a code for this address.
    assert not {"ratelimit", "ratelimit-policy", "retry-after"} & set(answers[0].headers)
    assert len(await mails_to(limited_client, email)) == 4


@pytest.mark.security("M-01")
async def test_a_request_over_the_budget_does_not_invalidate_the_current_code(
    limited_client: httpx2.AsyncClient,
) -> None:
    email = new_address()
    codes = [await new_code(limited_client, email, new_source()) for _ in range(4)]
    for _ in range(3):
        await post_auth(limited_client, new_source(), email=email, first_name="Evil")

    answer = await post_auth(limited_client, new_source(), email=email, code=codes[-1])

    assert answer.status_code == 200


@pytest.mark.security("M-01")
async def test_addresses_that_differ_in_tags_dots_and_case_share_one_budget(
    limited_client: httpx2.AsyncClient, limited_db: Any
) -> None:
    name = uuid4().hex
    spellings = [name, name.upper(), f"{name[:3]}.{name[3:]}", f"{name}+a", f"{name[0]}.{name[1:]}+b.c", f"{name}+"]
    before = await limited_db.fetchval("select count(*) from outbox_mails")

    answers = [await post_auth(limited_client, new_source(), email=f"{spelling}@Example.com") for spelling in spellings]

    assert {(answer.status_code, answer.text) for answer in answers} == {(200, answers[0].text)}
    assert await limited_db.fetchval("select count(*) from outbox_mails") == before + 4


@pytest.mark.security("M-01")
async def test_twenty_concurrent_requests_do_not_exceed_the_budget(limited_client: httpx2.AsyncClient) -> None:
    email = new_address()

    answers = await asyncio.gather(*(post_auth(limited_client, new_source(), email=email) for _ in range(20)))

    assert {answer.status_code for answer in answers} == {200}
    assert len(await mails_to(limited_client, email)) == 4


async def test_a_mail_flood_delays_the_owner_by_one_window_at_most(
    limited_client: httpx2.AsyncClient, limited_db: Any
) -> None:
    email = new_address()
    for _ in range(6):
        await post_auth(limited_client, new_source(), email=email)
    await limited_db.execute("update rate_counts set window_start = window_start - interval '1 day'")

    code = await new_code(limited_client, email, new_source())

    assert len(await mails_to(limited_client, email)) == 5
    assert (await post_auth(limited_client, new_source(), email=email, code=code)).status_code == 200


@pytest.mark.security("M-01")
async def test_a_source_over_its_mail_budget_is_429_and_other_sources_are_served(
    limited_client: httpx2.AsyncClient, limited_db: Any
) -> None:
    source, emails = new_source(), [new_address() for _ in range(6)]

    answers = [await post_auth(limited_client, source, email=email) for email in emails]
    other = await post_auth(limited_client, new_source(), email=emails[-1])

    left = await limited_db.fetchval("select 86400 - extract(epoch from now())::bigint % 86400")
    assert [answer.status_code for answer in answers] == [200] * 5 + [429]
    assert answers[-1].json()["code"] == "too_many_requests"
    assert left <= int(answers[-1].headers["retry-after"]) <= left + 20
    assert_limited(answers[-1], "mails by source")
    assert other.status_code == 200
    assert len(await mails_to(limited_client, emails[-1])) == 1


async def test_a_rate_limited_source_does_not_use_up_the_budget_of_an_address(
    limited_client: httpx2.AsyncClient,
) -> None:
    source, email = new_source(), new_address()
    for _ in range(5):
        await post_auth(limited_client, source, email=new_address())
    refusals = [await post_auth(limited_client, source, email=email) for _ in range(5)]

    code = await new_code(limited_client, email, new_source())

    assert {answer.status_code for answer in refusals} == {429}
    assert (await post_auth(limited_client, new_source(), email=email, code=code)).status_code == 200


@pytest.mark.security("M-01")
async def test_over_the_shops_budget_the_response_is_the_same_and_no_email_is_sent(
    limited_client: httpx2.AsyncClient,
) -> None:
    for _ in range(20):
        await post_auth(limited_client, new_source(), email=new_address())
    email = new_address()

    answer = await post_auth(limited_client, new_source(), email=email)

    assert (answer.status_code, answer.json()) == (200, NOTICE)
    assert await mails_to(limited_client, email) == []


@pytest.mark.security("M-02")
async def test_only_the_address_added_by_the_trusted_proxy_is_the_source(limited_client: httpx2.AsyncClient) -> None:
    source = new_source()["X-Forwarded-For"]
    header_sets = [{"X-Forwarded-For": f"{new_source()['X-Forwarded-For']}, {source}"} for _ in range(10)]

    answers = [await post_auth(limited_client, headers, email=new_address()) for headers in header_sets]

    assert [answer.status_code for answer in answers] == [200] * 5 + [429] * 5


async def test_an_ipv6_network_of_64_bits_is_one_source(limited_client: httpx2.AsyncClient) -> None:
    network = uuid4().hex[:4]
    header_sets = [{"X-Forwarded-For": f"2001:db8:{network}:1:{number}::{number}"} for number in range(1, 8)]

    answers = [await post_auth(limited_client, headers, email=new_address()) for headers in header_sets]
    other_network = await post_auth(
        limited_client, {"X-Forwarded-For": f"2001:db8:{network}:2::1"}, email=new_address()
    )

    assert [answer.status_code for answer in answers] == [200] * 5 + [429] * 2
    assert other_network.status_code == 200


@pytest.mark.security("M-07")
async def test_larger_ipv6_networks_have_4_and_16_times_the_limit(limited_client: httpx2.AsyncClient) -> None:
    site = f"2001:db8:{uuid4().hex[:4]}"

    async def from_networks(network: int, count: int) -> list[int]:
        """Opens a cart from each of `count` /64 networks of one /56 network."""
        sources = [{"X-Forwarded-For": f"{site}:{network:02x}{number:02x}::1"} for number in range(count)]
        return [(await limited_client.post(CART, headers=source)).status_code for source in sources]

    # The limit is 3 carts for a /64, so 12 for a /56 and 48 for a /48; refused requests count too.
    assert await from_networks(1, 13) == [201] * 12 + [429]
    assert await from_networks(2, 12) + await from_networks(3, 12) == [201] * 24
    assert await from_networks(4, 12) == [201] * 11 + [429]


async def test_an_ipv4_mapped_ipv6_address_is_the_same_source_as_the_ipv4_address(
    limited_client: httpx2.AsyncClient,
) -> None:
    source = new_source()["X-Forwarded-For"]
    headers = {"X-Forwarded-For": f"::ffff:{source}"}
    for _ in range(6):
        await post_auth(limited_client, headers, email=new_address())

    other = await post_auth(
        limited_client, {"X-Forwarded-For": f"::ffff:{new_source()['X-Forwarded-For']}"}, email=new_address()
    )
    plain = await post_auth(limited_client, {"X-Forwarded-For": source}, email=new_address())

    assert (other.status_code, plain.status_code) == (200, 429)


@pytest.mark.security("L-07")
async def test_a_source_with_too_many_failures_is_429_even_with_the_right_code(
    limited_client: httpx2.AsyncClient,
) -> None:
    source, email = new_source(), new_address()
    failures = [await post_auth(limited_client, source, email=new_address(), code="123456") for _ in range(6)]
    code = await new_code(limited_client, email, new_source())

    refusal = await post_auth(limited_client, source, email=email, code=code)
    elsewhere = await post_auth(limited_client, new_source(), email=email, code=code)

    assert [answer.status_code for answer in failures] == [401] * 4 + [429] * 2
    for answer in [*failures[4:], refusal]:
        assert int(answer.headers["retry-after"]) <= 86400
        assert_limited(answer, "failures by source")
    assert (refusal.status_code, elsewhere.status_code) == (429, 200)


async def test_a_source_below_its_failure_limit_can_sign_in(limited_client: httpx2.AsyncClient) -> None:
    source, email = new_source(), new_address()
    code = await new_code(limited_client, email, source)
    failures = [await post_auth(limited_client, source, email=email, code=wrong_code(code, by)) for by in range(1, 5)]

    right = await post_auth(limited_client, source, email=email, code=code)

    assert [answer.status_code for answer in [*failures, right]] == [401] * 4 + [200]


@pytest.mark.security("L-07")
async def test_invalid_refresh_tokens_count_as_failures_of_their_source(limited_client: httpx2.AsyncClient) -> None:
    source, email = new_source(), new_address()

    refreshes = [await post_auth(limited_client, source, email=email, refresh_token="junk") for _ in range(4)]
    more = [
        await post_auth(limited_client, source, email=email, **field)
        for field in ({"refresh_token": "x"}, {"code": "123456"})
    ]

    assert [answer.json()["code"] for answer in refreshes] == ["invalid_refresh_token"] * 4
    assert [answer.status_code for answer in more] == [429, 429]


@pytest.mark.security("L-07")
async def test_a_source_with_too_many_failures_is_429_even_with_a_valid_refresh_token(
    limited_client: httpx2.AsyncClient,
) -> None:
    source, email = new_source(), new_address()
    code = await new_code(limited_client, email, new_source())
    pair = (await post_auth(limited_client, new_source(), email=email, code=code)).json()
    for _ in range(5):
        await post_auth(limited_client, source, email=new_address(), code="123456")

    refusal = await post_auth(limited_client, source, email=email, refresh_token=pair["refresh_token"])
    elsewhere = await post_auth(limited_client, new_source(), email=email, refresh_token=pair["refresh_token"])

    assert (refusal.status_code, refusal.json()["code"]) == (429, "too_many_requests")
    assert 1 <= int(refusal.headers["retry-after"]) <= 86400
    assert elsewhere.status_code == 200


async def test_a_source_over_its_cart_limit_is_429_and_other_sources_are_served(
    limited_client: httpx2.AsyncClient, limited_db: Any
) -> None:
    carts = [await limited_client.post(CART) for _ in range(5)]
    other = await limited_client.post(CART, headers=new_source())
    token = {"X-Shop-Order-Token": carts[0].json()["data"]["attributes"]["token"]}
    repeats = [await limited_client.post(CART, headers=token), await limited_client.get(CART, headers=token)]

    assert [cart.status_code for cart in carts] == [201] * 3 + [429] * 2
    assert carts[-1].json()["code"] == "too_many_requests"
    assert 1 <= int(carts[-1].headers["retry-after"]) <= 86400
    assert other.status_code == 201
    assert {answer.json()["data"]["id"] for answer in repeats} == {carts[0].json()["data"]["id"]}
    assert await fetch_audited_limits(limited_db, carts) == ["carts by source"]


@pytest.mark.security("L-05")
async def test_after_too_many_failures_an_address_is_sent_a_long_code(limited_client: httpx2.AsyncClient) -> None:
    email = new_address()
    await send_wrong_codes(limited_client, email, await new_code(limited_client, email, new_source()), 4)

    long = await new_code(limited_client, email, new_source())

    mail = (await mails_to(limited_client, email))[0]
    assert len(long) == 26
    assert " ".join(long[at : at + 5] for at in range(0, 26, 5)) in mail["text"]
    assert long[:5] not in mail["subject"]


@pytest.mark.security("L-05")
@pytest.mark.parametrize("format_code", [str, str.lower, "-".join, lambda code: f" {code[:5]} {code[5:]}"])
async def test_wrong_codes_do_not_lock_out_the_owner_of_a_long_code(
    limited_client: httpx2.AsyncClient, format_code: Any
) -> None:
    email = new_address()
    await send_wrong_codes(limited_client, email, await new_code(limited_client, email, new_source()), 4)
    long = await new_code(limited_client, email, new_source())

    await send_wrong_codes(limited_client, email, long, 8)
    for guess in ("0" * 26, long[1:] + long[:1], long[:-1] + ("0" if long[-1] != "0" else "1")):
        assert (await post_auth(limited_client, new_source(), email=email, code=guess)).status_code == 401

    assert (await post_auth(limited_client, new_source(), email=email, code=format_code(long))).status_code == 200
    assert (await post_auth(limited_client, new_source(), email=email, code=long)).status_code == 401


@pytest.mark.security("L-05")
async def test_a_success_resets_the_count_since_the_last_success_but_not_the_daily_count(
    limited_client: httpx2.AsyncClient,
) -> None:
    email = new_address()
    await send_wrong_codes(limited_client, email, await new_code(limited_client, email, new_source()), 4)
    long = await new_code(limited_client, email, new_source())
    assert (await post_auth(limited_client, new_source(), email=email, code=long)).status_code == 200

    after_success = await new_code(limited_client, email, new_source())
    await send_wrong_codes(limited_client, email, after_success, 2)
    after_daily_limit = await new_code(limited_client, email, new_source())

    assert (len(long), len(after_success), len(after_daily_limit)) == (26, 6, 26)


async def test_guesses_without_a_valid_code_do_not_count_against_the_address(
    limited_client: httpx2.AsyncClient,
) -> None:
    email = new_address()
    await send_wrong_codes(limited_client, email, "123456", 10)

    code = await new_code(limited_client, email, new_source())

    assert len(code) == 6


async def test_attempts_on_a_code_without_attempts_left_do_not_count_against_the_shop(
    limited_client: httpx2.AsyncClient, limited_db: Any
) -> None:
    email = new_address()
    code = await new_code(limited_client, email, new_source())

    await send_wrong_codes(limited_client, email, code, 20)

    assert await limited_db.fetchval("select attempts from login_requests where email_key = $1", email) == 5
    assert len(await new_code(limited_client, new_address(), new_source())) == 6


@pytest.mark.security("L-06")
async def test_the_shop_under_attack_sends_long_codes_to_everyone_for_an_hour(
    limited_client: httpx2.AsyncClient, limited_db: Any
) -> None:
    for _ in range(4):
        email = new_address()
        await send_wrong_codes(limited_client, email, await new_code(limited_client, email, new_source()), 3)
    code_before = await new_code(limited_client, new_address(), new_source())
    before = await limited_db.fetchval("select now()")
    await send_wrong_codes(limited_client, email, "000000", 1)

    emails = [new_address() for _ in range(3)]
    long_codes = [await new_code(limited_client, email, new_source()) for email in emails]
    response = await post_auth(limited_client, new_source(), email=emails[0], code=long_codes[0])
    window_start = await limited_db.fetchval("select window_start from rate_counts where seconds = 3600")
    statement = "update rate_counts set window_start = now() - $1::interval where seconds = 3600"
    await limited_db.execute(statement, timedelta(minutes=59, seconds=30))
    code_within_hour = await new_code(limited_client, emails[1], new_source())
    await limited_db.execute(statement, timedelta(minutes=60, seconds=1))
    code_after_hour = await new_code(limited_client, emails[2], new_source())

    assert (len(code_before), [len(code) for code in long_codes], response.status_code) == (6, [26] * 3, 200)
    # The hour starts at the next full minute, so that it lasts a whole hour.
    assert before <= window_start <= before + timedelta(minutes=2)
    assert (len(code_within_hour), len(code_after_hour)) == (26, 6)


@pytest.mark.security("A-02")
async def test_an_exceeded_mail_budget_is_audited_once_per_key_and_window(
    limited_client: httpx2.AsyncClient, limited_db: Any
) -> None:
    source, emails = new_source(), [new_address(), new_address()]
    by_address = [await post_auth(limited_client, new_source(), email=email) for email in emails for _ in range(6)]
    by_source = [await post_auth(limited_client, source, email=new_address()) for _ in range(8)]
    once = await fetch_audited_limits(limited_db, [*by_address, *by_source])
    await limited_db.execute("update rate_counts set window_start = window_start - interval '1 day'")

    again = [await post_auth(limited_client, new_source(), email=emails[0]) for _ in range(6)]

    assert once == ["mails by address", "mails by address", "mails by source"]
    assert await fetch_audited_limits(limited_db, again) == ["mails by address"]


@pytest.mark.security("A-02")
async def test_an_exceeded_failure_limit_is_audited_once_per_key_and_window(
    limited_client: httpx2.AsyncClient, limited_db: Any
) -> None:
    source, email = new_source(), new_address()
    code = await new_code(limited_client, email, new_source())

    answers = [await post_auth(limited_client, source, email=email, code=wrong_code(code, by)) for by in range(1, 9)]

    assert [answer.status_code for answer in answers] == [401] * 4 + [429] * 4
    assert await fetch_audited_limits(limited_db, answers) == ["failures by address", "failures by source"]
    row = "select source, detail from audit_events where action = 'limit' and detail ->> 'limit' = 'failures by source'"
    sources = [event["source"] for event in await limited_db.fetch(row)]
    assert sources.count(source["X-Forwarded-For"]) == 1


async def test_a_burst_of_limited_requests_is_one_audit_event(
    limited_client: httpx2.AsyncClient, limited_db: Any
) -> None:
    source = new_source()

    answers = await asyncio.gather(*(post_auth(limited_client, source, email=new_address()) for _ in range(20)))

    assert sorted(answer.status_code for answer in answers) == [200] * 5 + [429] * 15
    assert await fetch_audited_limits(limited_db, answers) == ["mails by source"]


async def test_rate_counts_contain_no_address_and_no_source(
    limited_client: httpx2.AsyncClient, limited_db: Any
) -> None:
    source, email = new_source(), new_address()
    await post_auth(limited_client, source, email=email)
    await post_auth(limited_client, source, email=email, code="123456")

    rows = [row[0] for row in await limited_db.fetch("select t::text from rate_counts t")]

    assert len(rows) >= 5
    for secret in (email, source["X-Forwarded-For"]):
        assert not any(secret in row or secret.encode().hex() in row for row in rows)


@pytest.mark.security("M-02")
@pytest.mark.torture
async def test_without_a_trusted_proxy_x_forwarded_for_is_ignored(own_database: Any, tmp_path: Any) -> None:
    service = serve(own_database(), tmp_path, **LIMITS)
    try:
        async with service.client() as http:
            answers = [await post_auth(http, new_source(), email=new_address()) for _ in range(50)]
    finally:
        service.stop()

    assert [answer.status_code for answer in answers] == [200] * 5 + [429] * 45
    assert service.request_line(answers[0].headers["x-request-id"])["source"] == "127.0.0.1"


@pytest.mark.torture
async def test_a_limit_of_zero_is_disabled(own_database: Any, tmp_path: Any) -> None:
    off = dict.fromkeys(LIMITS, "0") | {"SHOP_LIMIT_LOOPBACK": "1", "SHOP_LIMIT_TRIES_PER_CODE": "0"}
    service, email = serve(own_database(), tmp_path, **off), new_address()
    try:
        async with service.client() as http:
            codes = [await new_code(http, email) for _ in range(25)]
            guesses = [await post_auth(http, email=email, code=wrong_code(codes[-1], by)) for by in range(1, 41)]
            right = await post_auth(http, email=email, code=codes[-1])
            refreshes = [await post_auth(http, email=email, refresh_token="junk") for _ in range(40)]
    finally:
        service.stop()

    assert {len(code) for code in codes} == {6}
    assert {answer.status_code for answer in [*guesses, *refreshes]} == {401}
    assert right.status_code == 200
