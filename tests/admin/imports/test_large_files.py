"""Large CSV files: uploads in parts, limits, and imports that survive the end of the process that runs them."""

import asyncio
import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from shop.rules.imports.csv_files import MAX_BYTES
from tests.admin.catalog_forms import error_messages, redirect_path, unique_word
from tests.admin.dashboard import SAME_ORIGIN, Dashboard, new_dashboard
from tests.admin.imports.test_csv_imports import IMPORTS, check, counts_of, run, upload, wait_for_end
from tests.db.processes import until
from tests.service import KEYS, Service

CHUNKS = "select count(*) from csv_import_chunks where import_id::text = $1"


async def test_a_file_of_several_chunks_is_read_across_their_borders(dashboard: Dashboard, db: Any) -> None:
    word = unique_word()
    # The second chunk begins within a quoted cell and within a character.
    text = "\u00e9\u4e2d " * 1500
    rows = "".join(f'{word}-{number},Lamp,"{text}\n{number}"\n' for number in range(150))

    path, row = await check(dashboard, db, f"slug,name,description\n{rows}")
    chunk_count = await db.fetchval(CHUNKS, path.rpartition("/")[2])
    row = await run(dashboard, db, f"slug,name,description\n{rows}")

    assert chunk_count > 1
    assert (counts_of(row), row["errors"], row["total"]) == ({"created": 150}, [], 150)
    descriptions = await db.fetch("select description from products where slug like $1", f"{word}-%")
    assert {each[0] for each in descriptions} == {f"{text}\n{number}" for number in range(150)}


async def test_a_row_that_is_too_long_fails_the_file(dashboard: Dashboard, db: Any) -> None:
    cells = '"a\n",' * 600_000

    _, row = await check(dashboard, db, f"slug,name\n{unique_word()},Lamp\n{cells}\n")

    assert (row["state"], row["failed"]) == ("failed", 1)
    assert "cannot be read at line 3: a row has more than 2,097,152 characters" in row["errors"][0]
    assert await db.fetchval(CHUNKS, str(row["id"])) == 0


async def test_an_upload_that_breaks_off_leaves_nothing(dashboard: Dashboard, db: Any) -> None:
    csrf = await dashboard.csrf()
    head = (
        f'--x\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n{csrf}\r\n'
        '--x\r\nContent-Disposition: form-data; name="file"; filename="f.csv"\r\n\r\nslug,name\n'
    ).encode()
    headers = {**dashboard.cookie, **SAME_ORIGIN, "Content-Type": "multipart/form-data; boundary=x"}
    count = await db.fetchval("select count(*) from csv_imports")

    for end, status in (
        (b"x,y\n", 400),
        (b'x,y\n\r\n--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n', 400),
    ):
        answer = await dashboard.http.post(f"{IMPORTS}/products", content=head + end, headers=headers)
        assert answer.status_code == status

    assert await db.fetchval("select count(*) from csv_imports") == count


@pytest.mark.torture
async def test_a_file_that_is_too_large_is_refused(dashboard: Dashboard) -> None:
    answer = await upload(dashboard, b"slug\n" + b"x\n" * (MAX_BYTES // 2))

    assert (answer.status_code, error_messages(answer)) == (422, ["The file is larger than 100 MiB."])


@pytest.mark.torture
async def test_no_row_is_lost_or_imported_twice_when_the_service_is_killed(tmp_path: Path, database_url: str) -> None:
    word, count = unique_word(), 3000
    rows = "".join(f"{word}-{number},Lamp,{word}-{number},5,{number}\n" for number in range(count))
    settings = {"SHOP_DATABASE_URL": database_url, "SHOP_SECRET_KEYS": KEYS, "SHOP_DATA_DIR": str(tmp_path)}
    db = await asyncpg.connect(database_url)
    service = await asyncio.to_thread(Service, **settings)
    async with service.client() as http:
        dashboard = await new_dashboard(http, db)
        path, _ = await check(dashboard, db, f"slug,name,sku,price,stock\n{rows}")
        redirect_path(await dashboard.post(f"{path}/start"))
    import_id = path.rpartition("/")[2]
    for position in (300, 900, 1500):
        has_begun = "select position >= $2 from csv_imports where id::text = $1"
        await until(partial(db.fetchval, has_begun, import_id, position), 120)
        for pid in (service.process.pid, *service.worker_pids()):
            os.kill(pid, signal.SIGKILL)
        await asyncio.to_thread(service.wait)
        # The lease of a killed process ends after five minutes.
        await db.execute("update csv_imports set leased_until = null where id::text = $1", import_id)
        service = await asyncio.to_thread(Service, **settings)
    row = await wait_for_end(db, path)
    await asyncio.to_thread(service.stop)

    assert (row["state"], row["position"], row["failed"]) == ("done", count, 0)
    assert row["created"] + row["unchanged"] == count
    query = """select count(*), sum(s.count_on_hand), sum((select count(*) from stock_movements m
        where m.stock_item_id = s.id)) from products p join variants v on v.product_id = p.id
        join stock_items s on s.variant_id = v.id where p.slug like $1"""
    assert tuple(await db.fetchrow(query, f"{word}-%")) == (count, sum(range(count)), count - 1)
    await db.close()
