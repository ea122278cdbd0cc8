"""Health checks for a proxy, and metrics of all workers."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import httpx2
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.accounts import exchange_code
from tests.admin.dashboard import sign_in
from tests.cluster import Cluster, with_database
from tests.db.processes import until
from tests.service import KEYS, Service

ALERTS = yaml.safe_load(Path("docs/alerts.yaml").read_text())
# One due mail and two postponed ones, all locked so that no worker sends them; a payment without an outcome; and a
# housekeeping run with a backlog.
PENDING_ROWS = """
    insert into outbox_mails (id, kind, recipient, ref_id, not_after, next_at, locked_until, created_at)
    select gen_random_uuid(), 'login_code', 'a@shoppers.example', gen_random_uuid(), now() + interval '1 day',
        now() + at, now() + interval '1 hour', now() - interval '90 seconds'
    from unnest(array[interval '-1 minute', interval '1 hour', interval '1 hour']) at;
    insert into orders (id, number, currency, created_at, updated_at)
    values ('00000000-0000-4000-8000-000000000001', 'WAITS', 'USD', now(), now());
    insert into payment_methods (id, type, name, created_at, updated_at)
    values ('00000000-0000-4000-8000-000000000002', 'check', 'Check', now(), now());
    insert into payments (id, order_id, payment_method_id, number, amount, created_at, updated_at)
    values ('00000000-0000-4000-8000-000000000003', '00000000-0000-4000-8000-000000000001',
        '00000000-0000-4000-8000-000000000002', 'PWAITS', 1, now(), now());
    insert into payment_attempts (id, order_id, payment_id, act, amount, created_at)
    values (gen_random_uuid(), '00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000003',
        'purchase', 1, now() - interval '30 seconds');
    insert into housekeeping_runs values (1, now() - interval '7 seconds', '{"counts": 1234}')
    on conflict (id) do update set ended_at = excluded.ended_at, backlog = excluded.backlog;
"""


@pytest.mark.security("X-07")
async def test_the_liveness_check_runs_no_statement(http: httpx2.AsyncClient, service: Service) -> None:
    response = await http.get("/livez")

    assert (response.status_code, response.json()) == (200, {"status": "alive"})
    assert service.request_line(response.headers["x-request-id"])["statements"] == 0


@pytest.fixture(scope="module")
def two_workers_url(cluster: Cluster, worker_name: str) -> Iterator[str]:
    with cluster.database(f"health_{worker_name}") as url:
        yield url


@pytest.fixture(scope="module")
def two_workers(two_workers_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A shop that is served by two processes, on a database that can be taken away."""
    service = Service(
        "--workers",
        "2",
        SHOP_DATA_DIR=str(tmp_path_factory.mktemp("data")),
        SHOP_DATABASE_URL=two_workers_url,
        SHOP_SECRET_KEYS=KEYS,
        SHOP_MAILBOX="on",
        SHOP_DRAIN_SECONDS="0",
        SHOP_METRICS="public",
        SHOP_BACKUP_URL=str(tmp_path_factory.mktemp("backups")),
    )
    service.wait_for(lambda line: '"worker ready"' in line, count=2)
    yield service
    service.stop()


@pytest.mark.security("X-07")
async def test_an_unreachable_or_outdated_database_makes_the_service_unready_but_alive(
    two_workers: Service, two_workers_url: str
) -> None:
    admin = await asyncpg.connect(two_workers_url)
    outside = await asyncpg.connect(with_database(two_workers_url, "postgres"))
    name = await admin.fetchval("select current_database()")
    async with two_workers.client(timeout=10) as http:
        assert (await http.get("/readyz")).json() == {"status": "ready"}

        await admin.execute("alter table alembic_version rename to hidden")
        without_version = await http.get("/readyz")
        await admin.execute("alter table hidden rename to alembic_version")
        newest = await admin.fetchval("select version_num from alembic_version")
        await admin.execute("update alembic_version set version_num = '0001'")
        behind = await http.get("/readyz")
        await admin.execute("update alembic_version set version_num = $1", newest)
        await outside.execute(f"alter database {name} with allow_connections false")
        await outside.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", name)
        away, alive, cart = await asyncio.gather(
            http.get("/readyz"), http.get("/livez"), http.post("/api/v2/storefront/cart")
        )
        await outside.execute(f"alter database {name} with allow_connections true")
        back = await http.get("/readyz")
    admin.terminate()
    await outside.close()

    assert (without_version.status_code, behind.status_code) == (503, 503)
    assert (away.status_code, alive.status_code, cart.status_code) == (503, 200, 503)
    assert (cart.json()["code"], cart.headers["retry-after"]) == ("temporarily_unavailable", "5")
    assert name not in away.text
    assert back.status_code == 200


async def test_metrics_are_summed_over_all_workers(two_workers: Service) -> None:
    for _ in range(30):
        # Each request opens a connection: the kernel spreads connections over the workers.
        assert two_workers.get("/openapi.json").status_code == 200
    sample = 'shop_request_seconds_count{method="GET",route="/openapi.json",status="200"} 30.0'

    async def is_complete() -> bool:
        return sample in two_workers.get("/metrics").text

    # The other worker saves its metrics a few times a second.
    await until(is_complete)


def read_metrics(text: str) -> dict[str, float]:
    """The value of each sample, by its name and the values of its labels."""
    samples = (sample for family in text_string_to_metric_families(text) for sample in family.samples)
    return {" ".join([sample.name, *sample.labels.values()]): sample.value for sample in samples}


@pytest.mark.security("X-20")
async def test_metrics_show_pending_e_mails_unsettled_payments_and_failed_sign_ins(
    two_workers: Service, two_workers_url: str
) -> None:
    db = await asyncpg.connect(two_workers_url)
    query = "select count(*) from audit_events where action = 'sign_in' and outcome = 'refused'"
    async with two_workers.client() as http:
        for _ in range(2):
            assert (await exchange_code(http, "a@shoppers.example", "000000")).status == 401
        await sign_in(http, "a@operators.example", "not the one at all")
        assert await db.fetchval(query) == 3
        await db.execute(PENDING_ROWS)
        metrics: dict[str, float] = {}

        async def is_shown() -> bool:
            metrics.update(read_metrics((await http.get("/metrics")).text))
            return metrics.get("shop_unsettled_payments") == 1

        await until(is_shown)
        now = await db.fetchval("select extract(epoch from now())::float8")
        await db.execute("delete from orders where number = 'WAITS'; delete from outbox_mails")
    await db.close()

    assert metrics["shop_database_up"] == 1
    assert (metrics["shop_outbox_mails due"], metrics["shop_outbox_mails postponed"]) == (1, 2)
    assert 90 <= metrics["shop_outbox_oldest_due_seconds"] < 150
    assert 30 <= metrics["shop_unsettled_payments_oldest_seconds"] < 90
    assert (metrics["shop_failed_sign_ins customer"], metrics["shop_failed_sign_ins operator"]) == (2, 1)
    assert (metrics["shop_housekeeping_backlog_rows counts"], metrics["shop_housekeeping_backlog_rows mails"]) == (
        1234,
        0,
    )
    assert 7 <= now - metrics["shop_housekeeping_last_run_timestamp_seconds"] < 60
    # The first connection of each worker was waited for.
    assert metrics["shop_pool_wait_seconds_count"] >= 1
    assert metrics["shop_pool_wait_seconds_sum"] > 0


@pytest.mark.security("X-20")
@pytest.mark.torture
async def test_metrics_are_served_without_the_database(two_workers: Service, two_workers_url: str) -> None:
    inside = await asyncpg.connect(two_workers_url)
    name = await inside.fetchval("select current_database()")
    await inside.close()
    outside = await asyncpg.connect(with_database(two_workers_url, "postgres"))
    async with two_workers.client() as http:

        async def is_up() -> Any:
            return read_metrics((await http.get("/metrics")).text)["shop_database_up"]

        async def is_down() -> bool:
            return not await is_up()

        await until(is_up)
        await outside.execute(f"alter database {name} with allow_connections false")
        try:
            await outside.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", name)
            await until(is_down)
            metrics = read_metrics((await http.get("/metrics")).text)
        finally:
            await outside.execute(f"alter database {name} with allow_connections true")
            await outside.close()
        await until(is_up)

    assert "shop_pool_wait_seconds_count" in metrics
    assert "shop_outbox_mails due" not in metrics


@pytest.mark.security("X-20")
async def test_the_alert_rules_use_exactly_the_exported_metrics(two_workers: Service) -> None:
    rules = [rule for group in ALERTS["groups"] for rule in group["rules"]]
    async with two_workers.client() as http:
        await http.get("/api/v2/storefront/stores/default")

        async def is_counted() -> bool:
            """Whether the worker that served the request has saved its metrics."""
            text = (await http.get("/metrics")).text
            return bool(read_metrics(text)["shop_database_up"]) and "shop_deprecated_requests_total{" in text

        await until(is_counted)
        families = text_string_to_metric_families((await http.get("/metrics")).text)
        samples_by_family = {family.name: {sample.name for sample in family.samples} for family in families}
    metric_names = {name for rule in rules for name in re.findall(r"\bshop_\w+", rule["expr"])}

    assert metric_names <= {sample for samples in samples_by_family.values() for sample in samples}
    assert [family for family, samples in samples_by_family.items() if not metric_names & samples] == []
    assert all(rule["annotations"]["summary"] and rule["labels"]["severity"] in {"page", "warn"} for rule in rules)
