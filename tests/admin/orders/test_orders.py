"""Orders: found by number, address, state and day; one looked at with its timeline."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import product
from typing import Any
from uuid import uuid4

import asyncpg
import httpx
import pytest

from shop.queries import dashboard
from shop.queries.dashboard import OrderFilter
from tests.accounts import sign_in
from tests.admin.dashboard import Desk

HERE = "/admin/orders"
ORDER = """insert into orders
    (id, number, currency, email, state, item_total, total, created_at, updated_at, completed_at)
    values ($1, $2, $3, $4, $5, $6, $6, $7::timestamptz, now(), $8::timestamptz)"""


async def numbers(desk: Desk, **params: str) -> list[str]:
    page = await desk.http.get(HERE, params=params, headers=desk.cookie)
    assert page.status_code == 200
    return re.findall(r'class="through nowrap" href="/admin/orders/([^"]+)"', page.text)


async def new_orders(db: Any) -> str:
    """Three of a kind nobody else has: a cart of June, an order of May completed in July, one canceled."""
    mark = f"R{uuid4().int % 10**12}"
    june, may, july = (datetime(2001, month, 15, 12, tzinfo=UTC) for month in (6, 5, 7))
    email = f"{mark}@orders.example"
    rows = [("1", "USD", None, "payment", june, None), ("2", "EUR", email, "complete", may, july),
            ("3", "JPY", email, "canceled", may, july)]  # fmt: skip
    for end, currency, address, state, created_at, completed_at in rows:
        await db.execute(ORDER, uuid4(), mark + end, currency, address, state, 123456, created_at, completed_at)
    return mark


@pytest.mark.parametrize(
    ("params", "found"),
    [
        ({"q": "{mark}"}, ["1", "3", "2"]),
        ({"q": "{mark}2"}, ["2"]),
        ({"q": "{small}2"}, ["2"]),
        ({"q": "{mark}@orders.example"}, ["3", "2"]),
        ({"q": "{mark}", "state": "open"}, ["1"]),
        ({"q": "{mark}", "state": "completed"}, ["3", "2"]),
        ({"q": "{mark}", "state": "canceled"}, ["3"]),
        ({"q": "{mark}", "state": "nonsense"}, ["1", "3", "2"]),
        ({"q": "{mark}", "since": "2001-06-15"}, ["1"]),
        ({"q": "{mark}", "until": "2001-06-14"}, ["3", "2"]),
        ({"q": "{mark}", "since": "2001-07-01", "state": "completed"}, ["3", "2"]),
        ({"q": "{mark}", "since": "2001-06-15", "until": "2001-06-15"}, ["1"]),
        ({"q": "{mark}", "since": "nonsense", "until": "9999-12-31", "before": "x_y"}, ["1", "3", "2"]),
        ({"q": "{mark}%"}, []),
        ({"q": "{mark}_"}, []),
    ],
)
async def test_orders_are_found(desk: Desk, db: Any, params: dict[str, str], found: list[str]) -> None:
    mark = await new_orders(db)
    query = {name: value.format(mark=mark, small=mark.lower()) for name, value in params.items()}

    order_numbers = await numbers(desk, **query)

    assert sorted(order_numbers) == sorted(mark + end for end in found)
    if "1" in found and len(found) > 1:
        assert order_numbers[0] == f"{mark}1"


async def test_an_orders_page_shows_facts_amounts_and_timeline(desk: Desk, db: Any, http: httpx.AsyncClient) -> None:
    mark = await new_orders(db)
    member = await sign_in(http)
    order_id = await db.fetchval(
        "update orders set user_id = $2 where number = $1 returning id", f"{mark}2", await member.id()
    )
    insert = """insert into audit_events (id, at, actor_kind, actor_id, action, outcome, subject_id, detail)
        values (gen_random_uuid(), now(), 'operator', $1, 'order_approved', 'done', $2, $3)"""
    await db.execute(insert, desk.id, order_id, json.dumps({"note": "<b>looked at</b>"}))

    page = (await desk.get(f"{HERE}/{mark}2")).text

    assert f"/admin/customers/{await member.id()}" in page
    assert "€1,234.56" in page
    timeline = re.findall(r"<li><b>([^<]+)</b>", page.partition('class="timeline"')[2])
    assert timeline == ["Order approved", "Completed", "Cart opened"]
    assert f"by {desk.email}" in page
    assert "&lt;b&gt;looked at&lt;/b&gt;" in page
    assert '<time datetime="2001-07-15T12:00:00+00:00">15 Jul 2001, 12:00 UTC</time>' in page


async def test_amounts_have_their_currencys_digits(desk: Desk, db: Any) -> None:
    mark = await new_orders(db)

    assert "¥123,456" in (await desk.get(f"{HERE}/{mark}3")).text


async def test_an_order_that_is_not_there_is_not_found(desk: Desk) -> None:
    assert (await desk.get(f"{HERE}/R0")).status_code == 404


async def test_no_page_of_a_long_list_is_sorted_or_read_whole(own_database: Callable[..., str]) -> None:
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

    for state, place in product((None, "completed"), (None, "before", "after")):
        statement = dashboard._list_orders_statement(OrderFilter(state=state), place)
        lines = await db.fetch(f"explain {statement.sql}", *statement.arguments(values))
        plans[state, place] = [row[0] for row in lines]
    await db.close()

    for plan in plans.values():
        assert any("Index Scan" in line for line in plan), plans
        assert not any("Seq Scan" in line or "->  Sort" in line for line in plan), plans
