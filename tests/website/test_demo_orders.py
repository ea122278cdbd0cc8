"""The historical orders of the demo shop: added once after the start, complete, and without any effect beside them."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import httpx2
import pytest

from shop.actions.context import Context
from shop.actions.operations.verify import find_inconsistencies
from shop.actions.order_edits import cancellations
from shop.actions.orders import operations
from shop.demo import shop
from shop.demo.artwork import draw_moon
from shop.demo.load import load_demo
from shop.demo.order_history.history import ORDERS
from shop.demo.order_history.orders import BATCH, add_orders
from shop.demo.pictures import Drawing, Pictures
from shop.demo.shop import MOONS
from shop.rules.catalog.images import Picture, read_picture
from tests.accounts import sign_in
from tests.cluster import Cluster
from tests.platform.client import operator_context
from tests.service import KEYS, Service

UNTOUCHED = (
    "stock_items",
    "stock_movements",
    "stock_holds",
    "promotions",
    "promotion_uses",
    "coupon_codes",
    "store_credits",
    "store_credit_events",
    "users",
    "products",
    "variants",
    "prices",
    "listings",
    "catalog_versions",
    "outbox_mails",
    "audit_events",
    "shops",
)
"""The tables that historical orders do not change."""


class OneImage(Pictures):
    """One image for everything: drawing them takes most of the time."""

    def __init__(self) -> None:
        super().__init__()
        self._picture = read_picture(draw_moon(MOONS[0]))

    def draw(self, drawings: Iterable[Drawing]) -> None:
        """Draws nothing more."""

    async def find(self, drawing: Drawing) -> Picture:
        return self._picture


async def load_plain_demo(url: str, data_dir: Path, *, has_test_card: bool) -> None:
    """Loads the demo shop without orders."""
    async with operator_context(url, data_dir=data_dir) as ctx:
        ctx.is_try_out = has_test_card
        assert await load_demo(ctx, lambda _step, _steps: None, OneImage())


@pytest.fixture(scope="module")
async def demo_dir(cluster: Cluster, worker_name: str) -> AsyncIterator[tuple[Path, str]]:
    with cluster.data_dir(f"demo_orders_{worker_name}") as (data_dir, url):
        await load_plain_demo(url, data_dir, has_test_card=True)
        yield data_dir, url


@pytest.fixture(scope="module")
def demo(demo_dir: tuple[Path, str]) -> Iterator[Service]:
    """A try-out of the demo shop, with all of its orders."""
    service = Service("--demo", SHOP_DATA_DIR=str(demo_dir[0]), SHOP_SECRET_KEYS=KEYS, SHOP_DRAIN_SECONDS="0")
    service.wait_for(lambda line: f'"count":{ORDERS},"total":{ORDERS}' in line)
    yield service
    service.stop()


@pytest.fixture
async def demo_db(demo: Service, demo_dir: tuple[Path, str]) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(demo_dir[1])
    yield connection
    await connection.close()


@pytest.fixture(scope="module")
async def demo_template(
    cluster: Cluster, worker_name: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[str]:
    """The name of a database with the demo shop."""
    name = f"plain_demo_{worker_name}"
    with cluster.database(name) as url:
        await load_plain_demo(url, tmp_path_factory.mktemp("plain_demo"), has_test_card=False)
        yield name


@pytest.fixture
async def plain_demo(own_database: Callable[..., str], demo_template: str) -> AsyncIterator[tuple[Context, Any]]:
    """The demo shop without orders, and a connection to its database."""
    url = own_database(demo_template)
    connection = await asyncpg.connect(url)
    async with operator_context(url) as ctx:
        yield ctx, connection
    await connection.close()


async def read_tables(connection: Any) -> dict[str, list[Any]]:
    return {table: await connection.fetch(f"select t::text from {table} t order by 1") for table in UNTOUCHED}


async def add_all(ctx: Context) -> None:
    while await add_orders(ctx.shared):
        pass


async def findings_of(ctx: Context) -> dict[str, Any]:
    return {name: findings async for name, findings in find_inconsistencies(ctx.db) if findings}


async def test_the_shop_is_ready_before_its_orders_are_added_and_says_how_far_it_is(demo: Service) -> None:
    events = [json.loads(line) for line in demo.lines if line.startswith("{")]
    names = [event["event"] for event in events]
    progress = [event for event in events if event["event"] == "demo orders added"]

    assert names.index("worker ready") < names.index("demo orders added")
    assert [event["count"] for event in progress] == list(range(BATCH, ORDERS + 1, BATCH))
    assert {event["total"] for event in progress} == {ORDERS}
    async with demo.client() as http:
        assert (await http.get("/readyz")).status_code == 200


async def test_orders_are_in_every_state_and_every_total_is_right(demo_db: Any, demo_dir: tuple[Path, str]) -> None:
    states = await demo_db.fetch("select distinct state, payment_state, shipment_state from orders")
    kinds = await demo_db.fetchrow(
        "select count(*) as orders, count(distinct number) as numbers, count(distinct currency) as currencies,"
        " count(*) filter (where user_id is null) as guests, count(*) filter (where promo_total < 0) as discounted,"
        " count(*) filter (where payment_total > 0 and payment_total < total) as partly_refunded from orders"
    )
    async with operator_context(demo_dir[1]) as ctx:
        findings = await findings_of(ctx)

    assert {tuple(row) for row in states} == {
        ("complete", "paid", "shipped"),
        ("complete", "paid", "ready"),
        ("complete", "paid", "partial"),
        ("complete", "paid", "backorder"),
        ("complete", "balance_due", "pending"),
        ("complete", "void", "shipped"),
        ("canceled", "void", "canceled"),
    }
    assert kinds["orders"] == kinds["numbers"] == ORDERS
    assert kinds["currencies"] == 4
    assert 0 < kinds["guests"] < ORDERS
    assert 0 < kinds["discounted"] < ORDERS
    assert kinds["partly_refunded"] > 5
    assert findings == {}


async def test_orders_are_paid_by_card_and_by_transfer_and_times_follow_each_other(demo_db: Any) -> None:
    methods = await demo_db.fetch(
        "select distinct m.type from payments p join payment_methods m on m.id = p.payment_method_id"
    )
    wrong = await demo_db.fetchval(
        "select count(*) from orders o left join shipments s on s.order_id = o.id where not ("
        " o.created_at < o.completed_at and o.completed_at <= o.updated_at and o.updated_at < now()"
        " and coalesce(s.shipped_at > o.completed_at, true) and coalesce(o.canceled_at > o.completed_at, true)"
        " and o.completed_at > now() - interval '15 days')"
    )

    assert {row["type"] for row in methods} == {"check", "test_card"}
    assert wrong == 0


async def test_nothing_is_mailed_and_no_order_has_an_audit_event(demo_db: Any) -> None:
    assert await demo_db.fetchval("select count(*) from outbox_mails") == 0
    assert await demo_db.fetchval("select count(*) from audit_events where subject_id in (select id from orders)") == 0


async def test_a_customer_sees_their_orders(demo: Service, demo_db: Any) -> None:
    count = await demo_db.fetchval("select count(*) from orders where email = $1", shop.PLAIN.email)
    async with demo.client() as http:
        tess = await sign_in(http, shop.PLAIN.email)
        orders = await tess.get("/account/orders?include=line_items,shipments,payments,promotions")

    assert len(orders.json["data"]) == count > 0


async def test_only_orders_are_added_and_a_later_start_adds_none(plain_demo: tuple[Context, Any]) -> None:
    ctx, connection = plain_demo
    before = await read_tables(connection)

    await add_all(ctx)

    assert await read_tables(connection) == before
    assert await connection.fetchval("select count(*) from orders") == ORDERS
    assert await findings_of(ctx) == {}
    await connection.execute("delete from orders where id = (select id from orders limit 1)")
    assert await add_orders(ctx.shared) == 0
    assert await connection.fetchval("select count(*) from orders") == ORDERS - 1


@pytest.mark.torture
async def test_added_by_two_processes_or_after_a_crash_each_order_exists_once(plain_demo: tuple[Context, Any]) -> None:
    ctx, connection = plain_demo
    await add_orders(ctx.shared)
    await connection.execute("alter table refunds add constraint broken check (false) not valid")
    with pytest.raises(Exception, match="broken"):
        await add_all(ctx)
    partial_count = await connection.fetchval("select count(*) from orders")
    await connection.execute("alter table refunds drop constraint broken")

    await asyncio.gather(*(add_all(ctx) for _ in range(3)))

    assert partial_count % BATCH == 0
    assert partial_count < ORDERS
    assert await connection.fetchval("select count(*) from orders") == ORDERS
    assert await findings_of(ctx) == {}


async def test_a_shop_without_the_demo_gets_no_orders(http: httpx2.AsyncClient, db: Any, database_url: str) -> None:
    count = await db.fetchval("select count(*) from orders")
    async with operator_context(database_url) as ctx:
        assert await add_orders(ctx.shared) == 0

    assert await db.fetchval("select count(*) from orders") == count


async def test_operators_can_work_with_them_and_totals_stay_right(plain_demo: tuple[Context, Any]) -> None:
    ctx, connection = plain_demo
    lacks = (
        "select count(*) filter (where shipment_state = 'ready') < 2"
        " or count(*) filter (where payment_state = 'balance_due') = 0 from orders"
    )
    while await connection.fetchval(lacks):
        await add_orders(ctx.shared)
    stock = await connection.fetch("select id, count_on_hand from stock_items order by 1")
    ready, other = await connection.fetch("select id from orders where shipment_state = 'ready' limit 2")
    unpaid = await connection.fetchval("select id from orders where payment_state = 'balance_due' limit 1")
    shipment = await connection.fetchval("select id from shipments where order_id = $1", other["id"])
    payment = await connection.fetchval("select id from payments where order_id = $1", unpaid)

    await cancellations.cancel(ctx.with_new_session(), ready["id"])
    await operations.move_shipment(ctx.with_new_session(), shipment, "ship", tracking="1Z")
    await operations.capture(ctx.with_new_session(), payment)

    states = await connection.fetch(
        "select state, payment_state, shipment_state from orders where id = any($1) order by 1, 3",
        [ready["id"], other["id"], unpaid],
    )
    assert {tuple(row) for row in states} == {
        ("canceled", "void", "canceled"),
        ("complete", "paid", "shipped"),
        ("complete", "paid", "ready"),
    }
    assert await connection.fetch("select id, count_on_hand from stock_items order by 1") == stock
    assert await findings_of(ctx) == {}
