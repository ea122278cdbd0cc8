"""The cost of a checkout: completions alone, a guest's requests one after another, and the statements of an order."""

import asyncio
import json
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from statistics import median

import httpx2

from bench.catalog_data import fill_catalog
from bench.client_load import ClientLoad
from bench.http_client import Connection, send_all
from bench.load_test import Sample, Server, run_sql
from bench.purchases import SETUP, begin_purchase, buy
from bench.rounds import Bench, console, figure_table, load_table

JOURNEYS = 60
COMPLETIONS = 300
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
    variants = [str(row["id"]) for row in run_sql(url, "select id from variants where not is_master limit 3")]
    shop = bench.shop(url, "checkout")
    begin = partial(begin_purchase, variants=variants, method=str(method["id"]))
    with console.status("a guest's requests"):
        journey = asyncio.run(_journeys(shop.url, variants, str(method["id"])))
        statements = _read_statements(shop)
    results = bench.interleaved({"complete (check)": lambda: _complete(bench, shop, begin)})
    shop.stop()
    load_table(bench, results)
    bench.say(
        "", f"{COMPLETIONS} carts with three items a round, prepared before, over 8 connections; the client is not wrk."
    )
    steps = {f"statements of {name}": statements[route] for name, route in STEPS.items()}
    order = statements["POST /api/v2/storefront/cart"] + 3 * statements["POST /api/v2/storefront/cart/add_item"]
    figure_table(
        bench,
        {
            "guest's requests, one after another, ms": journey,
            "statements of a guest's order": order + sum(steps.values()),
            **steps,
        },
    )
    bench.say(
        "", f"A guest sends 8 requests: cart, three items, address, rates, payment, complete; medians of {JOURNEYS}."
    )


async def _journeys(base: str, variants: list[str], method: str) -> float:
    durations = []
    async with httpx2.AsyncClient(base_url=f"{base}/api/v2/storefront", timeout=30) as http:
        for _ in range(JOURNEYS):
            start = time.perf_counter()
            await buy(http, variants, method)
            durations.append(time.perf_counter() - start)
    return median(durations) * 1000


def _read_statements(shop: Server) -> Mapping[str, float]:
    """Returns the median number of statements of each route, from the log."""
    time.sleep(0.5)
    counts: defaultdict[str, list[int]] = defaultdict(list)
    for line in shop.log.read_text().splitlines():
        if '"event":"request"' in line:
            entry = json.loads(line)
            counts[f"{entry['method']} {entry['route']}"].append(entry["statements"])
    return {route: median(each) for route, each in counts.items()}


def _complete(bench: Bench, shop: Server, begin: Callable[[Connection], object]) -> Sample:
    tokens = asyncio.run(send_all(shop.url, range(COMPLETIONS), lambda connection, _: begin(connection)))  # type: ignore[arg-type,return-value]
    completions = ClientLoad(bench.wrk, shop)
    path = "/api/v2/storefront/checkout/complete"
    completions.send(tokens, lambda connection, token: connection.send("PATCH", path, X_Shop_Order_Token=token))
    return completions.sample()
