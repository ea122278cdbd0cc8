"""What each kind of request costs: CPU of the service and of PostgreSQL, bytes of WAL and rows. `python -m bench.capacity`
prints the table from which docs/scaling.md computes what a number of orders needs.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx2
import msgspec
import psutil

from bench.catalog_data import fill_catalog
from bench.load_test import Server, run_sql
from bench.purchases import SETUP, buy
from bench.rounds import KEYS, SHOP
from shop.db.embedded import Embedded
from shop.migrations.upgrade import upgrade

COUNT = 300
_FIGURES = """
select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as wal, (select sum(n_tup_ins) from pg_stat_user_tables) as rows,
    pg_stat_force_next_flush()
"""
Request = Callable[[httpx2.AsyncClient], Awaitable[object]]


class Cost(msgspec.Struct, frozen=True):
    """The cost of one request: microseconds of CPU, bytes of WAL, rows that were inserted."""

    service: float
    database: float
    wal: float
    rows: float


class Meter:
    """Reads what a shop and its database have used so far."""

    def __init__(self, server: Server, url: str, postmaster: int) -> None:
        self._server, self._url, self._postmaster = server, url, psutil.Process(postmaster)

    def read(self) -> Cost:
        (row,) = run_sql(self._url, _FIGURES)
        worker = self._server.worker.cpu_times()
        processes = [self._postmaster, *self._postmaster.children()]
        times = [process.cpu_times() for process in processes]
        # Connections that have ended count with the postmaster.
        database = sum(each.user + each.system for each in times) + times[0].children_user + times[0].children_system
        return Cost((worker.user + worker.system) * 1e6, database * 1e6, float(row["wal"]), float(row["rows"]))


async def measure(meter: Meter, base: str, request: Request) -> Cost:
    async with httpx2.AsyncClient(base_url=f"{base}/api/v2/storefront", timeout=30) as http:
        for _ in range(20):
            await request(http)
        before = await asyncio.to_thread(meter.read)
        for _ in range(COUNT):
            await request(http)
        # The worker writes events, search rows and e-mails of completed orders after the requests.
        await asyncio.sleep(5)
        after = await asyncio.to_thread(meter.read)
    return Cost(
        *(
            (new - old) / COUNT
            for new, old in zip(msgspec.structs.astuple(after), msgspec.structs.astuple(before), strict=True)
        )
    )


async def _show_product(http: httpx2.AsyncClient) -> object:
    return await http.get("/products/thing-7")


async def _list_products(http: httpx2.AsyncClient) -> object:
    # A page of its own each time: lists are cached.
    return await http.get(f"/products?per_page=25&filter[price]=0,{time.monotonic_ns() % 1_000_000}")


async def _create_cart(http: httpx2.AsyncClient) -> object:
    return await http.post("/cart")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="shop-bench-") as name:
        directory = Path(name)
        directory.chmod(0o755)
        embedded = Embedded(directory)
        url = embedded.start()
        upgrade(url)
        fill_catalog(url, 1_000)
        run_sql(url, *SETUP.split(";")[:-1], "select 1")
        pid = int((directory / "postgres" / "postmaster.pid").read_text().split()[0])
        environ = {"SHOP_DATABASE_URL": url, "SHOP_SECRET_KEYS": KEYS, "SHOP_MAILBOX": "on", "SHOP_DRAIN_SECONDS": "0"}
        server = Server([str(SHOP), "serve", "--port", "PORT"], directory / "shop.log", environ).wait()
        try:
            _print_table(Meter(server, url, pid), server.url, url)
        finally:
            server.stop()
            embedded.stop()


def _print_table(meter: Meter, base: str, url: str) -> None:
    (method,) = run_sql(url, "select id from payment_methods where type = 'check'")
    variants = [str(row["id"]) for row in run_sql(url, "select id from variants where not is_master limit 3")]
    requests: dict[str, Request] = {
        "a product": _show_product,
        "a list of 25 products, not cached": _list_products,
        "a new cart": _create_cart,
        "a purchase of a guest, 8 requests": lambda http: buy(http, variants, str(method["id"])),
    }
    print("| | CPU of the service, µs | CPU of PostgreSQL, µs | WAL, bytes | rows |\n|---|--:|--:|--:|--:|")
    for name, request in requests.items():
        cost = asyncio.run(measure(meter, base, request))
        print(f"| {name} | {cost.service:,.0f} | {cost.database:,.0f} | {cost.wal:,.0f} | {cost.rows:.1f} |")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
