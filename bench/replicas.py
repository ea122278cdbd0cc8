"""The catalog with 0, 1 and 2 read replicas: requests per second, and how much load leaves the primary."""

import time
from collections.abc import Callable
from contextlib import ExitStack

from bench.catalog import PRODUCTS, WITH
from bench.catalog_data import fill_catalog
from bench.database_load import Database, load_job, median_cost
from bench.load_test import Sample, Server, median, median_ratio, uncached_script
from bench.rounds import Bench, console
from shop.migrations.upgrade import upgrade

COUNTS = (0, 1, 2)
PRODUCT_COUNT = 1_000


def replica_tables(bench: Bench) -> None:
    with ExitStack() as stack:
        primary, *standbys = [Database(bench.directory / f"replicas_{number}") for number in range(1 + max(COUNTS))]
        stack.callback(primary.stop)
        url = primary.start()
        with console.status(f"making {PRODUCT_COUNT:,} products"):
            upgrade(url)
            fill_catalog(url, PRODUCT_COUNT)
        for standby in standbys:
            stack.callback(standby.stop)
        urls = [standby.follow(primary) for standby in standbys]
        shops: dict[int, Server] = {}
        for count in COUNTS:
            shops[count] = bench.shop(url, f"replicas_{count}", SHOP_DATABASE_REPLICA_URLS=",".join(urls[:count]))
            stack.callback(shops[count].stop)
            _wait_for_replicas(shops[count], count)
        _measure(bench, shops, primary, standbys)


def _wait_for_replicas(shop: Server, count: int) -> None:
    end = time.monotonic() + 30
    while shop.log.read_text().count("the replica is used") < count:
        assert time.monotonic() < end, "a replica is not used"
        time.sleep(0.05)


def _measure(bench: Bench, shops: dict[int, Server], primary: Database, standbys: list[Database]) -> None:
    requests = {
        "list of 25, rendered fresh": (uncached_script(bench.directory), f"{PRODUCTS}?{WITH}"),
        "a product": (None, f"{PRODUCTS}/thing-7"),
    }
    jobs: dict[str, Callable[[], Sample]] = {}
    costs: dict[str, tuple[list[float], list[float]]] = {}
    for name, (script, path) in requests.items():
        for count, shop in shops.items():
            key = f"{name} {count}"
            costs[key] = [], []
            groups = [(costs[key][0], [primary]), (costs[key][1], standbys)]
            jobs[key] = load_job(bench, shop, script, path, groups)
    results = bench.interleaved(jobs)
    bench.say(
        "",
        "| one worker | replicas | requests/s | of none | CPU of the shop, µs | of the primary, µs | of the replicas, µs |",
        "|---|--:|--:|--:|--:|--:|--:|",
    )
    for name in requests:
        for count in COUNTS:
            key = f"{name} {count}"
            sample, ratio = median(results[key]), median_ratio(results[key], results[f"{name} {COUNTS[0]}"])
            figures = " | ".join(median_cost(each) for each in costs[key])
            bench.say(f"| {name} | {count} | {sample.per_second:,.0f} | {ratio:.2f} | {sample.cpu:,.0f} | {figures} |")
