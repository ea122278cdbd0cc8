"""The cost of a checkout: completions alone, a guest's requests one after another, and the statements of an order."""

import asyncio
import json
import random
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from statistics import median

from bench.catalog_data import fill_catalog
from bench.client_load import ClientLoad
from bench.http_client import Connection, send_all
from bench.load_test import Sample, Server, run_sql
from bench.purchases import SETUP, begin_purchase
from bench.rounds import Bench, console, figure_table, load_table

EARLIER_ORDERS = 500
JOURNEYS = 60
COMPLETIONS = 300
COMPLETE = "/api/v2/storefront/checkout/complete"
STEPS = {
    "PATCH checkout": "PATCH /api/v2/storefront/checkout",
    "GET shipping_rates": "GET /api/v2/storefront/checkout/shipping_rates",
    "POST create_payment": "POST /api/v2/storefront/checkout/create_payment",
    "PATCH complete": "PATCH /api/v2/storefront/checkout/complete",
}


def checkout_tables(bench: Bench, make_url: Callable[[str], str]) -> None:
    url = make_url("shop_checkout")
    fill_catalog(url, 200)
    run_sql(url, *SETUP.split(";")[:-1], "vacuum analyze", "select 1")
    (method,) = run_sql(url, "select id from payment_methods where type = 'check'")
    variants = [str(row["id"]) for row in run_sql(url, "select id from variants where not is_master")]
    begin = partial(begin_purchase, method=str(method["id"]))
    choose = partial(random.sample, variants, 3)
    with console.status(f"placing {EARLIER_ORDERS} orders"):
        _place_earlier_orders(bench, url, begin, choose)
    shop = bench.shop(url, "checkout")
    with console.status("a guest's requests"):
        journeys = {
            f"guest's {len(items) + 5} requests, one after another, ms": asyncio.run(
                _journeys(shop.url, partial(begin, variants=items))
            )
            for items in (variants[:2], variants[:3])
        }
        statements = _read_statements(shop)
    results = bench.interleaved(
        {
            "complete (check)": lambda: _complete(bench, shop, begin, choose),
            "complete (check), the same three items": lambda: _complete(bench, shop, begin, lambda: variants[:3]),
        }
    )
    shop.stop()
    load_table(bench, results)
    bench.say(
        "",
        f"{COMPLETIONS} carts of different guests a round, with three items each, prepared before, over 8 connections; the",
        "client is not wrk. The items are three of 200 products at random. If all guests buy the same three, each completion",
        f"waits for the one before, which has locked their stock. The shop has {EARLIER_ORDERS} earlier orders.",
    )
    steps = {f"statements of {name}": statements[route] for name, route in STEPS.items()}
    order = statements["POST /api/v2/storefront/cart"] + 3 * statements["POST /api/v2/storefront/cart/add_item"]
    figure_table(
        bench,
        {
            **journeys,
            "statements of a guest's order": order + sum(steps.values()),
            **steps,
        },
    )
    bench.say(
        "",
        "A guest sends 8 requests: cart, three items, address, rates, payment, complete; with two items, 7. Medians of the "
        f"last {JOURNEYS - JOURNEYS // 3} of {JOURNEYS} guests.",
    )


def _place_earlier_orders(
    bench: Bench, url: str, begin: Callable[..., Awaitable[str]], choose: Callable[[], list[str]]
) -> None:
    """Places orders first: PostgreSQL keeps the plans of empty tables for a while."""

    async def buy(connection: Connection, number: int) -> None:
        token = await begin(connection, variants=choose(), email=f"earlier{number}@example.org")
        await connection.send("PATCH", COMPLETE, X_Shop_Order_Token=token)

    shop = bench.shop(url, "earlier")
    asyncio.run(send_all(shop.url, range(EARLIER_ORDERS), buy))
    shop.stop()
    run_sql(url, "vacuum analyze", "checkpoint", "select 1")


async def _journeys(url: str, begin: Callable[[Connection], Awaitable[str]]) -> float:
    durations = []
    async with Connection(url) as http:
        for _ in range(JOURNEYS):
            start = time.perf_counter()
            await http.send("PATCH", COMPLETE, X_Shop_Order_Token=await begin(http))
            durations.append(time.perf_counter() - start)
    # The first ones also warm up the process.
    return median(durations[JOURNEYS // 3 :]) * 1000


def _read_statements(shop: Server) -> Mapping[str, float]:
    """Returns the median number of statements of each route, from the log."""
    time.sleep(0.5)
    counts: defaultdict[str, list[int]] = defaultdict(list)
    for line in shop.log.read_text().splitlines():
        if '"event":"request"' in line:
            entry = json.loads(line)
            counts[f"{entry['method']} {entry['route']}"].append(entry["statements"])
    return {route: median(each) for route, each in counts.items()}


def _complete(
    bench: Bench, shop: Server, begin: Callable[..., Awaitable[str]], choose: Callable[[], list[str]]
) -> Sample:
    def prepare(connection: Connection, number: int) -> Awaitable[str]:
        return begin(connection, variants=choose(), email=f"guest{number}@example.org")

    tokens = asyncio.run(send_all(shop.url, range(COMPLETIONS), prepare))
    completions = ClientLoad(bench.wrk, shop)
    completions.send(tokens, lambda connection, token: connection.send("PATCH", COMPLETE, X_Shop_Order_Token=token))
    return completions.sample()
