"""The page of an order shows its details, amounts and timeline."""

import json
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import httpx2

from tests.accounts import sign_in
from tests.admin.dashboard import Dashboard
from tests.admin.order_builders import buy, text_of
from tests.admin.order_page_records import ARCHIVED
from tests.checkout_builders import Buyer

ORDERS = "/admin/orders"
ORDER = """insert into orders
    (id, number, currency, email, state, item_total, total, created_at, updated_at, completed_at)
    values ($1, $2, $3, $4, $5, $6, $6, $7::timestamptz, now(), $8::timestamptz)"""


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
    assert '<time datetime="2001-07-15T12:00:00+00:00" title="UTC">15 Jul 2001, 12:00 UTC</time>' in page


async def test_amounts_have_the_decimals_of_their_currency(dashboard: Dashboard, db: Any) -> None:
    prefix = await new_orders(db)

    assert "¥123,456" in (await dashboard.get(f"{ORDERS}/{prefix}3")).text


async def test_an_unknown_order_is_404(dashboard: Dashboard) -> None:
    assert (await dashboard.get(f"{ORDERS}/R0")).status_code == 404


async def test_an_archived_order_without_its_archive_cannot_be_restored(dashboard: Dashboard, db: Any) -> None:
    archived_id = await db.fetchval(ARCHIVED)

    page = await dashboard.get(f"/admin/archive/{archived_id}")
    refusal = await dashboard.post(f"/admin/archive/{archived_id}/restore")

    assert page.status_code == 200
    assert "The archive is not connected" in page.text
    assert "Restore order" not in page.text
    assert (refusal.status_code, "The archive is not connected" in refusal.text) == (503, True)


async def test_an_order_can_be_taken_from_the_list(dashboard: Dashboard, db: Any) -> None:
    page = (await dashboard.get(ORDERS)).text

    assert 'action="/admin/drafts"' in page
    assert ">New order</button>" in page


async def test_equal_addresses_are_shown_once(dashboard: Dashboard, buyer: Buyer) -> None:
    order, _ = await buy(buyer)

    page = text_of((await dashboard.get(f"{ORDERS}/{order['number']}")).text)

    assert "Billing address Same as the shipping address." in page
    assert page.count("1 Main Street") == 1
