"""A CSV file of 100,000 products, and a change of all their prices with its undo, beside shoppers."""

import asyncio
from collections.abc import Callable
from functools import partial

import asyncpg

from bench.dashboard import create_operator
from bench.load_test import Server
from bench.long_jobs import JobFigures, OperatorClient, say_figures, watch
from bench.rounds import Bench, console

PRODUCTS = 100_000
_HEADERS = "slug,name,status,description,vendor,sku,price,stock,option1_name,option1_value"
_RAISE = {"kind": "price", "direction": "raise", "number": "5", "unit": "percent", "currency": "USD", "rounding": "95"}
_OPEN = ("checking", "running", "undoing")


def catalog_job_tables(bench: Bench, make_url: Callable[[str], str], count: int = PRODUCTS) -> None:
    """Measures a tenth of the products first: what grows faster than their number, or in memory, shows."""
    url = make_url("shop_catalog_jobs")
    shop, secret = bench.shop(url, "catalog_jobs"), create_operator(url)
    say_figures(bench, asyncio.run(_run_jobs(shop, url, secret, count)))
    shop.stop()


async def _run_jobs(shop: Server, url: str, secret: str, count: int) -> dict[str, JobFigures]:
    operator, rows = OperatorClient(shop, secret), {}
    for first, last in ((0, count // 10), (count // 10, count)):
        size = last - first
        path = await _upload(operator, _build_file(first, last))
        jobs = {
            f"check of a file of {size:,} products": partial(_run_import, operator, url, path, "check"),
            f"import of {size:,} products": partial(_run_import, operator, url, path, "start"),
            f"change of the prices of {last:,} products": partial(_change_prices, operator, url),
            f"undo of that change of {last:,} products": partial(_undo, operator, url),
        }
        for name, job in jobs.items():
            with console.status(name):
                rows[name] = await watch(shop, url, job)
    await operator.close()
    return rows


def _build_file(first: int, last: int) -> bytes:
    """Returns a file of products with two variants each."""
    lines = [_HEADERS]
    for n in range(first, last):
        words = f"A quiet thing of our own making number {n} " + "made with care " * 6
        lines += [
            f"import-{n},Imported thing {n},active,{words},Vendor {n % 50},IMP-{n}-{size},{10 + n % 90}.00,1000,Size,{size}"
            for size in ("s", "m")
        ]
    return "\n".join(lines).encode()


async def _wait(url: str, table: str, problems: str, record_id: str) -> None:
    """Waits for the end of a job, which must have no problems."""
    connection = await asyncpg.connect(url)
    query = f"select * from {table}, pg_sleep(0.05) where id::text = $1"
    while (row := await connection.fetchrow(query, record_id))["state"] in _OPEN:
        pass
    await connection.close()
    if row["state"] == "failed" or row[problems]:
        raise SystemExit(f"bench: a job failed: {dict(row)}")


async def _upload(operator: OperatorClient, file: bytes) -> str:
    response = await operator.post("/admin/imports/products", file=file)
    return str(response.headers["location"].partition("?")[0])


async def _run_import(operator: OperatorClient, url: str, path: str, step: str) -> None:
    fields = {f"mapping[{number}]": name for number, name in enumerate(_HEADERS.split(","))} if step == "check" else {}
    await operator.post(f"{path}/{step}", fields)
    await _wait(url, "csv_imports", "failed", path.rpartition("/")[2])


async def _change_prices(operator: OperatorClient, url: str) -> None:
    response = await operator.post("/admin/products/bulk", {"scope": "all", "step": "apply", **_RAISE})
    await _wait(url, "product_batches", "problem_count", response.headers["location"].rpartition("/")[2])


async def _undo(operator: OperatorClient, url: str) -> None:
    """Undoes the newest change."""
    connection = await asyncpg.connect(url)
    batch_id = str(await connection.fetchval("select id from product_batches order by created_at desc limit 1"))
    await connection.close()
    await operator.post(f"/admin/products/batches/{batch_id}/undo")
    await _wait(url, "product_batches", "problem_count", batch_id)
