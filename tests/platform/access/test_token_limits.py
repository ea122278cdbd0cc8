"""Limits of the token endpoint: a source that fails too often has to wait, and other sources do not."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import asyncpg
import httpx2
import pytest

from shop.base.crypto.secrets import CLIENT_SECRET, new_secret
from tests.cluster import Cluster
from tests.http_client import SharedTransport
from tests.platform.client import App, Machine, ask_for_token, new_app, refresh
from tests.rate_limits import assert_limited
from tests.service import KEYS, Service
from tests.shopper import Answer

# A window of a day, which hardly ever ends during a test.
LIMITS = {"SHOP_LIMIT_CLIENT_FAILURES_PER_SOURCE": "5/86400", "SHOP_LIMIT_TOKENS_PER_CLIENT": "3/86400"}


@pytest.fixture(scope="module")
def limited_url(cluster: Cluster, worker_name: str) -> Iterator[str]:
    yield cluster.new_database(f"token_limits_{worker_name}")
    cluster.drop_database(f"token_limits_{worker_name}")


@pytest.fixture(scope="module")
def limited_service(limited_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A shop with low limits."""
    service = Service(
        SHOP_DATA_DIR=str(tmp_path_factory.mktemp("data")),
        SHOP_DATABASE_URL=limited_url,
        SHOP_SECRET_KEYS=KEYS,
        SHOP_MAILBOX="on",
        SHOP_DRAIN_SECONDS="0",
        SHOP_LIMIT_LOOPBACK="1",
        SHOP_TRUSTED_PROXIES="127.0.0.1/32",
        **LIMITS,
    )
    yield service
    service.stop()


@pytest.fixture
async def limited_client(
    limited_service: Service, shared_transport: SharedTransport
) -> AsyncIterator[httpx2.AsyncClient]:
    async with limited_service.client(transport=shared_transport) as client:
        yield client


@pytest.fixture
async def limited_db(limited_url: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(limited_url)
    yield connection
    await connection.close()


async def send_wrong_secrets(http: httpx2.AsyncClient, app: App, source: str, times: int) -> list[Answer]:
    http.headers["X-Forwarded-For"] = source
    wrong = App(app.id, app.client_id, new_secret(CLIENT_SECRET))
    return [await ask_for_token(http, wrong, "admin") for _ in range(times)]


async def events(limited_db: Any, source: str) -> list[tuple[str, str]]:
    rows = "select action, outcome from audit_events where source = $1 and actor_kind = 'guest' order by id"
    return [tuple(row) for row in await limited_db.fetch(rows, source)]


@pytest.mark.security("P-05", "H-05")
async def test_failures_over_the_rate_limit_are_429_and_a_valid_secret_still_works(
    limited_client: httpx2.AsyncClient, limited_db: Any
) -> None:
    app = await new_app(limited_db)

    answers = await send_wrong_secrets(limited_client, app, "198.18.0.1", 9)
    success = await ask_for_token(limited_client, app, "admin")

    assert [answer.status for answer in answers] == [401] * 5 + [429] * 4
    for answer in answers[5:]:
        assert answer.json["error"] == "temporarily_unavailable"
        assert int(answer.headers["retry-after"]) <= 86400
        assert_limited(answer.response, "client failures by source")
    assert success.status == 200
    assert await Machine(limited_client, success.json).may_write()


@pytest.mark.security("A-02")
async def test_repeated_failures_write_one_failure_and_one_rate_limit_audit_event(
    limited_client: httpx2.AsyncClient, limited_db: Any
) -> None:
    app = await new_app(limited_db)

    await send_wrong_secrets(limited_client, app, "198.18.0.2", 20)

    assert await events(limited_db, "198.18.0.2") == [("client_authentication", "refused"), ("limit", "refused")]
    detail = "select detail from audit_events where source = '198.18.0.2' and action = 'limit'"
    event_detail = json.loads(await limited_db.fetchval(detail))
    assert (event_detail["limit"], event_detail["allowed"], event_detail["count"]) == (
        "client failures by source",
        "5/86400",
        6,
    )


@pytest.mark.security("P-05")
async def test_failures_of_one_source_do_not_limit_another_source(
    limited_client: httpx2.AsyncClient, limited_db: Any
) -> None:
    app = await new_app(limited_db)
    await send_wrong_secrets(limited_client, app, "198.18.0.3", 7)

    (answer,) = await send_wrong_secrets(limited_client, app, "198.18.0.4", 1)

    assert answer.status == 401


async def test_introspection_failures_count_toward_the_same_rate_limit(
    limited_client: httpx2.AsyncClient, limited_db: Any
) -> None:
    app = await new_app(limited_db)
    await send_wrong_secrets(limited_client, app, "198.18.0.5", 6)

    answer = await limited_client.post(
        "/shop_oauth/introspect", json={"token": "x", **app.in_body, "client_secret": "wrong"}
    )

    assert answer.status_code == 429


async def test_only_the_application_over_its_token_rate_limit_gets_429(
    limited_client: httpx2.AsyncClient, limited_db: Any
) -> None:
    app, other = await new_app(limited_db), await new_app(limited_db)

    answers = [await ask_for_token(limited_client, app, "admin") for _ in range(5)]

    assert [answer.status for answer in answers] == [200, 200, 200, 429, 429]
    assert int(answers[3].headers["retry-after"]) > 0
    assert (await ask_for_token(limited_client, other, "admin")).status == 200
    refusal = await refresh(limited_client, app, answers[0].json["refresh_token"])
    assert (refusal.status, refusal.json["error"]) == (429, "temporarily_unavailable")
    statement = "select count(*) from audit_events where action = 'limit' and actor_id = $1"
    assert await limited_db.fetchval(statement, app.id) == 1


async def test_a_refresh_counts_as_a_token_and_a_429_leaves_the_refresh_token_valid(
    limited_client: httpx2.AsyncClient, limited_db: Any
) -> None:
    app = await new_app(limited_db)
    pair = (await ask_for_token(limited_client, app, "admin")).json

    answers = []
    for _ in range(3):
        answers.append(await refresh(limited_client, app, pair["refresh_token"]))
        pair = answers[-1].json if answers[-1].status == 200 else pair

    assert [answer.status for answer in answers] == [200, 200, 429]
    await limited_db.execute("delete from rate_counts")
    assert (await refresh(limited_client, app, pair["refresh_token"])).status == 200
