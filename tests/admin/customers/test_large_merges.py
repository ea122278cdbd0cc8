"""Merging an account with many orders: they move in batches, which the worker continues, also after a crash."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import httpx2
import pytest

from shop.actions.accounts.merges import BATCH, BATCHES_AT_ONCE
from tests.accounts import new_email, sign_in
from tests.admin.customers.test_customer_forms import CUSTOMERS, create, seen_in
from tests.admin.customers.test_merge import UNBALANCED, merge, preview
from tests.admin.dashboard import Dashboard, new_dashboard
from tests.concurrency import wait_for_locks
from tests.db.processes import kill, until
from tests.platform.client import Machine
from tests.service import KEYS, Service

HAS_ENDED = "select not exists (select from customer_merges where duplicate_id = $1)"
COUNT = "select count(*) from orders where user_id = $1"
UPDATES = (
    "select count(*) from events join orders on orders.id = subject_id and user_id = $1 where type = 'order.updated'"
)


async def insert_orders(db: Any, user_id: UUID, count: int) -> list[UUID]:
    """Gives a customer completed orders; returns their ids in order."""
    rows = await db.fetch(
        """insert into orders (id, number, state, currency, email, user_id, created_at, updated_at, completed_at)
        select gen_random_uuid(), 'M' || $2 || n, 'complete', 'USD', 'a@shoppers.example', $1, now(), now(), now()
        from generate_series(1, $3) n returning id""",
        user_id,
        uuid4().hex[:12],
        count,
    )
    return sorted(row["id"] for row in rows)


async def test_the_worker_moves_what_the_request_did_not(
    dashboard: Dashboard, http: httpx2.AsyncClient, db: Any
) -> None:
    survivor, duplicate = await sign_in(http, new_email()), await sign_in(http, new_email())
    survivor_id, duplicate_id = await survivor.id(), await duplicate.id()
    count = BATCH * (BATCHES_AT_ONCE + 1) + 50
    await insert_orders(db, duplicate_id, count)

    answer = await merge(dashboard, f"{CUSTOMERS}/{survivor_id}", duplicate.email)

    assert answer.headers["location"] == f"{CUSTOMERS}/{survivor_id}?done=merging", answer.text
    await until(lambda: db.fetchval(HAS_ENDED, duplicate_id), 60)
    assert await db.fetchval(COUNT, survivor_id) == count
    assert await db.fetchval(UPDATES, survivor_id) == count
    assert "of a merged account move" not in (await dashboard.get(f"{CUSTOMERS}/{survivor_id}")).text


async def insert_credit(db: Any, user_id: UUID) -> None:
    """Adds $5, as a refund of an order does whose account was closed meanwhile."""
    await db.execute(
        """with credit as (
            insert into store_credits (id, user_id, currency, amount, memo, actor_kind, created_at, updated_at)
            values (gen_random_uuid(), $1, 'USD', 500, 'Refund', 'operator', now(), now()) returning id
        )
        insert into store_credit_events
            (id, store_credit_id, user_id, currency, action, amount, user_total_amount, actor_kind, created_at)
        select gen_random_uuid(), id, $1, 'USD', 'granted', 500, 500, 'operator', now() from credit""",
        user_id,
    )


@pytest.mark.torture
async def test_while_orders_move_the_account_is_closed_and_nothing_is_lost(
    dashboard: Dashboard, http: httpx2.AsyncClient, writer: Machine, db: Any, database_url: str
) -> None:
    survivor, duplicate = await sign_in(http, new_email()), await sign_in(http, new_email())
    survivor_id, duplicate_id = await survivor.id(), await duplicate.id()
    path, other_path = f"{CUSTOMERS}/{survivor_id}", await create(dashboard, tags="", note="")
    order_ids = await insert_orders(db, duplicate_id, 3)
    cart = await writer.post("/orders", {"order": {"currency": "USD"}})
    blocker = await asyncpg.connect(database_url)
    try:
        async with blocker.transaction():
            await blocker.execute("select from orders where id = $1 for update", order_ids[1])
            answer = await merge(dashboard, path, duplicate.email)
            pages = [(await dashboard.get(each)).text for each in (path, f"{CUSTOMERS}/{duplicate_id}")]
            erase_page = (await dashboard.get(f"{path}/erase")).text
            chained = await dashboard.post(f"{other_path}/merge", email=survivor.email)
            refusals = [
                (await dashboard.post(f"{path}/erase", email=survivor.email)).status_code,
                (await writer.patch(f"/orders/{cart['number']}", {"order": {"user_id": str(duplicate_id)}})).status,
                (await writer.delete(f"/users/{survivor_id}")).status,
            ]
            is_signed_in = await duplicate.is_signed_in()
            await insert_credit(db, duplicate_id)
    finally:
        await blocker.close()
    await until(lambda: db.fetchval(HAS_ENDED, duplicate_id), 60)

    # The request does not wait for the order that another one locks.
    assert answer.headers["location"] == f"{path}?done=merging", answer.text
    assert all("0 of 3" in text for text in pages)
    assert "Erase personal data …" not in pages[0]
    assert "Wait until all of them are here" in erase_page
    assert "Erase for good" not in erase_page
    assert refusals == [422] * 3
    assert chained.status_code == 422
    assert "still move to it" in chained.text
    assert not is_signed_in
    assert await db.fetchval(COUNT, survivor_id) == 3
    assert await db.fetchval("select sum(amount) from store_credits where user_id = $1", survivor_id) == 500
    assert await db.fetchval(UNBALANCED, survivor_id) == 0


@pytest.mark.torture
async def test_a_merge_continues_after_a_crash(own_data_dir: Callable[[], tuple[Path, str]]) -> None:
    data_dir, url = own_data_dir()
    environ = {"SHOP_DATA_DIR": str(data_dir), "SHOP_SECRET_KEYS": KEYS, "SHOP_DRAIN_SECONDS": "0"}
    service, db = Service(**environ, TMPDIR=str(data_dir)), await asyncpg.connect(url)
    try:
        async with service.client() as http:
            dashboard = await new_dashboard(http, db)
            survivor_id, duplicate = await (await sign_in(http)).id(), await sign_in(http, new_email())
            duplicate_id = await duplicate.id()
            order_ids = await insert_orders(db, duplicate_id, 150)
            path = f"{CUSTOMERS}/{survivor_id}"
            seen = seen_in(await preview(dashboard, path, duplicate.email))
            async with db.transaction():
                # Some batch waits for one of these orders when the process is killed.
                await db.execute("select from orders where id = any($1) for update", order_ids[::3])
                request = asyncio.create_task(dashboard.post(f"{path}/merge", email=duplicate.email, seen=seen))
                await wait_for_locks(db, 1)
                await asyncio.to_thread(kill, *service.worker_pids())
                remaining_count = await db.fetchval(COUNT, duplicate_id)
            with pytest.raises(httpx2.TransportError):
                await request
        assert remaining_count == 150
        await until(lambda: db.fetchval(HAS_ENDED, duplicate_id), 60)

        assert (await db.fetchval(COUNT, survivor_id), await db.fetchval(COUNT, duplicate_id)) == (150, 0)
        # Each order moved once.
        assert await db.fetchval(UPDATES, survivor_id) == 150
    finally:
        await db.close()
        await asyncio.to_thread(service.stop)
