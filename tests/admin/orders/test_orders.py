"""Orders: find them by number, e-mail address, state and day; show one with its timeline."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import product
from typing import Any
from uuid import uuid4

import asyncpg
import httpx2
import pytest

from shop.queries import dashboard
from shop.queries.dashboard import OrderFilter
from tests.accounts import sign_in
from tests.admin.dashboard import Dashboard
from tests.admin.order_builders import text_of

ORDERS = "/admin/orders"
ORDER = """insert into orders
    (id, number, currency, email, state, item_total, total, created_at, updated_at, completed_at)
    values ($1, $2, $3, $4, $5, $6, $6, $7::timestamptz, now(), $8::timestamptz)"""


async def find_order_numbers(dashboard: Dashboard, **params: str) -> list[str]:
    page = await dashboard.http.get(ORDERS, params=params, headers=dashboard.cookie)
    assert page.status_code == 200
    return re.findall(r'class="through nowrap" href="/admin/orders/([^"]+)"', page.text)


async def new_orders(db: Any) -> str:
    """Creates a cart of June and two orders of May, one of them canceled; returns the prefix of their numbers."""
    prefix = f"R{uuid4().int % 10**12}"
    june, may, july = (datetime(2001, month, 15, 12, tzinfo=UTC) for month in (6, 5, 7))
    email = f"{prefix}@orders.example"
    rows = [("1", "USD", None, "payment", june, None), ("2", "EUR", email, "complete", may, july),
            ("3", "JPY", email, "canceled", may, july)]  # fmt: skip
    for suffix, currency, address, state, created_at, completed_at in rows:
        await db.execute(ORDER, uuid4(), prefix + suffix, currency, address, state, 123456, created_at, completed_at)
    return prefix


@pytest.mark.parametrize(
    ("params", "suffixes"),
    [
        ({"q": "{prefix}"}, ["1", "3", "2"]),
        ({"q": "{prefix}2"}, ["2"]),
        ({"q": "{lower}2"}, ["2"]),
        ({"q": "{prefix}@orders.example"}, ["3", "2"]),
        ({"q": "{prefix}", "state": "open"}, ["1"]),
        ({"q": "{prefix}", "state": "completed"}, ["3", "2"]),
        ({"q": "{prefix}", "state": "canceled"}, ["3"]),
        ({"q": "{prefix}", "state": "nonsense"}, ["1", "3", "2"]),
        ({"q": "{prefix}", "since": "2001-06-15"}, ["1"]),
        ({"q": "{prefix}", "until": "2001-06-14"}, ["3", "2"]),
        ({"q": "{prefix}", "since": "2001-07-01", "state": "completed"}, ["3", "2"]),
        ({"q": "{prefix}", "since": "2001-06-15", "until": "2001-06-15"}, ["1"]),
        ({"q": "{prefix}", "since": "nonsense", "until": "9999-12-31", "before": "x_y"}, ["1", "3", "2"]),
        ({"q": "{prefix}%"}, []),
        ({"q": "{prefix}_"}, []),
    ],
)
async def test_orders_are_found_by_number_e_mail_state_and_date(
    dashboard: Dashboard, db: Any, params: dict[str, str], suffixes: list[str]
) -> None:
    prefix = await new_orders(db)
    query = {name: value.format(prefix=prefix, lower=prefix.lower()) for name, value in params.items()}

    order_numbers = await find_order_numbers(dashboard, **query)

    assert sorted(order_numbers) == sorted(prefix + suffix for suffix in suffixes)
    if "1" in suffixes and len(suffixes) > 1:
        assert order_numbers[0] == f"{prefix}1"


async def test_an_order_page_shows_details_amounts_and_timeline(
    dashboard: Dashboard, db: Any, http: httpx2.AsyncClient
) -> None:
    prefix = await new_orders(db)
    member = await sign_in(http)
    order_id = await db.fetchval(
        "update orders set user_id = $2 where number = $1 returning id", f"{prefix}2", await member.id()
    )
    insert = """insert into timeline_entries (id, at, actor_kind, actor_id, type, order_id, facts)
        values (gen_random_uuid(), now(), 'operator', $1, 'shipment.shipped', $2, $3)"""
    await db.execute(insert, dashboard.id, order_id, json.dumps({"number": "H1", "tracking": "<b>1Z</b>"}))

    page = (await dashboard.get(f"{ORDERS}/{prefix}2")).text

    assert f"/admin/customers/{await member.id()}" in page
    assert "€1,234.56" in page
    timeline = text_of(page.partition('class="timeline"')[2])
    assert f"{dashboard.email} shipped H1 with tracking <b>1Z</b>" in timeline
    assert f"{member.email} placed order {prefix}2 for €1,234.56" in timeline
    assert "Cart created" in timeline
    assert "<b>1Z</b>" not in page
    assert '<time datetime="2001-07-15T12:00:00+00:00">15 Jul 2001, 12:00 UTC</time>' in page


async def test_amounts_have_the_decimals_of_their_currency(dashboard: Dashboard, db: Any) -> None:
    prefix = await new_orders(db)

    assert "¥123,456" in (await dashboard.get(f"{ORDERS}/{prefix}3")).text


async def test_an_unknown_order_is_404(dashboard: Dashboard) -> None:
    assert (await dashboard.get(f"{ORDERS}/R0")).status_code == 404


async def test_every_page_of_a_long_list_uses_an_index(own_database: Callable[..., str]) -> None:
    db = await asyncpg.connect(own_database())
    await db.execute(
        """insert into orders (id, number, currency, created_at, updated_at, completed_at)
        select gen_random_uuid(), 'R' || n, 'USD', now() - n * interval '1 minute', now(),
            case when n % 50 = 0 then now() end
        from generate_series(1, 20000) n"""
    )
    await db.execute("analyze orders")
    values = {"at_": datetime.now(UTC), "id_": uuid4(), "most": 26}
    plans = {}

    for state, direction in product((None, "completed"), (None, "before", "after")):
        statement = dashboard._list_orders_statement(OrderFilter(state=state), direction)
        lines = await db.fetch(f"explain {statement.sql}", *statement.arguments(values))
        plans[state, direction] = [row[0] for row in lines]
    await db.close()

    for plan in plans.values():
        assert any("Index Scan" in line for line in plan), plans
        assert not any("Seq Scan" in line or "->  Sort" in line for line in plan), plans
