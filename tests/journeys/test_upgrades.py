"""A database with a million orders is migrated while shoppers buy: no request fails, and no write waits for long."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import asyncpg
import httpx2
import pytest
from alembic import command

from shop.migrations.upgrade import alembic_config, newest_revision
from tests.builders import Make
from tests.checkout_builders import Buyer, CheckoutSetup, new_checkout_setup
from tests.platform.client import new_machine
from tests.service import KEYS, Service

COUNT = 1_000_000
BLOCKED_SECONDS = 0.2
INSERT_ORDERS = f"""
    insert into orders (id, number, state, currency, email, item_total, total, created_at, updated_at, completed_at)
    select gen_random_uuid(), 'R' || lpad(n::text, 10, '0'), 'complete', 'USD', 'a' || n % 5000 || '@example.com',
        1000, 1000, now(), now(), now() from generate_series(1, {COUNT}) n
"""
WAITS = """
    select coalesce(extract(epoch from max(clock_timestamp() - waitstart)), 0)::float from pg_locks
    where not granted and pid <> all(select pid from pg_stat_activity where query ~* '^(alter|create|drop) ')
"""
HEAD = '''"""A change of the schema while the shop serves."""

import sqlalchemy as sa
from alembic import op

from shop.migrations import online

revision = "{revision}"
down_revision = "{before}"


def upgrade() -> None:
'''
CHANGES = {
    "t001": """
    op.add_column("orders", sa.Column("gift_text", sa.Text(), server_default="", nullable=False))
    op.create_table(
        "gifts",
        sa.Column("id", sa.UUID(), primary_key=True),
        sa.Column("order_id", sa.UUID(), sa.ForeignKey("orders.id"), nullable=False),
    )
    op.execute("alter table orders add constraint ck_gift_text check (length(gift_text) < 1000) not valid")
""",
    "t002": '    op.execute("alter table orders validate constraint ck_gift_text")\n',
    "t003": '    online.create_index("ix_orders_gift_text", "orders", ["email", "gift_text"])\n',
    "t004": '    op.add_column("line_items", sa.Column("gift_id", sa.UUID()))\n',
}


def migrate(url: str, directory: Path) -> None:
    """Runs the migrations of the shop, and these changes after them."""
    before = newest_revision()
    for revision, body in CHANGES.items():
        (directory / f"{revision}.py").write_text(HEAD.format(revision=revision, before=before) + body)
        before = revision
    config = alembic_config(url)
    versions = Path(config.get_main_option("script_location") or "") / "versions"
    config.set_main_option("path_separator", "newline")
    config.set_main_option("version_locations", f"{versions}\n{directory}")
    command.upgrade(config, "head")


class Load:
    """Shoppers who create carts, add items and complete orders, and an observer of locks."""

    def __init__(self, http: httpx2.AsyncClient, setup: CheckoutSetup, db: Any) -> None:
        self.http, self.setup, self.db = http, setup, db
        self.is_over = False
        self.purchase_count = 0
        self.longest_wait = 0.0

    async def run(self, work: Awaitable[None]) -> None:
        product = await self.setup.product(on_hand=1_000_000)

        async def buy() -> None:
            while not self.is_over:
                buyer = Buyer(self.http, self.setup)
                await buyer.ready((product, 1), source="approve")
                answer = await buyer.complete()
                assert answer.status == 200, answer
                self.purchase_count += 1

        async def watch() -> None:
            while not self.is_over:
                self.longest_wait = max(self.longest_wait, await self.db.fetchval(WAITS))
                await asyncio.sleep(0.005)

        async with asyncio.TaskGroup() as group:
            for task in (buy, buy, buy, watch):
                group.create_task(task())
            try:
                await work
            finally:
                self.is_over = True


@pytest.mark.torture
async def test_migrations_of_a_million_orders_stop_nobody(
    own_data_dir: Callable[[], tuple[Path, str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data_dir, url = own_data_dir()
    db = await asyncpg.connect(url)
    await db.execute(INSERT_ORDERS)
    await db.execute("analyze orders; update order_index_progress set is_filled = true")
    service = await asyncio.to_thread(Service, SHOP_DATA_DIR=str(data_dir), SHOP_SECRET_KEYS=KEYS)
    try:
        async with service.client(timeout=60) as http:
            load = Load(http, await new_checkout_setup(Make(await new_machine(http, db))), db)
            await load.run(asyncio.to_thread(migrate, url, tmp_path))
        gift_count = await db.fetchval("select count(*) from orders where gift_text = ''")
    finally:
        await db.close()
        await asyncio.to_thread(service.stop)
    with capsys.disabled():
        print(f"\n{load.purchase_count} purchases, longest wait for a lock {1000 * load.longest_wait:.0f} ms")

    assert gift_count == COUNT + load.purchase_count
    assert load.purchase_count > 5
    assert load.longest_wait < BLOCKED_SECONDS
