"""A mixed load: 70 % browsing, 20 % carts and 10 % purchases, with one and two workers, and invariants afterward."""

import asyncio
import os
import random
import re
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable

import httpx2
import msgspec
import psutil

from bench.catalog_data import fill_catalog
from bench.load_test import Server, run_sql
from bench.purchases import SETUP, buy
from bench.rounds import KEYS, SHOP, Bench, console

PRODUCTS = 1_000
SHOPPERS = 12
SHARES = {"browse": 70, "cart": 20, "purchase": 10}
_STOCK = "select coalesce(sum(count_on_hand), 0)::bigint as units from stock_items"
_ORDER_SUMS = """select count(*) as orders, coalesce(sum(item_count), 0)::bigint as units from orders
where completed_at is not null"""


class Outcome(msgspec.Struct):
    """What the shoppers of one run did."""

    seconds: float
    visits: Counter[str]
    times: dict[str, list[float]]
    service: float
    database: float


def mixed_tables(bench: Bench, make_url: Callable[[str], str]) -> None:
    outcomes = {}
    for workers in (1, 2):
        url = make_url(f"shop_mixed_{workers}")
        with console.status(f"{workers} worker: making products"):
            fill_catalog(url, PRODUCTS)
            run_sql(url, *SETUP.split(";")[:-1], "vacuum analyze", "select 1")
        with console.status(f"{workers} worker: shopping"):
            outcomes[workers] = _shop_for_a_while(bench, url, workers)
    bench.say(
        "",
        f"{SHOPPERS} shoppers at the same time: {', '.join(f'{share} % {name}' for name, share in SHARES.items())}. To browse is a list",
        "of 25 products and one product; a cart is created and gets an item; a purchase is all 8 requests of a guest.",
        "",
        "| workers | visits/s | purchases/s | browse p50, p99 ms | cart | purchase | CPU s per 1,000 visits: service | PostgreSQL |",
        "|--:|--:|--:|--:|--:|--:|--:|--:|",
    )
    for workers, outcome in outcomes.items():
        count = sum(outcome.visits.values())
        rates = f"{count / outcome.seconds:,.0f} | {outcome.visits['purchase'] / outcome.seconds:,.1f}"
        times = " | ".join(_describe(outcome.times[name]) for name in SHARES)
        costs = f"{outcome.service * 1000 / count:.2f} | {outcome.database * 1000 / count:.2f}"
        bench.say(f"| {workers} | {rates} | {times} | {costs} |")
    bench.say(
        "",
        "Afterward every purchase is one completed order, the stock is lower by what they contain, and `shop verify`",
        "finds nothing that it did not find before.",
    )


def _shop_for_a_while(bench: Bench, url: str, workers: int) -> Outcome:
    environ = {"SHOP_DATABASE_URL": url, "SHOP_SECRET_KEYS": KEYS, "SHOP_MAILBOX": "on", "SHOP_DRAIN_SECONDS": "0"}
    environ |= {"SHOP_DATA_DIR": str(bench.directory / f"mixed-{workers}")}
    command = [SHOP, "serve", "--port", "PORT", "--workers", str(workers)]
    server = Server(command, bench.directory / f"mixed_{workers}.log", environ).wait()
    (stock_before,) = run_sql(url, _STOCK)
    problems_before = _count_problems(environ)
    try:
        outcome = asyncio.run(_run_shoppers(bench, url, server))
    finally:
        server.stop()
    _check(url, stock_before["units"], outcome.visits["purchase"])
    # The stock of the benchmark was not received, so its ledger has problems from the start.
    if (problems := _count_problems(environ)) != problems_before:
        sys.exit(f"bench: shop verify found {problems_before} problems before the load, and {problems} after it")
    return outcome


async def _run_shoppers(bench: Bench, url: str, server: Server) -> Outcome:
    (method,) = await asyncio.to_thread(run_sql, url, "select id from payment_methods where type = 'check'")
    variants = await asyncio.to_thread(run_sql, url, "select id from variants where not is_master limit 300")
    ids = [str(row["id"]) for row in variants]
    outcome = Outcome(0.0, Counter(), {name: [] for name in SHARES}, 0.0, 0.0)
    process = psutil.Process(server.process.pid)

    def service_cpu() -> float:
        times = [each.cpu_times() for each in process.children()]
        return float(sum(each.user + each.system for each in times))

    start, service, database = time.perf_counter(), service_cpu(), bench.wrk.database_cpu()
    end = start + 5 * bench.seconds
    await asyncio.gather(*(_visit(server.url, ids, str(method["id"]), end, outcome, seed) for seed in range(SHOPPERS)))
    outcome.seconds = time.perf_counter() - start
    outcome.service, outcome.database = service_cpu() - service, bench.wrk.database_cpu() - database
    return outcome


async def _visit(base: str, variants: list[str], method: str, end: float, outcome: Outcome, seed: int) -> None:
    chance = random.Random(seed)
    async with httpx2.AsyncClient(base_url=f"{base}/api/v2/storefront", timeout=30) as http:
        while time.perf_counter() < end:
            (kind,) = chance.choices(list(SHARES), list(SHARES.values()))
            start = time.perf_counter()
            if kind == "browse":
                page = await http.get("/products", params={"page": chance.randrange(1, 20)})
                page.raise_for_status()
                slug = chance.choice(page.json()["data"])["attributes"]["slug"]
                (await http.get(f"/products/{slug}?include=variants,images")).raise_for_status()
            elif kind == "cart":
                token = (await http.post("/cart")).json()["data"]["attributes"]["token"]
                item = {"variant_id": chance.choice(variants)}
                headers = {"X-Shop-Order-Token": token}
                (await http.post("/cart/add_item", json=item, headers=headers)).raise_for_status()
            else:
                await buy(http, chance.sample(variants, 3), method)
            outcome.times[kind].append(time.perf_counter() - start)
            outcome.visits[kind] += 1


def _check(url: str, stock_before: int, purchases: int) -> None:
    (orders,) = run_sql(url, _ORDER_SUMS)
    (stock,) = run_sql(url, _STOCK)
    taken_units = stock_before - stock["units"]
    if orders["orders"] != purchases or taken_units != orders["units"]:
        sys.exit(f"bench: {purchases} purchases, but {dict(orders)}, and {taken_units} units left the stock")


def _count_problems(environ: dict[str, str]) -> int:
    base_environ = {name: value for name, value in os.environ.items() if not name.startswith("SHOP_")}
    process = subprocess.run(
        [SHOP, "verify"], env={**base_environ, **environ}, capture_output=True, text=True, check=False
    )
    match = re.search(r"^(\d+) problems? found", process.stdout + process.stderr, re.MULTILINE)
    if match is None and process.returncode:
        sys.exit(f"bench: shop verify failed:\n{process.stdout}{process.stderr}")
    return int(match[1]) if match else 0


def _describe(times: list[float]) -> str:
    if len(times) < 2:
        return ""
    p99 = statistics.quantiles(times, n=100)[98]
    return f"{statistics.median(times) * 1e3:.0f}, {p99 * 1e3:.0f}"
