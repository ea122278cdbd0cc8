"""Measures long jobs of the dashboard: their time, memory, locks and WAL, and how long shoppers wait meanwhile."""

import asyncio
import random
import re
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import asyncpg
import httpx2
import msgspec

from bench.http_client import Connection
from bench.load_test import Server
from bench.rounds import Bench

MAX_WAIT, MAX_TRANSACTION, MAX_GROWTH = 200, 3, 60
"""Milliseconds of a shopper's request, seconds of a transaction, megabytes above the memory before the job."""
_COOKIE = "__Host-shop_operator"
_CART = "/api/v2/storefront/cart"
_PAUSE = 0.02
"""Seconds between two requests of the shopper, and between two looks at the locks."""
_ACTIVITY = """
select coalesce((select extract(epoch from max(clock_timestamp() - waitstart)) from pg_locks where not granted), 0)::float8 * 1e3,
    coalesce((select extract(epoch from max(clock_timestamp() - xact_start)) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'), 0)::float8
"""


class JobFigures(msgspec.Struct):
    """The figures of one job; times of requests are in milliseconds."""

    seconds: float = 0
    cpu: float = 0
    """CPU seconds of the serving process, which runs the job."""
    memory_before: float = 0
    memory_peak: float = 0
    wal: float = 0
    """Megabytes."""
    longest_transaction: float = 0
    longest_lock_wait: float = 0
    waits: list[float] = []
    """The times of a shopper's requests while the job ran."""


class OperatorClient:
    """An operator in a browser."""

    def __init__(self, shop: Server, secret: str) -> None:
        headers = {"Cookie": f"{_COOKIE}={secret}", "Sec-Fetch-Site": "same-origin"}
        self._http = httpx2.AsyncClient(base_url=shop.url, headers=headers, timeout=600)

    async def get(self, path: str) -> httpx2.Response:
        response = await self._http.get(path)
        return response.raise_for_status()

    async def post(
        self, path: str, fields: Mapping[str, str] | None = None, *, file: bytes | None = None
    ) -> httpx2.Response:
        """Submits a form with the CSRF token of the session; returns the redirect, or the page that asks again."""
        match = re.search(r'name="csrf" value="([^"]+)"', (await self.get("/admin/confirm")).text)
        files = {"file": ("file.csv", file, "text/csv")} if file else None
        response = await self._http.post(path, data={"csrf": match[1] if match else "", **(fields or {})}, files=files)
        if response.status_code not in (200, 303):
            raise SystemExit(f"bench: POST {path} was answered {response.status_code}: {response.text[-2000:]}")
        return response

    async def close(self) -> None:
        await self._http.aclose()


Job = Callable[[], Awaitable[Any]]


async def watch(shop: Server, url: str, job: Job) -> JobFigures:
    """Runs a job while a shopper adds items to carts, if there are products."""
    figures, worker, connection = JobFigures(), shop.worker, await asyncpg.connect(url)
    # Of the oldest products, which exist from the beginning.
    rows = await connection.fetch("select id from variants where not is_master order by id limit 2000")
    _reset_peak(worker.pid)
    figures.memory_before = _read_memory(worker.pid, "VmRSS")
    lsn = await connection.fetchval("select pg_current_wal_lsn()")
    cpu = sum(worker.cpu_times()[:2])
    over = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(_shop(shop, [str(row[0]) for row in rows], figures, over))
        group.create_task(_look(url, figures, over))
        start = time.perf_counter()
        await job()
        figures.seconds = time.perf_counter() - start
        over.set()
    figures.cpu = sum(worker.cpu_times()[:2]) - cpu
    figures.memory_peak = _read_memory(worker.pid, "VmHWM")
    figures.wal = await connection.fetchval("select pg_wal_lsn_diff(pg_current_wal_lsn(), $1)::float8", lsn) / 1e6
    await connection.close()
    return figures


def say_figures(bench: Bench, rows: Mapping[str, JobFigures]) -> None:
    bench.say(
        "",
        "| job | seconds | CPU s | memory MB, at most | WAL MB | longest transaction s "
        "| longest lock wait ms | a shopper's request p50, p99, longest ms |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    )
    for name, row in rows.items():
        waits = row.waits if len(row.waits) > 1 else [0.0, 0.0]
        p99 = statistics.quantiles(waits, n=100)[98]
        bench.say(
            f"| {name} | {row.seconds:.1f} | {row.cpu:.1f} | {row.memory_before:.0f} to {row.memory_peak:.0f}, "
            f"{row.memory_before + MAX_GROWTH:.0f} | {row.wal:.0f} | {row.longest_transaction:.2f} "
            f"| {row.longest_lock_wait:.0f} | {statistics.median(waits):.1f}, {p99:.1f}, {max(waits):.1f} |"
        )
    bench.say(
        "", f"At most: a transaction of {MAX_TRANSACTION} s, and {MAX_WAIT} ms for a lock or a shopper's request."
    )


def _reset_peak(pid: int) -> None:
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def _read_memory(pid: int, name: str) -> float:
    match = re.search(rf"^{name}:\s+(\d+) kB$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return int(match[1]) / 1e3 if match else 0


async def _look(url: str, figures: JobFigures, over: asyncio.Event) -> None:
    connection = await asyncpg.connect(url)
    while not over.is_set():
        lock_wait, transaction = await connection.fetchrow(_ACTIVITY)
        figures.longest_lock_wait = max(figures.longest_lock_wait, lock_wait)
        figures.longest_transaction = max(figures.longest_transaction, transaction)
        await asyncio.sleep(_PAUSE)
    await connection.close()


async def _shop(shop: Server, variants: list[str], figures: JobFigures, over: asyncio.Event) -> None:
    """Adds items to carts of twenty lines."""
    chance = random.Random(0)
    async with Connection(shop.url) as http:
        while variants and not over.is_set():
            cart = await http.send("POST", _CART)
            token = {"X_Shop_Order_Token": cart["data"]["attributes"]["token"]}
            for _ in range(20):
                start = time.perf_counter()
                await http.send("POST", f"{_CART}/add_item", {"variant_id": chance.choice(variants)}, **token)
                figures.waits.append(1e3 * (time.perf_counter() - start))
                await asyncio.sleep(_PAUSE)
