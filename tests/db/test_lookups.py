"""Columns that change with every purchase are copied to lookup tables: copies are current, and lists use an index."""

import asyncio
from collections.abc import Callable
from typing import Any

import asyncpg
import pytest
from alembic import command

from shop.base.listing import Condition, Keyset, ListQuery, Page, Sort
from shop.migrations.upgrade import alembic_config, upgrade
from shop.models.cart.orders import order_lookups
from shop.platform.resources.orders import ORDERS
from shop.queries import records
from shop.queries.operations.verify import _CHECKS
from shop.queries.operations.verify_copies import COPY_CHECKS

ROWS = 3_000
# 52 minutes apart, one in a hundred is paid, one in ten has an e-mail address.
FILL = f"""insert into orders (id, number, currency, created_at, updated_at, email, payment_state, completed_at)
    select gen_random_uuid(), 'L' || n, 'USD', now(), now() - n * interval '52 minutes',
        case when n % 10 = 0 then 'ada' || n || '@example.org' end,
        case when n % 100 = 0 then 'paid' when n % 2 = 0 then 'void' end, case when n % 2 = 0 then now() end
    from generate_series(1, {ROWS}) n"""


async def find_stale_copies(db: Any) -> dict[str, Any]:
    """The copies that differ from their originals."""
    results = {name: await db.fetch(check.sql, *check.constants.values()) for name, check in COPY_CHECKS.items()}
    return {name: rows for name, rows in results.items() if rows}


def test_shop_verify_checks_the_copies() -> None:
    assert COPY_CHECKS.keys() <= _CHECKS.keys()


def list_query(name: str, value: Any, predicate: str = "eq") -> ListQuery:
    return ListQuery(Sort("id", True), Page(), (Condition(((name,),), predicate, value),))


LISTS = {
    "ix_orders_updated_hour": ListQuery(Sort("updated_at", True), Page()),
    "ix_orders_updated_hour ": ListQuery(Sort("updated_at", True), Keyset()),
    "ix_order_lookups_payment_state": list_query("payment_state", "paid"),
    "ix_order_lookups_email": list_query("email", "ada10@example.org"),
}


async def test_lists_by_copied_columns_use_their_indexes(own_database: Callable[..., str]) -> None:
    db = await asyncpg.connect(own_database())
    await db.execute(FILL)
    await db.execute("analyze orders, order_lookups")
    plans = {}
    for index, query in LISTS.items():
        kind = "number" if isinstance(query.page, Page) else "first"
        statement = records._list_statement(ORDERS.actions.records, records.shape_of(query), query.sort, kind)
        values = {**records.values_of(query.conditions), "most": 25, "skip": 0}
        # A plan for these values, as PostgreSQL makes it for the first executions.
        await db.execute("set plan_cache_mode = force_custom_plan")
        rows = await db.fetch(f"explain {statement.sql}", *statement.arguments(values))
        plans[index] = "\n".join(row[0] for row in rows)
    stale_copies = await find_stale_copies(db)
    await db.close()

    assert {index: plan for index, plan in plans.items() if index.strip() not in plan or "Seq Scan on o" in plan} == {}
    assert stale_copies == {}
    assert order_lookups.c.order_id.primary_key


@pytest.mark.torture
async def test_the_migration_fills_the_copies_of_existing_rows(own_database: Callable[..., str]) -> None:
    url = own_database(template="template0")
    await asyncio.to_thread(command.upgrade, alembic_config(url), "0013")
    db = await asyncpg.connect(url)
    await db.execute(FILL)
    await db.execute(
        """insert into addresses (id, firstname, lastname, address1, city, country_id, created_at, updated_at)
        select gen_random_uuid(), 'Ada', 'L', 'Street', city, id, now(), now()
        from countries, unnest(array['loose', 'shipped to']) city where iso = 'US'"""
    )
    await db.execute("update orders set ship_address_id = (select id from addresses where city = 'shipped to')")

    await asyncio.to_thread(upgrade, url)

    loose = await db.fetch("select city from addresses join loose_addresses on address_id = addresses.id")
    orders, copies = await db.fetchrow("select (select count(*) from orders), (select count(*) from order_lookups)")
    stale_copies = await find_stale_copies(db)
    indexes = {row[0] for row in await db.fetch("select indexrelid::regclass::text from pg_index where indisvalid")}
    await db.close()
    assert (stale_copies, orders, copies) == ({}, ROWS, ROWS)
    assert [row[0] for row in loose] == ["loose"]
    assert {"ix_orders_updated_hour", "ix_orders_guest_carts"} <= indexes
    assert "ix_orders_updated_at" not in indexes
