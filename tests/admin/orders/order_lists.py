"""Reads the list of orders, and waits until the index has what a test did."""

import re
from typing import Any
from uuid import UUID

from tests.admin.dashboard import Dashboard
from tests.db.processes import until

ORDERS = "/admin/orders"
_LINK = re.compile(r'class="through nowrap" href="/admin/orders/([^"]+)"')


async def list_numbers(dashboard: Dashboard, path: str = ORDERS, **params: str) -> list[str]:
    """Returns the numbers on a page, in their order."""
    page = await dashboard.http.get(path, params=params, headers=dashboard.cookie)
    assert page.status_code == 200, page.text
    return _LINK.findall(page.text)


async def wait_for_index(db: Any) -> None:
    """Waits until the index has every event committed so far."""
    # An event without a number is counted too: it was committed before.
    newest = "select count(*) = 0 from events where position is null and occurred_at <= $1 and type <> 'stock.changed'"
    reached = "select position >= (select last_position from event_counters) and is_filled from order_index_progress"
    now = await db.fetchval("select clock_timestamp()")

    async def has_all() -> bool:
        return bool(await db.fetchval(newest, now) and await db.fetchval(reached))

    await until(has_all, 60)


async def listing_of(db: Any, order_id: str) -> Any:
    return await db.fetchrow("select * from order_listings where order_id = $1", UUID(order_id))
