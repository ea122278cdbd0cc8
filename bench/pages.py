"""Pages of the dashboard beside the Platform API's answers with the same data, at 100,000 products and a million orders."""

import asyncio
import random
import statistics
import time
from collections.abc import Callable

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
    bench.say("", "| page | p50 ms | Platform API p50 ms | ratio | at most |", "|---|--:|--:|--:|--:|")


def _compare(bench: Bench, url: str, shop: Server, cookie: dict[str, str], pairs: PagePairs, select: str) -> None:
    """Requests pages and answers in turn, each about a random record."""
    records = run_sql(url, f"{select} order by md5(id::text) limit 500")
    bearer = {"Authorization": f"Bearer {create_client(url)[1]}"}
    for name, (page, answers) in pairs.items():
        page_times, api_times = asyncio.run(
            _measure(shop, ((page,), answers), (cookie, bearer), records, bench.rounds * REQUESTS)
        )
        ratio = statistics.median(page_times) / statistics.median(api_times)
        figures = " | ".join(f"{statistics.median(times) * 1e3:.1f}" for times in (page_times, api_times))
        bench.say(f"| {name} | {figures} | {ratio:.2f} | {LIMIT} |")


async def _measure(
    shop: Server,
    pair: tuple[tuple[str, ...], tuple[str, ...]],
    headers: tuple[dict[str, str], dict[str, str]],
    records: list[dict[str, object]],
    count: int,
) -> tuple[list[float], list[float]]:
    chance = random.Random(0)
    times: tuple[list[float], list[float]] = ([], [])
    async with Connection(shop.url) as http:
        for number in range(count + 5):
            record = chance.choice(records)
            for paths, header, values in zip(pair, headers, times, strict=True):
                start = time.perf_counter()
                for path in paths:
                    await http.send("GET", path.format(id=record["id"], number=record["number"]), **header)
                if number >= 5:
                    values.append(time.perf_counter() - start)
    return times
