"""The list of orders in the dashboard, at a million orders: every kind of search, the tabs, and the first filling."""

import asyncio
import random
import statistics
import time
from collections.abc import Callable
from urllib.parse import urlencode

import asyncpg

from bench.http_client import Connection
from bench.load_test import Server, fill_once, run_sql
from bench.pages import order_page_tables
from bench.rounds import Bench, console
from shop.base.crypto.secrets import OPERATOR_SESSION, new_secret, secret_hash
from shop.base.ids import new_id
from shop.models.cart.orders import HOUR

MANY = 1_000_000
SEARCHES = 40
"""Requests of each kind in a round."""
FIRST = ("Ada", "Grace", "Linus", "Zoë", "Maria", "José", "Wei", "Olga", "Tom", "Ines", "Hugo", "Noor", "Ben", "Lea")
LAST = ("ber", "lin", "mann", "sson", "ski", "ova", "etti", "ard", "ley", "ton", "field", "worth", "gren", "dóttir")
"""The ends of last names; the beginnings are random."""
LOOKUPS = """
insert into order_lookups
    (order_id, email, payment_state, shipment_state, bill_address_id, ship_address_id, is_completed)
select id, email, payment_state, shipment_state, bill_address_id, ship_address_id, true from orders
"""
_USERS = """
insert into users (id, email, email_key, verified_at, created_at, updated_at)
select uuidv7(), email, lower(email), now(), now(), now() from (select distinct email from orders) of_orders
"""


def order_list_tables(bench: Bench, make_url: Callable[[str], str], count: int = MANY) -> None:
    url = make_url("shop_order_list")

    def fill_all() -> None:
        fill_orders(url, count)
        run_sql(url, _USERS, "select 1")

    with console.status(f"making {count:,} orders"):
        is_new = fill_once(url, fill_all)
    cookie = {"Cookie": f"__Host-shop_operator={create_operator(url)}"}
    start = time.monotonic()
    shop = bench.shop(url, "dashboard")
    wait_until_filled(url)
    filled_seconds = time.monotonic() - start
    run_sql(url, "vacuum analyze order_listings", "vacuum analyze orders", "select 1")
    kinds = _kinds(url)
    times: dict[str, list[float]] = {name: [] for name in kinds}
    # The first round reads the files of a new server and is not counted.
    for number in range(-1, bench.rounds):
        round_times = times if number >= 0 else {name: [] for name in kinds}
        asyncio.run(_measure(shop, cookie, kinds, round_times, random.Random(number)))
    bench.say("", f"| list of {count:,} orders | p50 ms | p99 ms | at most |", "|---|--:|--:|--:|")
    for name, values in times.items():
        p99 = statistics.quantiles(values, n=100)[98]
        bench.say(f"| {name} | {statistics.median(values) * 1e3:.1f} | {p99 * 1e3:.1f} | 100 |")
    if is_new:
        rate = count / filled_seconds
        bench.say("", f"The first filling of the index took {filled_seconds:.0f} s ({rate:,.0f} orders/s).")
    order_page_tables(bench, url, shop, cookie)
    shop.stop()


def fill_orders(url: str, count: int) -> None:
    """Inserts completed orders with addresses, lines and shipments: 2,000 products, half a million e-mail addresses."""
    first, last = (",".join(f"'{name}'" for name in names) for names in (FIRST, LAST))
    pick_first = f"(array[{first}])[1 + n % {len(FIRST)}]"
    # The beginning of a last name is one of 4,000.
    pick_last = (
        f"initcap(substr(md5((n::bigint * 7919 % 4000)::text), 1, 3)) || (array[{last}])[1 + n / 7 % {len(LAST)}]"
    )
    state = "case when n % 50 = 0 then 'ready' when n % 70 = 0 then 'pending' else 'shipped' end"
    run_sql(
        url,
        # Triggers and foreign keys, row by row, would take most of the time; `LOOKUPS` does the work of the triggers.
        "set session_replication_role = replica",
        "create table made as select n, uuidv7() as order_id, uuidv7() as address_id, "
        f"now() - interval '3 years' * (1 - n / {count}.0) as at from generate_series(1, {count}) n",
        f"""insert into addresses
                (id, firstname, lastname, address1, city, zipcode, country_id, phone, created_at, updated_at)
            select address_id, {pick_first}, {pick_last}, 'Main Street 1', 'Springfield', '12345',
                (select id from countries where iso = (array['US', 'DE', 'FR', 'GB'])[1 + n % 4]),
                '+1 555 ' || lpad((n % 10000000)::text, 7, '0'), at, at from made""",
        f"""insert into orders (id, number, state, currency, email, ship_address_id, bill_address_id, item_count,
                item_total, total, payment_state, shipment_state, created_at, updated_at, updated_hour, completed_at)
            select order_id, 'R' || lpad((n::bigint * 7919 % 9999999967)::text, 10, '0'), 'complete',
                (array['USD', 'EUR', 'GBP'])[1 + n % 3], lower(substr(md5((n / 2)::text), 1, 8)) || '@example.com',
                address_id, address_id, 1, 1000 + n % 50000, 1000 + n % 50000,
                case when n % 70 = 0 then 'balance_due' else 'paid' end, {state}, at, at, {HOUR.format("at")}, at from made""",
        LOOKUPS,
        """insert into products (id, name, slug, created_at, updated_at)
            select gen_random_uuid(), 'Product ' || substr(md5(n::text), 1, 6), 'product-' || n, now(), now()
            from generate_series(1, 2000) n""",
        """insert into variants (id, product_id, sku, is_master, created_at, updated_at)
            select gen_random_uuid(), id, 'SKU-' || slug, true, now(), now() from products where slug like 'product-%'""",
        "create table sold as select v.id, v.sku, p.name, p.slug, row_number() over (order by p.slug) - 1 as n "
        "from variants v join products p on p.id = v.product_id",
        "create unique index on sold (n)",
        """insert into line_items (id, order_id, variant_id, quantity, price, quoted_at, name, sku, slug, created_at, updated_at)
            select gen_random_uuid(), order_id, sold.id, 1, 1000, at, sold.name, sold.sku, sold.slug, at, at
            from made join sold on sold.n = made.n % (select count(*) from sold)""",
        """insert into stock_locations (id, name, country_id, created_at, updated_at)
            select gen_random_uuid(), 'Bench', (select id from countries where iso = 'US'), now(), now()""",
        f"""insert into shipments (id, order_id, number, state, stock_location_id, tracking, created_at, updated_at)
            select gen_random_uuid(), order_id, 'H' || lpad(n::text, 11, '0'), {state},
                (select id from stock_locations where name = 'Bench'), '1Z' || upper(substr(md5(n::text), 1, 12)), at, at
            from made""",
        "drop table sold",
        "set session_replication_role = origin",
        "vacuum analyze",
        "select 1",
    )


def create_operator(url: str) -> str:
    """Inserts an operator who is signed in; returns the secret of the session."""
    secret, operator_id = new_secret(OPERATOR_SESSION), new_id()

    async def insert() -> None:
        connection = await asyncpg.connect(url)
        await connection.execute(
            "insert into operators (id, email, email_key, role_id, created_at, updated_at) "
            "values ($1, $2, $2, (select id from roles where code = 'owner'), now(), now())",
            operator_id,
            f"{operator_id.hex}@example.com",
        )
        await connection.execute(
            "insert into operator_sessions (id, hash, operator_id, source, created_at, seen_at, authenticated_at) "
            "values ($1, $2, $3, '127.0.0.1', now(), now(), now())",
            new_id(),
            secret_hash(secret),
            operator_id,
        )
        await connection.close()

    asyncio.run(insert())
    return secret


def wait_until_filled(url: str) -> None:
    """Waits for the first filling of the index of orders."""
    while not run_sql(url, "select is_filled from order_index_progress")[0][0]:
        time.sleep(1)


def _kinds(url: str) -> dict[str, Callable[[random.Random], dict[str, str]]]:
    """Returns the parameters of each kind of request; a sample of orders has the words."""
    rows = run_sql(
        url,
        "select orders.number, email, firstname, lastname, phone, sku, li.name, tracking from orders "
        "join addresses a on a.id = ship_address_id join line_items li on li.order_id = orders.id "
        "join shipments s on s.order_id = orders.id order by md5(orders.id::text) limit 500",
    )

    def words(*names: str, most: int = 100) -> Callable[[random.Random], dict[str, str]]:
        return lambda chance: {"q": " ".join(chance.choice(rows)[name][:most] for name in names)}

    return {
        "all": lambda _: {},
        "to ship": lambda _: {"tab": "to_ship"},
        "unpaid, by country": lambda _: {"tab": "unpaid", "country": "DE"},
        "by total": lambda _: {"sort": "highest"},
        "last name": words("lastname"),
        "first name": words("firstname"),
        "first and last name": words("firstname", "lastname"),
        "start of a last name": words("lastname", most=3),
        "e-mail address": words("email"),
        "part of an e-mail address": lambda _: {"q": "com"},
        "one letter": lambda chance: {"q": chance.choice("abcdefgsz")},
        "number": words("number"),
        "phone": words("phone"),
        "SKU": words("sku"),
        "product": words("name"),
        "tracking": words("tracking"),
        "common name, to ship": lambda chance: {"q": chance.choice(FIRST), "tab": "to_ship"},
        "nothing": lambda chance: {"q": f"zzq{chance.random()}"},
        "common and rare word": lambda chance: {"q": f"com {chance.choice(rows)['lastname']}"},
    }


async def _measure(
    shop: Server,
    cookie: dict[str, str],
    kinds: dict[str, Callable[[random.Random], dict[str, str]]],
    times: dict[str, list[float]],
    chance: random.Random,
) -> None:
    jobs = [name for name in kinds for _ in range(SEARCHES)]
    chance.shuffle(jobs)
    async with Connection(shop.url) as http:
        for name in jobs:
            path = f"/admin/orders?{urlencode(kinds[name](chance))}"
            start = time.perf_counter()
            await http.send("GET", path, **cookie)
            times[name].append(time.perf_counter() - start)
