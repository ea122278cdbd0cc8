"""A shop whose figures only one test at a time changes, and what its pages show."""

import csv
import html
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import StringIO
from typing import Any

import asyncpg
import httpx2

from tests.admin.dashboard import Dashboard
from tests.checkout_builders import Buyer, CheckoutSetup
from tests.db.processes import until
from tests.platform.client import Machine
from tests.service import Service
from tests.shopper import Answer

REPORTS = "/admin/reports"
_EMPTY = """truncate orders, sales_days, product_days, adjustment_days, payment_days, refund_days, cart_days, stale_days
    cascade"""
_IS_CURRENT = """select s.time_zone = (select time_zone from shops) and not exists (select from stale_days)
    and s.position = (select last_position from event_counters)
    and not exists (select from events where position is null) from report_states s"""


class ReportShop:
    """The shop, an operator, an application, and the setup of a checkout."""

    def __init__(
        self, service: Service, url: str, http: httpx2.AsyncClient, db: Any, dashboard: Dashboard, setup: CheckoutSetup
    ) -> None:
        self.service, self.url, self.http, self.db = service, url, http, db
        self.dashboard, self.setup = dashboard, setup

    @property
    def machine(self) -> Machine:
        return self.setup.make.machine

    async def buy(
        self,
        *lines: Any,
        email: str = "ada@example.org",
        pays: str = "card",
        channel: str | None = None,
        **address: Any,
    ) -> Answer:
        """Completes an order of lines (product, quantity)."""
        buyer = Buyer(self.http, self.setup)
        cart = await buyer.add_items(*lines)
        await buyer.enter_address(**address)
        await buyer.update_checkout(email=email)
        if channel:
            await self.db.execute("update orders set channel = $1 where id = $2", channel, cart.id)
        await buyer.pay(method=getattr(self.setup, pays))
        order = await buyer.complete()
        assert order.status == 200, order
        return order

    async def rebuild(self) -> None:
        """Waits until all days are calculated again, as at the first start."""
        await self.db.execute("update report_states set time_zone = null")
        await self.catch_up()

    async def catch_up(self) -> None:
        """Waits until the figures contain all changes."""

        async def is_current() -> bool:
            return bool(await self.db.fetchval(_IS_CURRENT))

        await until(is_current, 20)

    async def figures(self, **params: str) -> dict[str, str]:
        """The tiles of the overview."""
        await self.catch_up()
        page = (await self.dashboard.get(f"/admin?{httpx2.QueryParams(params)}")).text
        return dict(re.findall(r'class="label">([^<]+)</span><span class="figure">([^<]+)<', page))

    async def table(self, report: str, **params: str) -> list[list[str]]:
        """The rows of a report, without heads and sums."""
        await self.catch_up()
        answer = await self.dashboard.get(f"{REPORTS}/{report}?{httpx2.QueryParams(params)}")
        assert answer.status_code == 200, answer.text
        body = answer.text.partition('<table class="report">')[2].partition("<tbody>")[2].partition("</tbody>")[0]
        return [
            [html.unescape(re.sub("<[^>]+>", "", cell)) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)]
            for row in body.split("</tr>")[:-1]
        ]

    async def csv(self, report: str, **params: str) -> list[list[str]]:
        """The lines of the CSV file."""
        await self.catch_up()
        answer = await self.dashboard.get(f"{REPORTS}/{report}/csv?{httpx2.QueryParams(params)}")
        assert answer.headers["content-type"] == "text/csv; charset=utf-8"
        return list(csv.reader(StringIO(answer.text, newline="")))


@asynccontextmanager
async def locked_table(url: str, name: str) -> AsyncIterator[None]:
    """Nothing can be written to the table meanwhile."""
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction():
            await connection.execute(f"lock table {name} in share mode")
            yield
    finally:
        await connection.close()


async def empty(db: Any) -> None:
    """Deletes all orders, and with them all figures."""
    while True:
        try:
            await db.execute(_EMPTY)
        except asyncpg.DeadlockDetectedError:  # The worker of the shop reads the same tables.
            continue
        break
    await db.execute("update shops set time_zone = 'UTC', version = version + 1")
    await db.execute("update report_states set time_zone = null")
