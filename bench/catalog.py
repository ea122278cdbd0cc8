"""The cost of the catalog: a page of products compared with its floor, with personal prices, and by catalog size."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import msgspec

from bench.catalog_data import fill_catalog
from bench.client_load import ClientLoad
from bench.fragments import measure_reuse
from bench.http_client import Connection, send_all
from bench.load_test import (
    Sample,
    Server,
    bearer_script,
    load,
    median,
    median_ratio,
    pages_script,
    run_sql,
    slug_script,
    uncached_script,
)
from bench.rounds import Bench, console, figure_table, load_table
from shop.base.crypto.secrets import USER_ACCESS, new_secret, secret_hash
from shop.base.ids import new_id

PRODUCTS = "/api/v2/storefront/products"
CATEGORY = "/t/categories/aisle-1?sort=default"
WITH = "include=default_variant,images"
SIZES = (1_000, 100_000)
LISTS, ENTRIES = 200, 100_000
POPULAR = 1_000
MOST_TIMES = {"search, ten a page": "1.5"}
EARLIER_LIST, EARLIER_PAGE = 6_254, 6_635
"""CPU µs of the service for a list of the API and a category page, before lists were joined from fragments."""
LISTS_AT_ONCE, TURNS = 40, 10
_CHANGE = "update products set name = name || '.', updated_at = now() where id = any(array[{ids}]::uuid[])"
_PRICING = f"""
insert into price_lists (id, name, currency, priority, percent_off, created_at, updated_at)
select uuidv7(), 'List ' || n, 'USD', n % 10, case when n % 4 = 0 then n % 30 + 1 end, now(), now()
from generate_series(1, {LISTS}) n;
insert into price_list_entries (id, price_list_id, variant_id, amount, created_at, updated_at)
select uuidv7(), l.id, v.id, 400 + v.n % 5000, now(), now()
from (select id, row_number() over () n from price_lists) l
join (select id, row_number() over () n from variants where not is_master) v on v.n % {LISTS} = l.n % {LISTS}
    or (v.n + 7) % {LISTS} = l.n % {LISTS} or (v.n + 31) % {LISTS} = l.n % {LISTS} or (v.n + 77) % {LISTS} = l.n % {LISTS}
limit {ENTRIES};
insert into price_list_users (id, price_list_id, user_id, created_at, updated_at)
select uuidv7(), l.id, u.id, now(), now() from price_lists l cross join users u;
"""


def create_shopper(url: str) -> str:
    """Inserts a user, assigned to every price list; returns an access token."""
    return asyncio.run(_create_shopper(url))


async def _create_shopper(url: str) -> str:
    user_id, session_id, token = new_id(), new_id(), new_secret(USER_ACCESS)
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(
            "insert into users (id, email, email_key, verified_at, created_at, updated_at) "
            "values ($1, 'a@shop.example', 'a@shop.example', now(), now(), now())",
            user_id,
        )
        await connection.execute(
            "insert into sessions (id, user_id, source, created_at, refreshed_at, idle_expires_at, absolute_expires_at) "
            "values ($1, $2, '', now(), now(), now() + interval '1 day', now() + interval '1 day')",
            session_id,
            user_id,
        )
        await connection.execute(
            "insert into access_tokens (hash, session_id, refresh_hash, created_at, expires_at) "
            "values ($1, $2, 'x', now(), now() + interval '1 day')",
            secret_hash(token),
            session_id,
        )
        await connection.execute(_PRICING)
        await connection.execute("vacuum analyze")
    finally:
        await connection.close()
    return token


def catalog_tables(bench: Bench, make_url: Callable[[str], str]) -> None:
    url = make_url("shop_catalog")
    with console.status("making 10,000 products"):
        fill_catalog(url, 10_000)
        token = create_shopper(url)
    floor = Server([sys.executable, "-m", "bench.floor", "PORT", url], bench.directory / "floor_c.log").wait("/ready")
    shop = bench.shop(url, "catalog")
    bearer = bearer_script(bench.directory, "shopper", [token])
    fresh_script, fresh_priced_script = uncached_script(bench.directory), uncached_script(bench.directory, token)
    slugs = [row["slug"] for row in run_sql(url, "select slug from products")]
    fresh_slugs = slug_script(bench.directory, slugs, is_fresh=True)
    popular_slugs = slug_script(bench.directory, slugs[:POPULAR], is_fresh=False)
    other_pages = pages_script(bench.directory, 10_000 // 25)
    path = f"{PRODUCTS}?{WITH}"
    results = bench.interleaved(
        {
            "floor products": lambda: load(bench.wrk, floor, bench.seconds, None, PRODUCTS),
            "shop products, one changed": lambda: _load_changed(bench, shop, url, None),
            "shop priced, one changed": lambda: _load_changed(bench, shop, url, token),
            "floor pages": lambda: load(bench.wrk, floor, bench.seconds, other_pages, path),
            "shop pages, no fragments": lambda: load(bench.wrk, shop, bench.seconds, other_pages, path),
            "shop products, rendered fresh": lambda: load(bench.wrk, shop, bench.seconds, fresh_script, path),
            "shop priced, rendered fresh": lambda: load(bench.wrk, shop, bench.seconds, fresh_priced_script, path),
            "shop products, unchanged": lambda: load(bench.wrk, shop, bench.seconds, None, path),
            "shop priced, unchanged": lambda: load(bench.wrk, shop, bench.seconds, bearer, path),
            "floor product": lambda: load(bench.wrk, floor, bench.seconds, fresh_slugs, f"{PRODUCTS}/thing-1"),
            "shop product, rendered fresh": lambda: load(
                bench.wrk, shop, bench.seconds, fresh_slugs, f"{PRODUCTS}/thing-1"
            ),
            "shop product, unchanged": lambda: load(
                bench.wrk, shop, bench.seconds, popular_slugs, f"{PRODUCTS}/thing-1"
            ),
            "website category, rendered fresh": lambda: load(bench.wrk, shop, bench.seconds, fresh_script, CATEGORY),
            "website category, unchanged": lambda: load(bench.wrk, shop, bench.seconds, None, CATEGORY),
        }
    )
    floor.stop()
    shop.stop()
    load_table(bench, results)
    fresh_ratio, cached_ratio = (
        median_ratio(results[f"shop products, {how}"], results[f"shop priced, {how}"])
        for how in ("rendered fresh", "unchanged")
    )
    page = median(results["website category, rendered fresh"])
    page_ratio = median_ratio(results["website category, rendered fresh"], results["shop products, rendered fresh"])
    figure_table(
        bench,
        {
            "priced list, times an unpriced one, rendered fresh": fresh_ratio,
            "priced list, times an unpriced one, unchanged": cached_ratio,
            "website category, of the API's list, rendered fresh": page_ratio,
            "website category, CPU of the service, of the API's list before fragments": page.cpu / EARLIER_LIST,
        },
    )
    bench.say("", measure_reuse(url))
    bench.say(
        "",
        "25 of 10,000 products with default variant, images and prices, and 24 on a page of the website. `rendered fresh`: no",
        "cached list, and unchanged products. `one changed`: one product of the list was changed since the last request for it;",
        "the client is not wrk. `pages, no fragments`: a page of other products each time, which are no longer cached. `unchanged`: a",
        "list that others have seen since the catalog last changed. `product`: one by its slug; `rendered fresh`, each of the 10,000 in",
        f"turn, more than a worker keeps; `unchanged`, the same {POPULAR:,} again. `priced`: for a customer with {LISTS} lists and {ENTRIES:,} entries. The CPU",
        f"of a category page is compared with {EARLIER_LIST:,} µs, what the API's list took before it was joined from fragments: the page",
        f"took {EARLIER_PAGE:,} µs then, and 0.6 of the list's requests/s are 1.67 times its CPU.",
    )
    _growth(bench, make_url)


def _load_changed(bench: Bench, shop: Server, url: str, token: str | None) -> Sample:
    """Changes a product of each of several lists, and then asks for these lists; only the requests count."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    paths = [f"{PRODUCTS}?{WITH}&page={page}" for page in range(1, LISTS_AT_ONCE + 1)]

    def read(connection: Connection, path: str) -> Awaitable[Any]:
        return connection.fetch("GET", path, **headers)

    bodies = [msgspec.json.decode(body) for _, body in asyncio.run(send_all(shop.url, paths, read))]
    lists = [[item["id"] for item in each["data"]] for each in bodies]
    requests = ClientLoad(bench.wrk, shop)
    for turn in range(TURNS):
        run_sql(url, _CHANGE.format(ids=", ".join(f"'{ids[turn]}'" for ids in lists)), "select 1")
        requests.send(paths, read)
    return requests.sample()


def _growth(bench: Bench, make_url: Callable[[str], str]) -> None:
    servers: dict[int, Server] = {}
    jobs: dict[str, Callable[[], Sample]] = {}
    fresh_script = uncached_script(bench.directory)
    for size in SIZES:
        url = make_url(f"shop_products_{size}")
        with console.status(f"making {size:,} products"):
            fill_catalog(url, size)
        servers[size] = bench.shop(url, f"products_{size}")
        for name, path in _request_paths(url).items():
            jobs[f"{name} {size}"] = lambda server=servers[size], path=path: load(  # type: ignore[misc]
                bench.wrk, server, bench.seconds, fresh_script, path, connections=4
            )
    results = bench.interleaved(jobs)
    for server in servers.values():
        server.stop()
    small, large = SIZES
    bench.say(
        "",
        f"| 4 connections, rendered fresh | {small:,} products: p50, p99 ms | {large:,} | p99, times | at most "
        f"| CPU µs, {small:,} | {large:,} |",
        "|---|--:|--:|--:|--:|--:|--:|",
    )
    for name in dict.fromkeys(job.rsplit(" ", 1)[0] for job in jobs):
        few, many = median(results[f"{name} {small}"]), median(results[f"{name} {large}"])
        figures = " | ".join(f"{each.p50:.2f}, {each.p99:.2f}" for each in (few, many))
        costs = " | ".join(f"{each.cpu + each.database:.0f}" for each in (few, many))
        bench.say(f"| {name} | {figures} | {many.p99 / few.p99:.2f} | {MOST_TIMES.get(name, '3')} | {costs} |")


def _request_paths(url: str) -> dict[str, str]:
    (aisle,) = run_sql(url, "select id from taxons where slug = 'aisle-3'")
    filters = f"filter[taxons]={aisle['id']}&filter[options][size]=m&filter[options][colour]=red"
    return {
        "list": f"{PRODUCTS}?{WITH}",
        "by taxon and options": f"{PRODUCTS}?{WITH}&{filters}",
        "search, ten a page": f"{PRODUCTS}?{WITH}&q=wooden+cha&per_page=10",
        "search, a common word": f"{PRODUCTS}?{WITH}&q=care",
        "by price": f"{PRODUCTS}?{WITH}&sort=price",
    }
