"""What each kind of request costs: CPU of the service and of PostgreSQL, bytes of WAL and rows; and what a number of orders
an hour needs, which docs/scaling.md explains.
"""

import asyncio
import itertools
import math
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

import msgspec

from bench.catalog_data import fill_catalog
from bench.http_client import Connection, send_all
from bench.load_test import LoadGenerator, Server, run_sql
from bench.purchases import SETUP, begin_purchase
from bench.rounds import Bench, console

COUNT = 300
SETTLE_SECONDS = 11
"""An idle connection of PostgreSQL reports its rows after ten seconds."""
STORE = "/api/v2/storefront"
USE = 0.6
"""The share of a core that is used in the peak hour."""
FOR_EACH_ORDER = {"a product": 100, "a list of 25 products, one changed": 20, "a new cart": 9, "an item added": 9}
"""Requests of other visitors for each order; the purchase itself has all of its requests."""
_FIGURES = """
select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as wal, (select sum(n_tup_ins) from pg_stat_user_tables) as rows,
    pg_stat_force_next_flush()
"""
_CHANGE = "a change of a product"
Request = Callable[[Connection, int], Awaitable[object]]


class Cost(msgspec.Struct, frozen=True):
    """The cost of a request: seconds of CPU, bytes of WAL, rows that were inserted."""

    service: float
    database: float
    wal: float
    rows: float

    def plus(self, other: "Cost", times: float) -> "Cost":
        pairs = zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other), strict=True)
        return Cost(*(one + times * more for one, more in pairs))


class Meter:
    """Reads what a shop and its database have used so far."""

    def __init__(self, server: Server, url: str, wrk: LoadGenerator) -> None:
        self._server, self._url, self._wrk = server, url, wrk

    def read(self) -> Cost:
        (row,) = run_sql(self._url, _FIGURES)
        worker = self._server.worker.cpu_times()
        return Cost(worker.user + worker.system, self._wrk.database_cpu(), float(row["wal"]), float(row["rows"]))


def measure(meter: Meter, base: str, request: Request, numbers: "itertools.count[int]") -> Cost:
    """Returns the average cost of a request, with what the worker does afterward: events, search rows, e-mails."""

    async def run(count: int) -> None:
        await send_all(base, itertools.islice(numbers, count), request)
        await asyncio.sleep(SETTLE_SECONDS)

    asyncio.run(run(20))
    before = meter.read()
    asyncio.run(run(COUNT))
    return Cost(0, 0, 0, 0).plus(meter.read(), 1 / COUNT).plus(before, -1 / COUNT)


def list_requests(url: str) -> Mapping[str, Request]:
    (method,) = run_sql(url, "select id from payment_methods where type = 'check'")
    variants = [str(row["id"]) for row in run_sql(url, "select id from variants where not is_master limit 3")]
    begin = partial(begin_purchase, variants=variants, method=str(method["id"]))

    async def change_product(_http: Connection, number: int) -> None:
        change = f"update products set name = name || '.' where slug = 'thing-{991 + number % 10}'"
        await asyncio.to_thread(run_sql, url, change, "select 1")

    async def change_and_list(http: Connection, number: int) -> None:
        await change_product(http, number)
        await http.send("GET", f"{STORE}/products?per_page=25&include=default_variant,images&n={number}")

    async def add_item(http: Connection, _: int) -> str:
        cart = await http.send("POST", f"{STORE}/cart")
        token = str(cart["data"]["attributes"]["token"])
        await http.send("POST", f"{STORE}/cart/add_item", {"variant_id": variants[0]}, X_Shop_Order_Token=token)
        return token

    async def read_cart(http: Connection, number: int) -> None:
        token = await add_item(http, number)
        await http.send("GET", f"{STORE}/cart?include=line_items.variant", X_Shop_Order_Token=token)

    async def buy(http: Connection, _: int) -> None:
        token = await begin(http)
        await http.send("PATCH", f"{STORE}/checkout/complete", X_Shop_Order_Token=token)

    return {
        "a product": lambda http, number: http.send("GET", f"{STORE}/products/thing-{1 + number % 900}?n={number}"),
        "a list of 25 products, unchanged": lambda http, _: http.send("GET", f"{STORE}/products?per_page=25"),
        _CHANGE: change_product,
        "a list of 25 products, one changed": change_and_list,
        "a new cart": lambda http, _: http.send("POST", f"{STORE}/cart"),
        "an item added": add_item,
        "a cart with its lines": read_cart,
        "a purchase of a guest, 8 requests": buy,
    }


def cost_table(bench: Bench, make_url: Callable[[str], str]) -> None:
    url = make_url("shop_cost")
    fill_catalog(url, 1_000)
    run_sql(url, *SETUP.split(";")[:-1], "vacuum analyze", "select 1")
    run_sql(url, "checkpoint", "select 1")
    server = bench.shop(url, "cost")
    meter, numbers = Meter(server, url, bench.wrk), itertools.count()
    costs: dict[str, Cost] = {}
    try:
        # A shop that has just started still fills its indexes.
        measure(meter, server.url, _do_nothing, numbers)
        for name, request in list_requests(url).items():
            with console.status(name):
                costs[name] = measure(meter, server.url, request, numbers)
        idle = measure(meter, server.url, _do_nothing, numbers)
        costs = {name: cost.plus(idle, -1) for name, cost in costs.items()}
    finally:
        server.stop()
    _subtract(costs, "an item added", "a new cart")
    _subtract(costs, "a cart with its lines", "a new cart", "an item added")
    _subtract(costs, "a list of 25 products, one changed", _CHANGE)
    del costs[_CHANGE]
    _say_costs(bench, costs)
    _say_needs(bench, costs)


async def _do_nothing(_http: Connection, _number: int) -> None:
    return


def _subtract(costs: dict[str, Cost], name: str, *parts: str) -> None:
    """Removes the requests that only prepare the measured one."""
    for part in parts:
        costs[name] = costs[name].plus(costs[part], -1)


def _say_costs(bench: Bench, costs: Mapping[str, Cost]) -> None:
    bench.say(
        "",
        "| 1,000 requests | CPU s of the service | previous | CPU s of PostgreSQL | previous | WAL, MB | rows |",
        "|---|--:|--:|--:|--:|--:|--:|",
    )
    for name, cost in costs.items():
        before = [bench.section.describe_previous(name, part) for part in ("service", "database")]
        row = bench.section.rows[name] = {
            "service": round(cost.service * 1e3, 3),
            "database": round(cost.database * 1e3, 3),
            "wal": round(cost.wal / 1e3, 3),
            "rows": round(cost.rows * 1e3, 1),
        }
        figures = f"{row['service']:.2f} | {before[0]} | {row['database']:.2f} | {before[1]} | {row['wal']:.2f}"
        bench.say(f"| {name} | {figures} | {row['rows']:,.0f} |")
    bench.say(
        "",
        f"{COUNT} of each on a shop with 1,000 products, 8 at a time, with the work of the worker afterward; idle work is",
    )
    bench.say("subtracted. PostgreSQL's share of the changed list contains the change of the product.")


def _say_needs(bench: Bench, costs: Mapping[str, Cost]) -> None:
    order = costs["a purchase of a guest, 8 requests"]
    for name, times in FOR_EACH_ORDER.items():
        order = order.plus(costs[name], times)
    bench.say(
        "",
        f"An order with {', '.join(f'{times} times {name}' for name, times in FOR_EACH_ORDER.items())} of other",
        f"visitors costs {order.service * 1e3:.0f} ms of CPU of the service, {order.database * 1e3:.0f} ms of PostgreSQL, "
        f"{order.wal / 1e3:.0f} kB of WAL and {order.rows:.0f} rows.",
        f"Cores at {USE:.0%} use, for the peak hour:",
        "",
        "| orders in the peak hour | orders/s | cores for shops | cores for PostgreSQL | WAL, MB/s |",
        "|--:|--:|--:|--:|--:|",
    )
    for count in (100, 1_000, 10_000, 100_000):
        rate = count / 3600
        cores = [max(1, math.ceil(rate * each / USE)) for each in (order.service, order.database)]
        bench.say(f"| {count:,} | {rate:.2f} | {cores[0]} | {cores[1]} | {rate * order.wal / 1e6:.2f} |")
