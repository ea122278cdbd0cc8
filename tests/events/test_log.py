"""What the log contains after rollbacks, races and crashes, and in which order."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any
from uuid import uuid4

import asyncpg
import httpx2
import pytest

from shop.actions import records
from shop.actions.catalog.resources import PRODUCT, STOCK_ITEM, STOCK_LOCATION
from shop.actions.context import Context
from shop.actions.operations.abandoned_carts import note_abandoned_carts
from shop.actions.operations.event_log import number_events
from shop.actions.setup.resources import TAX_CATEGORY
from shop.queries.catalog.products import find_master
from tests.builders import Make
from tests.concurrency import run_concurrently
from tests.events.feed import FeedReader, new_reader
from tests.platform.client import Machine, new_machine, operator_context

CHANGE_COUNT = 200
WRITERS = 16
CART = """insert into orders (id, number, currency, email, item_count, created_at, updated_at)
    values ($1, $2, 'USD', $3, $4, now() - interval '1 hour' * $5, now() - interval '1 hour' * $5)"""


@pytest.fixture
async def reader(http: httpx2.AsyncClient, db: Any) -> FeedReader:
    return await new_reader(await new_machine(http, db, "read"))


@pytest.fixture
async def quiet_shop(own_database: Callable[..., str]) -> AsyncIterator[tuple[Context, Any]]:
    """A context of a shop in which nothing else runs, and a connection to its database."""
    url = own_database()
    db = await asyncpg.connect(url)
    async with operator_context(url) as ctx:
        yield ctx, db
    await db.close()


async def types_in(db: Any) -> list[str]:
    return [row["type"] for row in await db.fetch("select type from events order by occurred_at, ordinal")]


class CallerError(Exception):
    """Rolls back a part of a transaction."""


async def test_a_refused_update_leaves_no_event(reader: FeedReader, make: Make, writer: Machine) -> None:
    promotion = await make.new("promotions", "promotion", name="Summer", code=uuid4().hex)
    unknown_part = {"promotion_actions_attributes": [{"type": "no such benefit"}]}

    refusal = await writer.patch(f"/promotions/{promotion.id}", {"promotion": {"name": "Winter", **unknown_part}})
    await make.remove("promotions", promotion.id)

    events = await reader.read_about(promotion.id, until="promotion.deleted")
    assert refusal.status == 422
    assert [event["type"] for event in events] == ["promotion.created", "promotion.deleted"]


async def test_a_savepoint_that_rolls_back_takes_its_events_with_it(quiet_shop: tuple[Context, Any]) -> None:
    ctx, db = quiet_shop
    async with ctx.db.transaction():
        kept_id = await records.make(ctx, TAX_CATEGORY, {"name": "Kept"})
        with suppress(CallerError):
            async with ctx.db.savepoint():
                await records.make(ctx, TAX_CATEGORY, {"name": "Undone"})
                await records.remove(ctx, TAX_CATEGORY, kept_id)
                raise CallerError

    events = await db.fetch("select type, subject_id from events")
    assert [(row["type"], row["subject_id"]) for row in events] == [("tax_category.created", kept_id)]


async def test_a_record_that_is_created_and_deleted_in_one_transaction_has_no_events(
    quiet_shop: tuple[Context, Any],
) -> None:
    ctx, db = quiet_shop
    async with ctx.db.transaction():
        await records.remove(ctx, TAX_CATEGORY, await records.make(ctx, TAX_CATEGORY, {"name": "Brief"}))

    assert await types_in(db) == []


async def test_demo_data_has_no_events(quiet_shop: tuple[Context, Any]) -> None:
    ctx, db = quiet_shop
    ctx.logs_events = False

    await records.create(ctx.with_new_session(), TAX_CATEGORY, {"name": "Demo"})

    assert await types_in(db) == []


async def test_concurrent_updates_of_a_record_are_a_chain_in_the_order_of_their_commits(
    reader: FeedReader, make: Make, writer: Machine, db: Any
) -> None:
    created = await make.new("tax_categories", "tax_category", name=f"0 {uuid4().hex}")
    names = [f"{number} {uuid4().hex}" for number in (1, 2, 3)]
    path = f"/tax_categories/{created.id}"
    calls = [writer.patch(path, {"tax_category": {"name": name}}) for name in names]

    answers = await run_concurrently(db, "tax_categories", created.id, *calls)
    last_name = (await writer.get(path))["name"]
    await make.remove("tax_categories", created.id)

    events = await reader.read_about(created.id, until="tax_category.deleted")
    changes = [event["changes"]["name"] for event in events if event["type"] == "tax_category.updated"]
    assert {answer.status for answer in answers} == {200}
    assert [before for before, _ in changes] == [created["name"], *(after for _, after in changes[:-1])]
    assert [changes[-1][1], {after for _, after in changes}] == [last_name, set(names)]


async def test_positions_have_no_gaps_after_many_concurrent_changes(reader: FeedReader, writer: Machine) -> None:
    turns = asyncio.Semaphore(WRITERS)

    async def change(number: int) -> int:
        body = {"tax_category": {"name": f"{number} {uuid4().hex}"}}
        async with turns:
            return (await writer.post("/tax_categories", body)).status

    statuses = await asyncio.gather(*(change(number) for number in range(CHANGE_COUNT)))
    assert set(statuses) == {201}

    events: list[dict[str, Any]] = []
    while len([event for event in events if event["type"] == "tax_category.created"]) < CHANGE_COUNT:
        page = await reader.read()
        assert page, f"only {len(events)} events came"
        events += page
    positions = [event["position"] for event in events]
    assert positions == list(range(positions[0], positions[0] + len(positions)))


async def test_changes_of_a_stock_item_within_a_second_are_one_event_with_the_last_state(
    quiet_shop: tuple[Context, Any],
) -> None:
    ctx, db = quiet_shop
    item_id = await _new_stock_item(ctx)
    for count in (5, 6, 7, 8):
        await records.update(ctx.with_new_session(), STOCK_ITEM, item_id, {"count_on_hand": count})
    # The creation and two changes in one second, the other two in the next.
    await db.execute(
        """update events e set occurred_at = date_trunc('day', now() at time zone 'UTC') at time zone 'UTC'
            + interval '400 ms' * n.number
        from (select id, row_number() over (order by occurred_at, ordinal) - 1 as number from events
            where type = 'stock.changed') n where n.id = e.id"""
    )

    await number_events(ctx.shared)

    rows = await db.fetch(
        """select (row ->> 'count_on_hand')::int as count, position from events
        where type = 'stock.changed' order by position"""
    )
    assert [row["count"] for row in rows] == [6, 8]
    assert None not in [row["position"] for row in rows]


async def _new_stock_item(ctx: Context) -> Any:
    product_id = await records.create(ctx.with_new_session(), PRODUCT, {"name": "Mug"})
    master = await find_master(ctx.with_new_session().db, product_id)
    assert master
    location_id = await records.create(ctx.with_new_session(), STOCK_LOCATION, {"name": "Store"})
    fields = {"variant_id": master.id, "stock_location_id": location_id}
    return await records.create(ctx.with_new_session(), STOCK_ITEM, fields)


async def test_an_event_whose_process_ended_after_the_commit_is_numbered_by_another(
    quiet_shop: tuple[Context, Any],
) -> None:
    ctx, db = quiet_shop
    await records.create(ctx, TAX_CATEGORY, {"name": "Books"})
    before = await db.fetchval("select position from events")

    count = await number_events(ctx.with_new_session().shared)

    assert (before, count, await db.fetchval("select position from events")) == (None, 1, 1)


async def test_an_idle_cart_with_an_address_is_abandoned_once(quiet_shop: tuple[Context, Any]) -> None:
    ctx, db = quiet_shop
    carts = {
        "idle": ("a@shop.example", 1, 25),
        "fresh": ("b@shop.example", 1, 23),
        "unknown": (None, 1, 25),
        "empty": ("c@shop.example", 0, 25),
        "old": ("d@shop.example", 1, 24 * 6),
        "draft": ("e@shop.example", 1, 25),
    }
    for number, cart in carts.items():
        await db.execute(CART, uuid4(), number, *cart)
    await db.execute("update orders set author_id = $1 where number = 'draft'", uuid4())

    counts = [await note_abandoned_carts(ctx.shared) for _ in range(2)]

    events = await db.fetch("select type, actor_kind, row ->> 'number' as number from events")
    assert counts == [1, 0]
    assert [tuple(event) for event in events] == [("cart.abandoned", "shop", "idle")]
