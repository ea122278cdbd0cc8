"""How much of the index of orders a page reads: little, whichever filters and tab an operator combines."""

import json
from collections.abc import Callable
from itertools import product
from typing import Any

import asyncpg
import pytest

from shop.queries.orders import order_list
from shop.queries.orders.order_list import SORTS

ORDERS = 20_000
MOST_PAGES = 100
"""The pages of 8 KiB that a statement may read; the orders have more than 2,000, those of a tab 1,000."""
FILTERS = {"country": "DE", "currency": "EUR", "channel": "pos", "payment_state": "failed", "shipment_state": "partial"}
"""Filters with a value that every second order has, and no order of a tab."""
UNUSED = {"country": "AQ", "currency": "ISK", "channel": "fax", "payment_state": "void", "shipment_state": "backorder"}
PAIRS = [{"country": "DE", "payment_state": "paid"}, {"currency": "USD", "shipment_state": "partial"}]
"""Filters that every second order has, but no order has both."""
FILL = """
with placed as (
    insert into orders (id, number, currency, state, created_at, updated_at, completed_at)
    select gen_random_uuid(), 'R' || n, 'USD', 'complete', now(), now(), now() - n * interval '1 hour'
    from generate_series(1, $1) n returning id, substr(number, 2)::bigint as n, completed_at
)
insert into order_listings (order_id, placed_at, currency, total, country, channel, payment_state, shipment_state,
    is_to_ship, is_unpaid, is_open, name, search)
select id, completed_at, case when n % 2 = 1 then 'EUR' else 'USD' end, n * 7919 % 50000,
    case when n % 2 = 1 then 'DE' else 'US' end, case when n % 2 = 1 then 'pos' else 'shop' end,
    case when n % 2 = 1 then 'failed' else 'paid' end, case when n % 2 = 1 then 'partial' else 'ready' end,
    n % 20 = 0, n % 20 = 0, n % 20 = 0, repeat('x', 700), '' from placed
"""


async def count_pages(db: Any, statement: Any, values: dict[str, Any]) -> int:
    """The pages of tables and indexes that a statement reads."""
    text = await db.fetchval(f"explain (analyze, buffers, format json) {statement.sql}", *statement.arguments(values))
    plan = json.loads(text)[0]["Plan"]
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


@pytest.mark.torture
async def test_a_filter_that_fits_few_orders_reads_few_pages(own_database: Callable[..., str]) -> None:
    db = await asyncpg.connect(own_database())
    await db.execute(FILL.replace("$1", str(ORDERS)))
    await db.execute("vacuum analyze orders")
    await db.execute("vacuum analyze order_listings")
    counts, pairs = {}, {}

    for tab, filters in [(None, UNUSED), *product(("to_ship", "unpaid", "open"), (FILTERS, UNUSED))]:
        for (name, value), sort in product(filters.items(), SORTS):
            values = {name: value, "at_": None, "id_": None, "most": 26}
            kind = order_list._ListKind((name,), tab, sort, None)
            counts[tab, value, sort] = await count_pages(db, order_list._list_statement(kind), values)
            count = order_list._count_statement((name,), tab)
            counts[tab, value, "count"] = await count_pages(db, count, values)
    for filters, sort in product(PAIRS, SORTS):
        kind = order_list._ListKind(tuple(sorted(filters)), None, sort, None)
        values = {**filters, "at_": None, "id_": None, "most": 26}
        pairs[*filters, sort] = await count_pages(db, order_list._list_statement(kind), values)
    table_pages = await db.fetchval("select relpages from pg_class where relname = 'order_listings'")
    await db.close()

    assert table_pages > 20 * MOST_PAGES
    assert {key: count for key, count in counts.items() if count > MOST_PAGES} == {}
    assert max(pairs.values()) < table_pages / 5, (pairs, table_pages)


async def test_the_orders_of_a_tab_are_not_looked_for_among_all_totals(own_database: Callable[..., str]) -> None:
    db = await asyncpg.connect(own_database())
    kinds = [order_list._ListKind((), tab, sort, None) for tab in (None, "unpaid") for sort in ("highest", "lowest")]
    plans = {}

    # A small table has other plans than a large one: this one prefers an order that an index has.
    await db.execute("set enable_sort = off")
    await db.execute("set enable_seqscan = off")
    for kind in kinds:
        statement = order_list._list_statement(kind)
        lines = await db.fetch(f"explain {statement.sql}", *statement.arguments({"at_": None, "id_": None, "most": 26}))
        plans[kind.tab, kind.sort] = "\n".join(row[0] for row in lines)
    await db.close()

    for (tab, _), plan in plans.items():
        assert ("ix_order_listings_total" in plan) == (tab is None), plan
