"""A shop with an archive, and orders that are old enough for it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import httpx2
import pytest

from shop.queries.archive.contents import ORDER_TABLES
from tests.accounts import sign_in
from tests.admin.dashboard import Dashboard, new_dashboard
from tests.builders import Make
from tests.checkout_builders import CheckoutSetup, SignedInBuyer, new_checkout_setup
from tests.cli.command import Command, Result
from tests.cluster import Cluster
from tests.db.processes import until
from tests.platform.client import Machine, new_machine
from tests.service import KEYS, Service
from tests.shopper import Answer

_AGE = "interval '40 days'"
_TIMES = {
    "orders": ("created_at", "updated_at", "completed_at", "canceled_at"),
    "payments": ("created_at", "updated_at", "captured_at", "voided_at"),
    "shipments": ("created_at", "updated_at"),
    "refunds": ("created_at", "updated_at"),
}
_IS_CURRENT = """select s.time_zone = (select time_zone from shops) and not exists (select from stale_days)
    and s.position = (select last_position from event_counters)
    and not exists (select from events where position is null) from report_states s"""


class ArchiveShop:
    """A running shop with an archive."""

    def __init__(self, service: Service, http: httpx2.AsyncClient, db: Any, settings: dict[str, str]) -> None:
        self.service, self.http, self.db, self.settings = service, http, db, settings
        self.setup: CheckoutSetup
        self.machine: Machine

    @property
    def place(self) -> Path:
        return Path(self.settings["SHOP_ARCHIVE_URL"])

    async def prepare(self) -> None:
        self.machine = await new_machine(self.http, self.db)
        self.setup = await new_checkout_setup(Make(self.machine, await Make(self.machine).stock_location()))

    async def dashboard(self) -> Dashboard:
        return await new_dashboard(self.http, self.db)

    async def new_buyer(self) -> SignedInBuyer:
        return SignedInBuyer(self.http, self.setup, await sign_in(self.http))

    async def buy_and_ship(self, buyer: SignedInBuyer) -> Answer:
        """A new customer's order that is paid and shipped."""
        order = await buyer.buy(await self.setup.product(), "approve")
        assert order.status == 200, order
        for shipment_id in await self.db.fetch("select id from shipments where order_id = $1", UUID(order.id)):
            answer = await self.machine.patch(f"/shipments/{shipment_id['id']}/ship", {"tracking": "1Z"})
            assert answer.status == 200, answer
        return order

    async def age(self, *orders: Answer) -> None:
        """Moves orders to the past, with everything that happened to them, and calculates the reports again."""
        order_ids = [UUID(order.id) for order in orders]
        for table, columns in _TIMES.items():
            key = "id" if table == "orders" else "order_id"
            changes = ", ".join(f"{name} = {name} - {_AGE}" for name in columns)
            await self.db.execute(f"update {table} set {changes} where {key} = any ($1)", order_ids)
        await self.db.execute(
            f"""insert into stale_days select (now() - age)::date + n from generate_series(-1, 1) n,
            unnest(array[{_AGE}, interval '0']) age on conflict do nothing"""
        )
        await self.wait_for_reports()

    async def wait_for_reports(self) -> None:
        await until(lambda: self.db.fetchval(_IS_CURRENT))

    def run(self, *arguments: str, **environ: str) -> Result:
        return Command()(*arguments, **{**self.settings, **environ})

    async def archive(self, *orders: Answer) -> None:
        await self.age(*orders)
        result = self.run("archive", "run")
        assert result.returncode == 0, result
        for order in orders:
            assert await self.is_archived(order)

    async def is_archived(self, order: Answer) -> bool:
        """Whether an order is in the archive; it must be in the tables otherwise."""
        counts = [
            await self.db.fetchval(f"select count(*) from {table} where id = $1", UUID(order.id))
            for table in ("orders", "archived_orders")
        ]
        assert sum(counts) == 1
        return bool(counts[1])

    async def read_rows(self, order: Answer) -> dict[str, list[str]]:
        """All rows of an order, without the times of its last change."""
        rows = {}
        for table in ORDER_TABLES[1:]:
            key = {
                "orders": "id = $1",
                "payment_notices": "payment_id in (select id from payments where order_id = $1)",
            }
            rows[table.name] = [
                record["line"]
                for record in await self.db.fetch(
                    "select (to_jsonb(r) - 'updated_at' - 'updated_hour')::text as line "
                    f"from {table.name} r where {key.get(table.name, 'order_id = $1')} order by 1",
                    UUID(order.id),
                )
            ]
        return rows

    def verify(self) -> None:
        result = self.run("verify")
        assert result.returncode == 0, result.stdout


@asynccontextmanager
async def serve_archive(cluster: Cluster, name: str, place: str) -> AsyncIterator[ArchiveShop]:
    """A shop with an archive at a place, on a database of this name."""
    with cluster.data_dir(name) as (data_dir, url):
        settings = {
            "SHOP_DATA_DIR": str(data_dir),
            "SHOP_SECRET_KEYS": KEYS,
            "SHOP_DRAIN_SECONDS": "0",
            "SHOP_ARCHIVE_URL": place,
            "SHOP_ARCHIVE_AFTER": "30",
            "SHOP_ORDER_STATUS_TTL": "3600",
            "SHOP_LIMIT_MAILS": "100000/3600",
        }
        db = await asyncpg.connect(url)
        # Its worker must not archive orders; the tests do so with the command.
        service = Service(**settings | {"SHOP_ARCHIVE_AFTER": "3650"})
        try:
            async with service.client() as http:
                shop = ArchiveShop(service, http, db, settings)
                await shop.prepare()
                yield shop
        finally:
            service.stop()
            await db.close()


@pytest.fixture(scope="module")
async def archive_shop(
    cluster: Cluster, worker_name: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[ArchiveShop]:
    place = str(tmp_path_factory.mktemp("archive"))
    async with serve_archive(cluster, f"archive_{worker_name}", place) as shop:
        yield shop
