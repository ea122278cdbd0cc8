"""The cost of SHOP_DATABASE_PREPARED=off, directly and behind PgBouncer: each statement is parsed and planned again."""

import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from tests.pgbouncer import OTHER_PROGRAM, PREPARED_COUNT, can_prepare, run_pgbouncer

from bench.catalog import PRODUCTS, WITH
from bench.catalog_data import fill_catalog
from bench.database_load import Database, load_job, median_cost
from bench.load_test import PATH, Sample, Server, fill, median, median_ratio, uncached_script
from bench.rounds import KEYS, Bench, console
from shop.base.crypto.keys import parse_keys
from shop.base.crypto.order_tokens import order_token
from shop.migrations.upgrade import upgrade

PRODUCT_COUNT = 1_000
CART_COUNT = 1_000


def prepared_tables(bench: Bench) -> None:
    if not (os.environ.get(OTHER_PROGRAM) or shutil.which("pgbouncer")) or not can_prepare():
        bench.say(
            "", f"Prepared statements: not measured without PgBouncer 1.21 or newer; {OTHER_PROGRAM} can name one."
        )
        return
    with ExitStack() as stack:
        database = Database(bench.directory / "prepared")
        stack.callback(database.stop)
        url = database.start()
        with console.status(f"making {PRODUCT_COUNT:,} products"):
            upgrade(url)
            fill_catalog(url, PRODUCT_COUNT)
            fill(url, CART_COUNT)
        pooler = stack.enter_context(run_pgbouncer(url, prepared_count=PREPARED_COUNT))
        shops: dict[str, Server] = {}
        for way, address in {"direct": url, "PgBouncer": pooler.url}.items():
            for choice in ("on", "off"):
                name = f"{way} {choice}"
                shops[name] = bench.shop(address, name.replace(" ", "_"), SHOP_DATABASE_PREPARED=choice)
                stack.callback(shops[name].stop)
        _measure(bench, shops, database, url)


def _measure(bench: Bench, shops: dict[str, Server], database: Database, url: str) -> None:
    key = parse_keys(KEYS)
    requests: dict[str, tuple[Path | None, str]] = {
        "a new cart": (bench.create, PATH),
        "a cart": (bench.reader(url, "prepared", lambda cart: order_token(key, cart, 0)), PATH),
        "list of 25, rendered fresh": (uncached_script(bench.directory), f"{PRODUCTS}?{WITH}"),
    }
    jobs: dict[str, Callable[[], Sample]] = {}
    costs: dict[str, list[float]] = {}
    for request, (script, path) in requests.items():
        for name, shop in shops.items():
            job = f"{request} {name}"
            costs[job] = []
            jobs[job] = load_job(bench, shop, script, path, [(costs[job], [database])])
    results = bench.interleaved(jobs)
    bench.say(
        "",
        "| one worker | prepared | requests/s | of on | CPU of the shop, µs | of PostgreSQL, µs |",
        "|---|---|--:|--:|--:|--:|",
    )
    for request in requests:
        for name in shops:
            way, choice = name.split()
            job = f"{request} {name}"
            sample, ratio = median(results[job]), median_ratio(results[job], results[f"{request} {way} on"])
            figures = f"{sample.cpu:,.0f} | {median_cost(costs[job])}"
            bench.say(f"| {request}, {way} | {choice} | {sample.per_second:,.0f} | {ratio:.2f} | {figures} |")
