"""Pages of the dashboard beside the Platform API's answers with the same data, at 100,000 products and a million orders."""

import asyncio
import random
import statistics
import time
from collections.abc import Callable, Sequence

import msgspec
import psutil

from bench.catalog_data import fill_catalog
from bench.http_client import Connection
from bench.load_test import Server, fill_once, run_sql
from bench.platform import create_client
from bench.rounds import Bench, console

PRODUCTS = 100_000
REQUESTS = 40
"""Requests to each page in a round."""
LIMIT = 1.5
_API = "/api/v2/platform"
_ORDER_PARTS = "bill_address,ship_address,line_items,payments,shipments,adjustments,state_changes"
# Without taxons: the API links all products of each, which a page does not show.
_PRODUCT_PARTS = "variants,images,option_types,product_properties"
MOST_CPU = {"orders": 2.29, "order": 1.99, "customers": 2.01, "customer": 1.09, "products": 0.73, "product": 2.45}
"""The service's CPU time for a page, of that for the API's answers: what the page took before the decisions 0027 to 0033, of
what the answers take since. 0032 has the figures.
"""
PagePairs = dict[str, tuple[str, tuple[str, ...]]]
"""The path of each page, and those of the Platform API that have its data; `{id}` and `{number}` are those of a random
record.
"""
_ORDER_PAGES: PagePairs = {
    "orders": ("/admin/orders", (f"{_API}/orders?sort=-completed_at&include=ship_address",)),
    "order": ("/admin/orders/{number}", (f"{_API}/orders/{{id}}?include={_ORDER_PARTS}",)),
}
_CUSTOMER_PAGES: PagePairs = {
    "customers": ("/admin/customers", (f"{_API}/users",)),
    "customer": (
        "/admin/customers/{id}",
        (
            f"{_API}/users/{{id}}?include=bill_address,ship_address",
            *(f"{_API}/{name}?filter[user_id_eq]={{id}}" for name in ("addresses", "orders", "store_credits")),
        ),
    ),
}
_PRODUCT_PAGES: PagePairs = {
    "products": ("/admin/products", (f"{_API}/products?include=images",)),
    "product": ("/admin/products/{id}", (f"{_API}/products/{{id}}?include={_PRODUCT_PARTS}",)),
}


class PageCost(msgspec.Struct, frozen=True):
    """The median time of a page or of its answers in ms, and their average CPU µs."""

    p50: float
    service: float
    database: float


def order_page_tables(bench: Bench, url: str, shop: Server, cookie: dict[str, str]) -> None:
    """Compares the pages of orders and customers, on a database with orders."""
    _say_header(bench)
    _compare(bench, url, shop, cookie, _ORDER_PAGES, "select id, number from orders")
    _compare(bench, url, shop, cookie, _CUSTOMER_PAGES, "select id, '' as number from users")


def product_page_tables(
    bench: Bench, make_url: Callable[[str], str], create_operator: Callable[[str], str], count: int = PRODUCTS
) -> None:
    """Compares the pages of products, on a database of its own."""
    url = make_url("shop_product_pages")
    with console.status(f"making {count:,} products"):
        fill_once(url, lambda: fill_catalog(url, count))
    cookie = {"Cookie": f"__Host-shop_operator={create_operator(url)}"}
    shop = bench.shop(url, "product_pages")
    _say_header(bench)
    _compare(bench, url, shop, cookie, _PRODUCT_PAGES, "select id, '' as number from products")
    shop.stop()


def _say_header(bench: Bench) -> None:
    bench.say(
        "",
        "| page | p50 ms | Platform API p50 ms | ratio | at most | CPU µs, service | PostgreSQL | API: service | PostgreSQL "
        "| service, of the API's | at most |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    )


def _compare(bench: Bench, url: str, shop: Server, cookie: dict[str, str], pairs: PagePairs, select: str) -> None:
    """Requests pages and answers in turn, each about a random record."""
    records = run_sql(url, f"{select} order by md5(id::text) limit 500")
    bearer = {"Authorization": f"Bearer {create_client(url)[1]}"}
    for name, (page_path, answer_paths) in pairs.items():
        requests = (((page_path,), cookie), (answer_paths, bearer))
        page, answers = asyncio.run(_measure(bench, shop, requests, records))
        ratio, cpu_ratio = page.p50 / answers.p50, page.service / answers.service
        times = f"{page.p50:.1f} | {answers.p50:.1f} | {ratio:.2f} | {LIMIT}"
        costs = " | ".join(f"{cost:.0f}" for cost in (page.service, page.database, answers.service, answers.database))
        bench.say(f"| {name} | {times} | {costs} | {cpu_ratio:.2f} | {MOST_CPU[name]} |")
        bench.section.rows[name] = {"page": round(page.service), "api": round(answers.service)}


async def _measure(
    bench: Bench, shop: Server, sides: Sequence[tuple[Sequence[str], dict[str, str]]], records: list[dict[str, object]]
) -> list[PageCost]:
    """Requests the paths of each side in turn, a block of requests in each round, and one round to warm up."""
    chance, database, worker = random.Random(0), bench.wrk, shop.worker
    times: list[list[float]] = [[] for _ in sides]
    costs: list[list[tuple[float, float]]] = [[] for _ in sides]
    async with Connection(shop.url) as http:
        for number in range(bench.rounds + 1):
            chosen_records = [chance.choice(records) for _ in range(REQUESTS)]
            for side, (paths, headers) in enumerate(sides):
                before = _seconds(worker), database.database_cpu()
                for record in chosen_records:
                    start = time.perf_counter()
                    for path in paths:
                        await http.send("GET", path.format(id=record["id"], number=record["number"]), **headers)
                    times[side] += [time.perf_counter() - start] if number else []
                after = _seconds(worker), database.database_cpu()
                costs[side] += [(after[0] - before[0], after[1] - before[1])] if number else []
    return [
        PageCost(statistics.median(each) * 1e3, *(sum(part) / len(each) * 1e6 for part in zip(*cost, strict=True)))
        for each, cost in zip(times, costs, strict=True)
    ]


def _seconds(worker: psutil.Process) -> float:
    times = worker.cpu_times()
    return float(times.user + times.system)
