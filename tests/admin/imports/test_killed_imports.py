"""An import continues after its service was killed: no row is lost or imported twice."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.admin.catalog_forms import redirect_path
from tests.admin.dashboard import new_dashboard
from tests.admin.imports.test_csv_imports import check, wait_for_end
from tests.db.processes import kill, session_pids, until
from tests.service import KEYS, Service

COUNT = 3000
HAS_REACHED = "select position >= $2 from csv_imports where id::text = $1"
# The lease of a killed process ends after five minutes.
END_LEASE = "update csv_imports set leased_until = null where id::text = $1"
TOTALS = """
    select count(*), sum(s.count_on_hand),
        sum((select count(*) from stock_movements m where m.stock_item_id = s.id))
    from products p join variants v on v.product_id = p.id join stock_items s on s.variant_id = v.id
    where p.slug like 'lamp-%'
"""


async def start_import(service: Service, db: Any) -> str:
    """Uploads, checks and starts a file of products with stock; returns the path of the import."""
    rows = "".join(f"lamp-{number},Lamp,lamp-{number},5,{number}\n" for number in range(COUNT))
    async with service.client() as http:
        dashboard = await new_dashboard(http, db)
        path, _ = await check(dashboard, db, f"slug,name,sku,price,stock\n{rows}")
        redirect_path(await dashboard.post(f"{path}/start"))
    return path


@pytest.mark.torture
async def test_no_row_is_lost_or_imported_twice(tmp_path: Path, own_database: Callable[..., str]) -> None:
    url = own_database()
    serve = partial(
        Service, SHOP_DATABASE_URL=url, SHOP_SECRET_KEYS=KEYS, SHOP_DATA_DIR=str(tmp_path), SHOP_MAILBOX="on"
    )
    db = await asyncpg.connect(url)
    service = await asyncio.to_thread(serve)
    try:
        path = await start_import(service, db)
        import_id = path.rpartition("/")[2]
        for position in (300, 900, 1500):
            await until(partial(db.fetchval, HAS_REACHED, import_id, position), 120)
            kill(*session_pids(service.process.pid))
            await asyncio.to_thread(service.wait)
            await db.execute(END_LEASE, import_id)
            service = await asyncio.to_thread(serve)
        row = await wait_for_end(db, path)
        totals = tuple(await db.fetchrow(TOTALS))
    finally:
        await db.close()
        await asyncio.to_thread(service.stop)

    assert (row["state"], row["position"], row["failed"]) == ("done", COUNT, 0)
    assert row["created"] + row["unchanged"] == COUNT
    # A stock of 0 needs no movement.
    assert totals == (COUNT, sum(range(COUNT)), COUNT - 1)
