"""The timelines of orders and customers: each entry once, as long as the order or customer exists."""

import re
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any
from uuid import UUID

import asyncpg
import httpx2
import pytest

from shop.actions import records
from shop.actions.context import Context
from shop.actions.operations.housekeeping import run_housekeeping
from shop.base.ids import new_id
from shop.platform.resources.registry import COLLECTIONS
from tests.accounts import sign_in
from tests.admin.catalog_forms import saved_message
from tests.admin.dashboard import Dashboard
from tests.admin.order_builders import ORDERS, buy, payment_of, refund_payment, shipment_of, text_of
from tests.checkout_builders import Buyer
from tests.platform.client import Machine, operator_context

USER = COLLECTIONS["user"].actions
TYPES = "select type from timeline_entries where order_id = $1 order by at, ordinal"


@pytest.fixture
async def quiet_shop(own_database: Callable[..., str]) -> AsyncIterator[tuple[Context, Any]]:
    """A context of a shop in which nothing else runs, and a connection to its database."""
    url = own_database()
    db = await asyncpg.connect(url)
    async with operator_context(url) as ctx:
        yield ctx, db
    await db.close()


async def read_timeline(dashboard: Dashboard, path: str) -> list[str]:
    """The sentences of a timeline, newest first."""
    page = (await dashboard.get(path)).text.partition('class="timeline"')[2].partition("</ol>")[0]
    return [text_of(each.partition("<time")[0]) for each in re.findall(r"<li>(.*?)</li>", page, re.DOTALL)]


async def test_an_order_tells_what_happened_to_it_once(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    order, _ = await buy(buyer)
    number = await db.fetchval("select number from shipments where order_id = $1", UUID(order.id))
    saved_message(await dashboard.post(f"{await shipment_of(db, order)}/ship", tracking="1Z9"))
    saved_message(await refund_payment(dashboard, await payment_of(db, order), amount="5.00"))

    timeline = await read_timeline(dashboard, f"{ORDERS}/{order['number']}")
    assert sorted(timeline[2:4]) == [
        f"A guest placed order {order['number']} for $25.00",
        "Card of $25.00 was captured",
    ]
    assert [*timeline[:2], *timeline[4:]] == [
        f"{dashboard.email} refunded $5.00",
        f"{dashboard.email} shipped {number} with tracking 1Z9",
        "Cart created",
    ]


async def test_a_declined_card_is_in_the_timeline(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    await buyer.add_items((await buyer.checkout_setup.product(), 2))
    await buyer.enter_address()
    await buyer.pay("decline")
    answer = await buyer.complete()
    assert answer.status == 422

    number = (await buyer.get("/cart"))["number"]

    assert "Card of $25.00 was declined" in await read_timeline(dashboard, f"{ORDERS}/{number}")


async def test_a_customer_has_their_own_events_and_completed_orders(
    dashboard: Dashboard, http: httpx2.AsyncClient, db: Any
) -> None:
    member = await sign_in(http, first_name="Ada", last_name="Lovelace")
    path = f"/admin/customers/{await member.id()}"
    saved_message(await dashboard.post(f"{path}/disable"))
    saved_message(await dashboard.post(f"{path}/enable"))

    timeline = await read_timeline(dashboard, path)

    assert timeline[:2] == [f"{dashboard.email} enabled the account", f"{dashboard.email} disabled the account"]
    assert timeline.count("The e-mail address was confirmed") == 1
    assert "Signed in" in timeline


async def test_a_deleted_customer_leaves_no_entry(writer: Machine, db: Any) -> None:
    user = (await writer.post("/users", {"user": {"email": f"{new_id().hex}@a.example"}})).id
    count = "select count(*) from timeline_entries where user_id = $1"
    before = await db.fetchval(count, UUID(user))

    answer = await writer.delete(f"/users/{user}")

    assert (before, answer.status, await db.fetchval(count, UUID(user))) == (1, 204, 0)


async def test_entries_are_deleted_with_their_order_and_contain_no_personal_data(buyer: Buyer, db: Any) -> None:
    order, _ = await buy(buyer)
    types = [row["type"] for row in await db.fetch(TYPES, UUID(order.id))]
    text = await db.fetchval(
        "select string_agg(t::text, ' ') from timeline_entries t where order_id = $1", UUID(order.id)
    )

    assert sorted(types) == ["order.completed", "payment.captured"]
    assert not re.search(r"Lovelace|Main Street|Springfield|555-0100|@", text)
    async with db.transaction():
        await db.execute("delete from orders where id = $1", UUID(order.id))
        assert await db.fetch(TYPES, UUID(order.id)) == []
        await db.execute("rollback; begin")


async def test_an_entry_outlives_its_event(quiet_shop: tuple[Context, Any]) -> None:
    ctx, db = quiet_shop
    user_id = await records.create(ctx, USER, {"email": "ada@example.com"})
    await db.execute("delete from events_default")
    for row in await db.fetch(
        "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'events'::regclass"
    ):
        if row["name"] != "events_default":
            await db.execute(f"drop table {row['name']}")
    await run_housekeeping(ctx.shared)

    types = [row["type"] for row in await db.fetch("select type from timeline_entries where user_id = $1", user_id)]

    assert await db.fetchval("select count(*) from events") == 0
    assert types == ["customer.created"]


async def test_a_rolled_back_change_has_no_entry_and_no_audit(quiet_shop: tuple[Context, Any]) -> None:
    ctx, db = quiet_shop
    with suppress(ZeroDivisionError):
        async with ctx.db.transaction():
            await records.make(ctx, USER, {"email": "ada@example.com"})
            raise ZeroDivisionError

    counts = [await db.fetchval(f"select count(*) from {name}") for name in ("timeline_entries", "audit_events")]
    assert counts == [0, 0]
