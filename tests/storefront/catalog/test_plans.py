"""Statements for carts get a generic plan: otherwise PostgreSQL would plan for longer than it executes."""

from collections.abc import AsyncIterator, Callable
from uuid import UUID, uuid4

import asyncpg
import msgspec
import pytest

from shop.base.listing import Keyset, ListQuery, Page, Sort
from shop.db.pool import Database, open_database
from shop.platform.resources.registry import COLLECTIONS
from shop.queries.cart.line_items import SAVED_ORDER_COLUMNS, list_lines, write_lines
from shop.queries.cart.orders import lock_open_cart
from shop.queries.cart.promotions import find_facts
from shop.queries.catalog.prices import Pricing
from shop.queries.catalog.product_index import refresh
from shop.queries.catalog.quotes import list_quotes
from shop.queries.records import list_linked_records
from shop.queries.relations import list_related_ids, list_related_records
from shop.queries.setup.taxes import list_rates
from tests.builders import Make
from tests.db.pools import acquire
from tests.shopper import Shopper

CUSTOM_PLANS = 5
"""PostgreSQL makes this many custom plans of a prepared statement before it considers a generic plan."""


@pytest.fixture
async def one_connection(database_url: str) -> AsyncIterator[Database]:
    """A pool with one connection, so that the test can read its prepared statements."""
    database = open_database(database_url, size=1)
    yield database
    await database.close()


async def list_custom_planned(database: Database) -> tuple[int, list[str]]:
    """The number of statements that ran often enough for a generic plan, and those that still get custom plans."""
    connection = await acquire(database)
    plans = "select statement, generic_plans, custom_plans from pg_prepared_statements"
    rows = [row for row in await connection.fetch(plans) if row["custom_plans"] + row["generic_plans"] > CUSTOM_PLANS]
    database.connections.release(connection)
    return len(rows), [row["statement"] for row in rows if row["custom_plans"] > CUSTOM_PLANS]


async def test_cart_statements_get_a_generic_plan(make: Make, guest: Shopper, one_connection: Database) -> None:
    product = await make.product(price="10.00", on_hand=10)
    cart = await guest.post("/cart")
    headers = {"X-Shop-Order-Token": cart["token"]}
    await guest.post("/cart/add_item", headers=headers, variant_id=product.variant_id)

    for _ in range(CUSTOM_PLANS + 3):
        session = one_connection.session()
        async with session.transaction():
            order = await lock_open_cart(session, UUID(cart.id))
            assert order is not None
            lines = await list_lines(session, order.id)
            assert await list_quotes(session, Pricing("USD"), {line.variant_id: 2 for line in lines})
            await find_facts(session, order.id, None)
            await list_rates(session, None)
            figures = {
                name: value for name, value in msgspec.structs.asdict(order).items() if name in SAVED_ORDER_COLUMNS
            }
            await write_lines(session, order.id, put=lines, removed_ids=[], unpacks=False, order=figures)

    count, custom_planned = await list_custom_planned(one_connection)
    assert count >= 6
    assert custom_planned == []


async def test_product_statements_get_a_generic_plan_with_many_products(own_database: Callable[..., str]) -> None:
    url = own_database()
    connection = await asyncpg.connect(url)
    await connection.execute("""insert into products (id, name, slug, status, created_at, updated_at)
        select gen_random_uuid(), 'Mug ' || n, 'mug-' || n, 'active', now(), now() from generate_series(1, 3000) n""")
    await connection.execute("analyze products")
    product_id = await connection.fetchval("select id from products limit 1")
    await connection.close()
    product = COLLECTIONS["product"].actions.records
    to_many = [relation for relation in product.relation_links.values() if relation.is_many]
    database = open_database(url, size=1)

    for _ in range(CUSTOM_PLANS + 3):
        session = database.session()
        async with session.transaction():
            await refresh(session, [product_id])
            assert await list_related_ids(session, to_many, [product_id]) == [{product_id: []}] * len(to_many)
            assert await list_related_records(
                session, COLLECTIONS["variant"].actions.records.relation_links["product"], [product_id]
            )

    count, custom_planned = await list_custom_planned(database)
    await database.close()
    assert count >= 4
    assert custom_planned == []


async def test_pages_of_all_records_get_a_generic_plan(own_database: Callable[..., str]) -> None:
    url = own_database()
    connection = await asyncpg.connect(url)
    await connection.execute("""insert into orders (id, number, currency, created_at, updated_at)
        select gen_random_uuid(), 'R' || n, 'USD', now(), now() from generate_series(1, 3000) n""")
    await connection.execute("analyze orders")
    await connection.close()
    orders = COLLECTIONS["order"].actions.records
    to_many = [relation for relation in orders.relation_links.values() if relation.is_many]
    database, newest = open_database(url, size=1), Sort("id", True)

    for _ in range(CUSTOM_PLANS + 3):
        numbered = await list_linked_records(database.session(), orders, ListQuery(newest, Page()), to_many)
        first = await list_linked_records(database.session(), orders, ListQuery(newest, Keyset()), to_many)
        last_id = first[-2][0].id
        after = ListQuery(newest, Keyset(after=(last_id, last_id)))
        next_page = await list_linked_records(database.session(), orders, after, to_many)

    count, custom_planned = await list_custom_planned(database)
    await database.close()
    assert (len(numbered), len(first), first[-1], count) == (25, 26, next_page[0], 3)
    assert custom_planned == []


@pytest.mark.parametrize(("customer", "has_ordered"), [("user8@example.org", True), ("nobody@example.org", False)])
async def test_checking_for_earlier_orders_does_not_scan_all_orders(
    own_database: Callable[..., str], customer: str, has_ordered: bool
) -> None:
    url, user_id = own_database(), uuid4()
    connection = await asyncpg.connect(url)
    await connection.execute("""insert into orders (id, number, currency, email, created_at, updated_at, completed_at)
        select gen_random_uuid(), 'R' || n, 'USD', 'user.' || n || '+tag@example.org', now(), now(), now()
        from generate_series(1, 5000) n""")
    await connection.execute(
        """insert into users (id, email, email_key, created_at, updated_at)
        values ($1, $2, $2, now(), now())""",
        user_id,
        customer,
    )
    await connection.execute("analyze orders")
    count_scans = "select pg_stat_force_next_flush(), seq_scan from pg_stat_user_tables where relname = 'orders'"
    database = open_database(url, size=1)
    try:
        before = (await connection.fetchrow(count_scans))["seq_scan"]
        facts = await find_facts(database.session(), uuid4(), user_id)
    finally:
        await database.close()
    after = (await connection.fetchrow(count_scans))["seq_scan"]
    await connection.close()
    assert (facts.has_ordered, after) == (has_ordered, before)
