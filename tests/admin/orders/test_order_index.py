"""The index of orders: filled once from all orders, then from the event log, by one process at a time."""

from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from shop.actions.operations.order_index import FILL_BATCH, update_order_index
from tests.platform.client import operator_context

ORDERS = """insert into orders (id, number, currency, state, created_at, updated_at, completed_at)
    select gen_random_uuid(), 'R' || n, 'USD', 'complete', now(), now(),
        case when n % 3 > 0 then timestamptz '2020-01-01' + n / 6 * interval '1 day' end
    from generate_series(1, $1) n"""
MISSING = """select count(*) from orders where completed_at is not null
    and not exists (select from order_listings where order_id = orders.id)"""


@pytest.fixture
async def database(own_database: Callable[..., str]) -> AsyncIterator[tuple[str, Any]]:
    url = own_database()
    db = await asyncpg.connect(url)
    yield url, db
    await db.close()


async def add_event(db: Any, number: str, *, is_part: bool = False) -> None:
    """Adds an event about an order, or about a part of it, with the next position."""
    async with db.transaction():
        position = await db.fetchval(
            "update event_counters set last_position = last_position + 1 returning last_position"
        )
        order_id = await db.fetchval("select id from orders where number = $1", number)
        await db.execute(
            """insert into events (id, type, occurred_at, actor_kind, subject_type, subject_id, row, position)
            values (gen_random_uuid(), 'order.updated', now(), 'shop', $1, $2, jsonb_build_object('order_id', $3::uuid),
                $4)
            """,
            "shipment" if is_part else "order",
            uuid4() if is_part else order_id,
            order_id,
            position,
        )


async def run_all(ctx: Any) -> int:
    """Works until nothing remains; returns the number of rounds."""
    rounds = 1
    while await update_order_index(ctx.shared):
        rounds += 1
    return rounds


async def test_the_first_filling_adds_all_completed_orders_in_batches(database: tuple[str, Any]) -> None:
    url, db = database
    await db.execute(ORDERS, 3 * FILL_BATCH)

    async with operator_context(url) as ctx:
        await update_order_index(ctx.shared)
        first = await db.fetchval("select count(*) from order_listings")
        oldest = await db.fetchval("select min(placed_at) from order_listings")
        newest_missing = await db.fetchval(
            "select max(completed_at) from orders where id not in (select order_id from order_listings)"
        )
        await run_all(ctx)

    assert first == FILL_BATCH
    assert newest_missing <= oldest
    assert await db.fetchval(MISSING) == 0
    assert await db.fetchval("select count(*) from order_listings") == 2 * FILL_BATCH
    assert await db.fetchval("select is_filled from order_index_progress")


@pytest.mark.parametrize("is_part", [False, True])
async def test_events_about_an_order_or_a_part_of_it_rebuild_its_row(database: tuple[str, Any], is_part: bool) -> None:
    url, db = database
    await db.execute(ORDERS, 10)
    async with operator_context(url) as ctx:
        await run_all(ctx)
        await db.execute("update orders set payment_state = 'balance_due'")
        await add_event(db, "R4", is_part=is_part)
        await run_all(ctx)

    rows = await db.fetch("select number from order_listings join orders on id = order_id where is_unpaid")
    assert [row[0] for row in rows] == ["R4"]


async def test_one_process_at_a_time_works(database: tuple[str, Any]) -> None:
    url, db = database
    await db.execute(ORDERS, 10)
    async with operator_context(url) as ctx:
        async with db.transaction():
            await db.execute("select * from order_index_progress for update")
            assert not await update_order_index(ctx.shared)
            assert await db.fetchval("select count(*) from order_listings") == 0
        await run_all(ctx)
    assert await db.fetchval(MISSING) == 0


async def test_a_failure_leaves_the_work_to_the_next_round(database: tuple[str, Any]) -> None:
    url, db = database
    await db.execute(ORDERS, 10)
    async with operator_context(url) as ctx:
        await run_all(ctx)
        await db.execute("update orders set payment_state = 'failed' where number = 'R5'")
        await add_event(db, "R5")
        await db.execute("alter table order_listings add constraint broken check (not is_unpaid) not valid")
        with pytest.raises(Exception, match="broken"):
            await update_order_index(ctx.shared)
        await db.execute("alter table order_listings drop constraint broken")
        await run_all(ctx)
    assert await db.fetchval("select count(*) from order_listings where is_unpaid") == 1


async def test_the_index_is_filled_again_if_unread_events_were_dropped(database: tuple[str, Any]) -> None:
    url, db = database
    await db.execute(ORDERS, 10)
    async with operator_context(url) as ctx:
        await run_all(ctx)
        for number in ("R4", "R5"):
            await db.execute("update orders set payment_state = 'failed' where number = $1", number)
            await add_event(db, number)
        await db.execute("delete from events where position = (select min(position) from events)")
        await run_all(ctx)
    assert await db.fetchval("select count(*) from order_listings where is_unpaid") == 2
    assert await db.fetchval("select position = (select last_position from event_counters) from order_index_progress")


async def test_a_deleted_order_leaves_the_index(database: tuple[str, Any]) -> None:
    url, db = database
    await db.execute(ORDERS, 2)
    async with operator_context(url) as ctx:
        await run_all(ctx)
    await db.execute("delete from orders where number = 'R2'")
    assert await db.fetchval("select count(*) from order_listings") == 1
