"""Updates of a purchase stay on their page and write no index: heap-only tuples (HOT)."""

import os
from collections.abc import Callable
from pathlib import Path

import asyncpg
import pytest

from tests.cli.command import external
from tests.db.processes import serving
from tests.forkserver import ForkedCommand
from tests.platform.client import new_app
from tests.service import clean_environ

TABLES = ("orders", "stock_items", "listings", "payment_attempts")
COUNTS = "select relname, n_tup_upd, n_tup_hot_upd from pg_stat_user_tables where relname = any($1)"


@pytest.mark.torture
@pytest.mark.security("X-22")
async def test_four_of_five_updates_of_a_purchase_write_no_index(
    own_database: Callable[..., str], tmp_path: Path
) -> None:
    url = own_database()
    db = await asyncpg.connect(url)
    for table in TABLES:
        await db.execute(f"alter table {table} set (autovacuum_enabled = off)")
    app = await new_app(db)
    settings = external(url, SHOP_DATA_DIR=str(tmp_path), SHOP_DRAIN_SECONDS="0")
    with serving(**settings) as service:
        arguments = ["stress", "--url", service.url, "--client-id", app.client_id, "--client-secret", app.secret]
        command = ForkedCommand(arguments, clean_environ(SHOP_DATA_DIR=str(tmp_path)), log=Path(os.devnull))
        try:
            command.wait(180)
        finally:
            command.kill()

    # The service has stopped: its connections have reported their statistics at their end.
    counts = {name: (hot, updates) for name, updates, hot in await db.fetch(COUNTS, TABLES)}
    order_count = await db.fetchval("select count(*) from orders where completed_at is not null")
    await db.close()
    assert order_count > 5
    assert {name for name, (hot, updates) in counts.items() if updates and hot >= 0.8 * updates} == set(TABLES), counts
