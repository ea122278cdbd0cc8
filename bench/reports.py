"""The overview and every report at a million orders: the time of each page, and of calculating the daily figures."""

import asyncio
import statistics
import time
from collections.abc import Callable

import httpx2

from bench.catalog_data import fill_catalog
from bench.dashboard import LOOKUPS, create_operator
from bench.load_test import Server, fill_once, run_sql
from bench.platform import create_client
from bench.rounds import Bench, console
from shop.admin.operations.periods import DAY_PERIODS
from shop.admin.operations.report_kinds import REPORTS
from shop.models.cart.orders import HOUR

ORDERS, PRODUCTS, DAYS = 1_000_000, 2_000, 180
LIMIT = 500
"""The longest time of a page, in milliseconds."""
_COOKIE = "__Host-shop_operator"
_SETUP = """
insert into payment_methods (id, name, type, created_at, updated_at)
select uuidv7(), 'Card ' || n, 'test_card', now(), now() from generate_series(1, 3) n;
insert into addresses (id, firstname, lastname, address1, country_id, created_at, updated_at)
select uuidv7(), 'Ada', 'Lovelace', '1 Main Street', id, now(), now() from countries order by iso limit 20;
create table bench_variants as select id, row_number() over (order by id) - 1 as number from variants where is_master;
create table bench_addresses as select id, row_number() over (order by id) - 1 as number from addresses;
create table bench_methods as select id, row_number() over (order by id) - 1 as number from payment_methods
where type = 'test_card';
"""
_ORDERS = f"""
insert into orders (id, number, state, currency, email, ship_address_id, item_count, item_total, ship_total,
    adjustment_total, additional_tax_total, total, payment_total, payment_state, shipment_state, channel, created_at,
    updated_at, updated_hour, completed_at)
select uuidv7(), 'R' || lpad((n::bigint * 7919 % 999999937)::text, 9, '0'), 'complete', 'USD',
    'customer' || n % ({{orders}} / 3) || '@example.org', a.id, 2, 2000, 500, 140, 140, 2640, 2640, 'paid',
    case when n % 100 = 0 then 'ready' else 'shipped' end, case when n % 5 = 0 then 'app' else 'shop' end, at, at, {HOUR.format("at")}, at
from (select n, now() - interval '{DAYS} days' * (1 - n / {{orders}}.0) as at from generate_series(1, {{orders}}) n) s
join bench_addresses a on a.number = n % 20 order by n
"""
_PARTS = f"""
create table bench_orders as select id, completed_at as at, row_number() over (order by id) as n from orders;
insert into line_items (id, order_id, variant_id, quantity, price, quoted_at, name, slug, adjustment_total,
    additional_tax_total, pre_tax_amount, created_at, updated_at)
select uuidv7(), o.id, v.id, 1, 1000, at, 'Thing', 'thing', 70, 70, 1000, at, at
from bench_orders o cross join generate_series(0, 1) k
join bench_variants v on v.number = (o.n * 7 + k * 13) % {PRODUCTS} order by o.n, k;
insert into adjustments (id, order_id, adjustable_type, adjustable_id, source_type, label, amount, mandatory,
    created_at, updated_at)
select uuidv7(), order_id, 'line_item', id, 'tax_rate', 'Tax 7%', 70, true, created_at, created_at from line_items;
insert into payments (id, order_id, payment_method_id, number, state, amount, captured_amount, captured_at, created_at,
    updated_at)
select uuidv7(), o.id, m.id, 'P' || o.n, 'completed', 2640, 2640, at, at, at
from bench_orders o join bench_methods m on m.number = o.n % 3 order by o.n;
insert into refunds (id, order_id, payment_id, amount, reason, state, created_at, updated_at)
select uuidv7(), order_id, id, 500, 'Damaged', 'completed', created_at, created_at from payments
where right(number, 2) in ('00', '33', '66');
drop table bench_orders;
"""


def report_tables(bench: Bench, make_url: Callable[[str], str], orders: int = ORDERS) -> None:
    url = make_url("shop_reports")
    with console.status(f"making {orders:,} orders"):
        is_new = fill_once(url, lambda: _fill(url, orders))
    cookie = {"Cookie": f"{_COOKIE}={create_operator(url)}"}
    start = time.perf_counter()
    shop = bench.shop(url, "reports")
    with console.status("calculating all days"):
        _wait_for_figures(url)
    seconds = time.perf_counter() - start
    if is_new:
        bench.say(
            "", f"Daily figures of {orders:,} orders in {DAYS} days: calculated in {seconds:.0f} s after the start."
        )
    lag = statistics.median(_change_order(shop, url) for _ in range(3))
    bench.say("", f"A changed order is in the figures of its day after {lag:.0f} ms.")
    bench.say("", f"| page at {orders:,} orders | median ms | slowest | at most |", "|---|--:|--:|--:|")
    for name, path in _list_pages().items():
        times = asyncio.run(_measure(shop, path, cookie, 3 * bench.rounds))
        bench.say(f"| {name} | {statistics.median(times):.0f} | {max(times):.0f} | {LIMIT} |")
    shop.stop()


def _list_pages() -> dict[str, str]:
    """Returns the paths of the overview and of each report, with its chart and table, and as CSV."""
    pages = {f"overview, {name}": f"/admin?period={name}" for name in DAY_PERIODS}
    for slug in REPORTS:
        pages |= {f"{slug}, {name}": f"/admin/reports/{slug}?period={name}" for name in ("90", "year")}
        pages |= {f"{slug}, 90 as CSV": f"/admin/reports/{slug}/csv?period=90"}
    return pages


def _fill(url: str, orders: int) -> None:
    fill_catalog(url, PRODUCTS)
    # Triggers and foreign keys, row by row, would take most of the time.
    run_sql(
        url,
        "set session_replication_role = replica",
        _SETUP,
        _ORDERS.format(orders=orders),
        LOOKUPS,
        _PARTS,
        "set session_replication_role = origin",
        "select 1",
    )


def _wait_for_figures(url: str) -> None:
    query = """select time_zone is not null and not exists (select from stale_days)
            and not exists (select from events where position is null)
            and coalesce(position >= (select max(position) from events), true) as is_done from report_states"""
    while not run_sql(url, query)[0]["is_done"]:
        time.sleep(0.05)


def _change_order(shop: Server, url: str) -> float:
    """Returns the milliseconds from a change of an order of the day before until the figures of that day have it."""
    (order,) = run_sql(
        url, "select id from orders where completed_at < current_date order by completed_at desc limit 1"
    )
    start = time.perf_counter()
    response = httpx2.patch(
        f"{shop.url}/api/v2/platform/orders/{order['id']}",
        json={"order": {"special_instructions": f"Ring at {start}."}},
        headers={"Authorization": f"Bearer {create_client(url)[1]}"},
    )
    response.raise_for_status()
    _wait_for_figures(url)
    return 1000 * (time.perf_counter() - start)


async def _measure(shop: Server, path: str, cookie: dict[str, str], count: int) -> list[float]:
    times = []
    async with httpx2.AsyncClient(base_url=shop.url, headers=cookie, timeout=30) as http:
        for _ in range(count + 1):
            start = time.perf_counter()
            (await http.get(path)).raise_for_status()
            times.append(1000 * (time.perf_counter() - start))
    # The first request compiles templates and statements.
    return times[1:]
