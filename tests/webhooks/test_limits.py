"""The limits of webhooks: the size of a body, the age of the delivery log, and the renewal of leases."""

import asyncio
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from shop.actions import records
from shop.actions.operations.housekeeping import run_housekeeping
from shop.actions.webhooks.endpoints import MAX_ENDPOINTS, WEBHOOK_ENDPOINT
from shop.base.errors import Invalid
from tests.builders import Make
from tests.platform.client import Machine, operator_context
from tests.webhooks.receiver import Endpoint, Receiver, new_endpoint, wait_until

ENDPOINT = """insert into webhook_endpoints (id, url, types, position, created_at, updated_at)
    values ($1, 'https://example.com/hook', '{*}', 0, now(), now())"""
DELIVERY = """insert into webhook_deliveries
    (id, endpoint_id, event_id, event_type, occurred_at, position, subject_id, state, created_at)
    values ($1, $2, gen_random_uuid(), 'order.completed', now(), 1, gen_random_uuid(), 'succeeded',
        now() - interval '1 day' * $3)"""
ATTEMPT = """insert into webhook_attempts (id, delivery_id, number, milliseconds, created_at)
    values (gen_random_uuid(), $1, 1, 10, now())"""


async def test_a_body_is_under_20_kb_however_much_has_changed(receiver: Receiver, writer: Machine, make: Make) -> None:
    endpoint = await new_endpoint(writer, receiver.url, "product.updated")
    product = await make.new("products", "product", name="Book", description="\N{BOOKS}" * 2500)

    await make.change("products", product.id, "product", description="\N{PACKAGE}" * 3000)
    await make.change("products", product.id, "product", description="\N{BOOKS}" * 5000)
    await make.change("products", product.id, "product", description="d")

    deliveries = await receiver.wait_for(3, product.id)
    await writer.delete(f"/webhook_endpoints/{endpoint.id}")
    bodies = [each.json for each in deliveries]
    assert all(len(each.body) < 20_000 for each in deliveries)
    assert [body["data"].get("truncated", False) for body in bodies] == [True, True, True]
    assert {body["data"]["url"].rpartition("/")[2] for body in bodies} == {product.id}


async def test_deliveries_and_their_attempts_are_deleted_after_30_days(own_database: Callable[..., str]) -> None:
    url = own_database()
    db, endpoint_id, old, new = await asyncpg.connect(url), uuid4(), uuid4(), uuid4()
    await db.execute(ENDPOINT, endpoint_id)
    for delivery_id, days in ((old, 31), (new, 29)):
        await db.execute(DELIVERY, delivery_id, endpoint_id, days)
        await db.execute(ATTEMPT, delivery_id)

    async with operator_context(url) as ctx:
        removed = (await run_housekeeping(ctx.shared)).removed

    left = [row["delivery_id"] for row in await db.fetch("select delivery_id from webhook_attempts")]
    await db.close()
    assert (removed, left) == ({"webhook deliveries": 1}, [new])


async def test_a_shop_has_at_most_100_endpoints(own_database: Callable[..., str]) -> None:
    url, values = own_database(), {"url": "https://example.com/hook"}
    db, ids = await asyncpg.connect(url), [uuid4() for _ in range(MAX_ENDPOINTS)]
    await db.executemany(ENDPOINT, [(each,) for each in ids])

    async with operator_context(url) as ctx:
        with pytest.raises(Invalid) as refusal:
            await records.create(ctx.with_new_session(), WEBHOOK_ENDPOINT, values)
        assert "100 endpoints" in str(refusal.value.errors["base"])
        await records.delete(ctx.with_new_session(), WEBHOOK_ENDPOINT, ids[0])
        await records.create(ctx.with_new_session(), WEBHOOK_ENDPOINT, values)
    await db.close()


@pytest.mark.torture
async def test_a_lease_is_renewed_before_it_ends(endpoint: Endpoint, db: Any) -> None:
    has_lease = "select leased_by from webhook_endpoints where id = $1 and leased_until > now()"
    async with asyncio.timeout(20):
        while (process_id := await db.fetchval(has_lease, endpoint.id)) is None:
            await db.execute("select pg_sleep(0.02)")

    await db.execute(
        "update webhook_endpoints set leased_until = now() + interval '15 seconds' where id = $1", endpoint.id
    )

    renewed = "exists (select from webhook_endpoints where id = $1 and leased_by = $2 and leased_until > $3)"
    later = await db.fetchval("select now() + interval '20 seconds'")
    await wait_until(db, renewed, endpoint.id, process_id, later)
