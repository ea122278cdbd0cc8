"""The cost of carts: reading one with lines and adding an item, compared with their floors; and a complete purchase."""

import asyncio
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import asyncpg
import httpx2

from bench.catalog_data import fill_catalog
from bench.http_client import Connection
from bench.load_test import PATH, Sample, Server, load, median_ratio, read_script, run_sql
from bench.rounds import KEYS, Bench, console, figure_table, load_table
from shop.base.crypto.keys import parse_keys
from shop.base.crypto.order_tokens import order_token

CART = "/api/v2/storefront/cart/add_item"
SIZES = (1, 5, 100)
CARTS = 400
ADDRESS = {
    "firstname": "Ada",
    "lastname": "Lovelace",
    "address1": "1 Main Street",
    "city": "Springfield",
    "zipcode": "62701",
    "state_name": "IL",
    "country_iso": "US",
}
_CARTS = """
insert into orders (id, number, currency, item_count, created_at, updated_at)
select uuidv7(), 'B' || $1::bigint || '-' || n, 'USD', $1, now(), now() from generate_series(1, {carts}) n
"""
_LINES = """
insert into line_items (id, order_id, variant_id, quantity, price, quoted_at, name, slug, created_at, updated_at)
select uuidv7(), o.id, v.id, 1, p.amount, now(), 'Thing', 'thing', now(), now()
from orders o cross join lateral (
    select id from variants where not is_master order by md5(id::text || o.number) limit $1) v
join prices p on p.variant_id = v.id and p.currency = o.currency
where o.number like 'B' || $1::bigint || '-%'
"""
SETUP = """
update stock_items set count_on_hand = 1000000;
insert into zones (id, name, created_at, updated_at) values (uuidv7(), 'Here', now(), now());
insert into zone_members (id, zone_id, country_id, created_at, updated_at)
    select uuidv7(), z.id, c.id, now(), now() from zones z, countries c where c.iso = 'US';
insert into shipping_methods (id, name, created_at, updated_at) values (uuidv7(), 'Post', now(), now());
insert into shipping_method_zones (id, shipping_method_id, zone_id, created_at, updated_at)
    select uuidv7(), m.id, z.id, now(), now() from shipping_methods m, zones z;
insert into shipping_method_categories (id, shipping_method_id, shipping_category_id, created_at, updated_at)
    select uuidv7(), m.id, c.id, now(), now() from shipping_methods m, shipping_categories c;
insert into shipping_method_amounts (id, shipping_method_id, currency, amount, created_at, updated_at)
    select uuidv7(), id, 'USD', 500, now(), now() from shipping_methods;
insert into payment_methods (id, name, type, created_at, updated_at) values (uuidv7(), 'Check', 'check', now(), now());
"""
# One third each: off half of all products, off every line above an amount, off the order above rising amounts.
_PROMOTIONS = """
insert into promotions (id, name, is_automatic, created_at, updated_at)
    select uuidv7(), 'Promotion ' || n, true, now(), now() from generate_series(1, 100) n;
insert into promotion_rules (id, promotion_id, type, preferences, created_at, updated_at)
    select uuidv7(), id, 'product', jsonb_build_object('product_ids', (
        select jsonb_agg(p.id) from products p where md5(p.id::text || promotions.name) < '8')), now(), now()
    from promotions where substr(name, 11)::int % 3 = 0
    union all
    select uuidv7(), id, 'item_total', jsonb_build_object('amounts', jsonb_build_object('USD',
        case when substr(name, 11)::int % 3 = 1 then '5.0' else (substr(name, 11)::int * 5) || '.0' end)), now(), now()
    from promotions where substr(name, 11)::int % 3 > 0;
insert into promotion_actions (id, promotion_id, type, preferences, created_at, updated_at)
    select uuidv7(), id, 'percent_off_items', jsonb_build_object('percent', (substr(name, 11)::int % 30 + 1)::text),
        now(), now()
    from promotions where substr(name, 11)::int % 3 < 2
    union all
    select uuidv7(), id, 'amount_off_order', '{"amounts": {"USD": "0.01"}}', now(), now()
    from promotions where substr(name, 11)::int % 3 = 2;
"""


async def _fill(url: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(SETUP)
        for size in SIZES:
            await connection.execute(_CARTS.format(carts=CARTS), size)
            await connection.execute(_LINES, size)
        await connection.execute("vacuum analyze")
    finally:
        await connection.close()


def _script(bench: Bench, url: str, name: str, size: int, token: Callable[..., str]) -> Path:
    """Returns a script in which each request increments an existing line of another cart."""
    rows = run_sql(
        url,
        "select o.id, (array_agg(l.variant_id))[1] as variant_id from orders o join line_items l on l.order_id = o.id "
        f"where o.number like 'B{size}-%' group by o.id order by md5(o.id::text)",
    )
    listing = bench.directory / f"{name}.txt"
    listing.write_text("\n".join(f"{token(row['id'])} {row['variant_id']}" for row in rows))
    script = bench.directory / f"{name}.lua"
    script.write_text(f"""
local carts, at = {{}}, 0
for line in io.lines("{listing}") do
  local token, variant = line:match("(%S+) (%S+)")
  carts[#carts + 1] = {{token, '{{"variant_id": "' .. variant .. '", "quantity": 1}}'}}
end
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
request = function()
  at = at % #carts + 1
  wrk.headers["X-Shop-Order-Token"] = carts[at][1]
  return wrk.format(nil, nil, nil, carts[at][2])
end
""")
    return script


def _list_tokens(url: str, token: Callable[..., str]) -> list[str]:
    return [token(row["id"]) for row in run_sql(url, "select id from orders where number like 'B5-%'")]


def purchase_tables(bench: Bench, make_url: Callable[[str], str]) -> None:
    url = make_url("shop_buying")
    with console.status("making carts"):
        fill_catalog(url, 200)
        asyncio.run(_fill(url))
    keys = parse_keys(KEYS)
    promoted_url = make_url("shop_promoted")
    with console.status("making carts and promotions"):
        fill_catalog(promoted_url, 200)
        asyncio.run(_fill(promoted_url))
        run_sql(promoted_url, *_PROMOTIONS.split(";")[:-1], "select 1")
    floor = Server([sys.executable, "-m", "bench.floor", "PORT", url], bench.directory / "floor_b.log").wait("/ready")
    shop, promoted_shop = bench.shop(url, "buying"), bench.shop(promoted_url, "promoted")
    promoted_script = _script(bench, promoted_url, "add_promoted", 5, lambda cart: order_token(keys, cart, 0))
    scripts = {
        size: _script(bench, url, f"add_{size}", size, lambda cart: order_token(keys, cart, 0)) for size in SIZES
    }
    by_id = _script(bench, url, "add_floor", 5, str)
    reads = {
        name: read_script(bench.directory, f"lines_{name}", _list_tokens(url, token))
        for name, token in (("floor", str), ("shop", lambda cart: order_token(keys, cart, 0)))
    }
    with_variants = f"{PATH}?lines=5&include=line_items.variant"
    jobs: dict[str, Callable[[], Sample]] = {
        "floor lines": lambda: load(bench.wrk, floor, bench.seconds, reads["floor"], f"{PATH}?lines=5"),
        "shop lines": lambda: load(bench.wrk, shop, bench.seconds, reads["shop"], f"{PATH}?lines=5"),
        "floor variants": lambda: load(bench.wrk, floor, bench.seconds, reads["floor"], with_variants),
        "shop variants": lambda: load(bench.wrk, shop, bench.seconds, reads["shop"], with_variants),
        "floor add_item": lambda: load(bench.wrk, floor, bench.seconds, by_id, CART),
        "shop add_item": lambda: load(bench.wrk, shop, bench.seconds, scripts[5], CART),
        "shop add_item, 100 promotions": lambda: load(bench.wrk, promoted_shop, bench.seconds, promoted_script, CART),
        "shop add_item, 1 line": lambda: load(bench.wrk, shop, bench.seconds, scripts[1], CART),
        "shop add_item, 100 lines": lambda: load(bench.wrk, shop, bench.seconds, scripts[100], CART),
    }
    results = bench.interleaved(jobs)
    floor.stop()
    shop.stop()
    promoted_shop.stop()
    load_table(bench, results)
    figure_table(
        bench,
        {
            "add_item at 100 lines, times 1 line": median_ratio(
                results["shop add_item, 1 line"], results["shop add_item, 100 lines"]
            ),
            "add_item with 100 promotions, times none": median_ratio(
                results["shop add_item"], results["shop add_item, 100 promotions"]
            ),
        },
    )
    bench.say(
        "",
        "`lines` reads a cart of five lines, and `variants` the same with `include=line_items.variant`; `add_item` increases a",
        "quantity in a cart of five lines.",
    )


async def buy(http: httpx2.AsyncClient, variants: list[str], method: str) -> None:
    cart = (await http.post("/cart")).json()
    headers = {"X-Shop-Order-Token": cart["data"]["attributes"]["token"]}
    for variant in variants:
        await http.post("/cart/add_item", json={"variant_id": variant}, headers=headers)
    details = {"email": "ada@example.org", "bill_address_attributes": ADDRESS, "use_billing": True}
    await http.patch("/checkout", json={"order": details}, headers=headers)
    await http.get("/checkout/shipping_rates", headers=headers)
    await http.post("/checkout/create_payment", json={"payment_method_id": method}, headers=headers)
    response = await http.patch("/checkout/complete", headers=headers)
    if response.status_code != 200:
        sys.exit(f"bench: an order was not completed: {response.text}")


async def begin_purchase(http: Connection, *, variants: list[str], method: str, email: str = "ada@example.org") -> str:
    """Makes a guest's purchase up to its payment; returns the order token."""
    store = "/api/v2/storefront"
    cart = await http.send("POST", f"{store}/cart")
    token = str(cart["data"]["attributes"]["token"])
    send = partial(http.send, X_Shop_Order_Token=token)
    for variant in variants:
        await send("POST", f"{store}/cart/add_item", {"variant_id": variant})
    details = {"email": email, "bill_address_attributes": ADDRESS, "use_billing": True}
    await send("PATCH", f"{store}/checkout", {"order": details})
    await send("GET", f"{store}/checkout/shipping_rates")
    await send("POST", f"{store}/checkout/create_payment", {"payment_method_id": method})
    return token
