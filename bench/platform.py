"""The cost of the platform API: tokens, a list of a million orders with both paginations, and wrong secrets."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import asyncpg
import msgspec

from bench.load_test import Sample, Server, bearer_script, body_script, fill, load, median, median_ratio, run_sql
from bench.rounds import Bench, figure_table, load_table
from shop.base.crypto.secrets import CLIENT_SECRET, PLATFORM_ACCESS, new_client_id, new_secret, secret_hash
from shop.base.ids import new_id
from shop.jsonapi.paging import cursor

TOKEN = "/shop_oauth/token"
ORDERS = "/api/v2/platform/orders"
MANY = 1_000_000


def create_client(url: str) -> tuple[str, str]:
    """Inserts an application with write access; returns the body of its token request, and an access token."""
    application_id, session_id = new_id(), new_id()
    client_id, secret, token = new_client_id(), new_secret(CLIENT_SECRET), new_secret(PLATFORM_ACCESS)

    async def insert() -> None:
        connection = await asyncpg.connect(url)
        await connection.execute(
            "insert into applications (id, client_id, name, access_level, created_at, updated_at) "
            "values ($1, $2, 'Bench', 'write', now(), now())",
            application_id,
            client_id,
        )
        await connection.execute(
            "insert into application_secrets (id, application_id, hash, hint, created_at) values ($1, $2, $3, '', now())",
            new_id(),
            application_id,
            secret_hash(secret),
        )
        await connection.execute(
            "insert into sessions (id, application_id, scope, source, created_at, refreshed_at, idle_expires_at, "
            "absolute_expires_at) values ($1, $2, 'admin write', '', now(), now(), now() + interval '1 day', "
            "now() + interval '1 day')",
            session_id,
            application_id,
        )
        await connection.execute(
            "insert into access_tokens (hash, session_id, refresh_hash, created_at, expires_at) "
            "values ($1, $2, 'x', now(), now() + interval '1 day')",
            secret_hash(token),
            session_id,
        )
        await connection.close()

    asyncio.run(insert())
    return _body(client_id, secret), token


def _body(client_id: str, secret: str) -> str:
    grant = {"grant_type": "client_credentials", "client_id": client_id, "client_secret": secret, "scope": "admin"}
    return msgspec.json.encode(grant).decode()


def platform_tables(bench: Bench, url: str) -> None:
    fill(url, MANY)
    body, token = create_client(url)
    floor = Server([sys.executable, "-m", "bench.floor", "PORT", url], bench.directory / "floor.log").wait("/ready")
    shop = bench.shop(url, "platform")
    bodies = body_script(bench.directory, "grants", [body], again=True)
    bearer = bearer_script(bench.directory, "machine", [token])
    first, last = f"{ORDERS}?page[after]=", f"{ORDERS}?page[after]={_last_cursor(url)}"

    def shop_list(path: str) -> Callable[[], Sample]:
        return lambda: load(bench.wrk, shop, bench.seconds, bearer, path)

    results = bench.interleaved(
        {
            "floor token": lambda: load(bench.wrk, floor, bench.seconds, bodies, TOKEN),
            "shop token": lambda: load(bench.wrk, shop, bench.seconds, bodies, TOKEN),
            "floor orders": lambda: load(bench.wrk, floor, bench.seconds, bearer, ORDERS),
            "shop orders": shop_list(ORDERS),
            "first keyset page": shop_list(first),
            "last keyset page": shop_list(last),
        }
    )
    for server in (floor, shop):
        server.stop()
    load_table(bench, results)
    last_page_ratio = median_ratio(results["first keyset page"], results["last keyset page"])
    counted_ratio = median_ratio(results["first keyset page"], results["shop orders"])
    bench.say("", f"The lists are pages of 25 of {MANY:,} orders.")
    figure_table(
        bench,
        {"last keyset page, times the first": last_page_ratio, "counted page, times a keyset page": counted_ratio},
    )


def _last_cursor(url: str) -> str:
    """Returns the cursor of the last page: newest first, so before the oldest 25."""
    (row,) = run_sql(url, "select id from orders order by id offset 25 limit 1")
    return cursor(row["id"], row["id"])


def flood(bench: Bench, url: str) -> None:
    """Measures valid callers alone, and alongside a thousand wrong secrets a second."""
    _, token = create_client(url)
    wrong = body_script(bench.directory, "wrong", [_body(new_client_id(), new_secret(CLIENT_SECRET))], again=True)
    bearer = bearer_script(bench.directory, "good", [token])
    limits = {"SHOP_LIMIT_LOOPBACK": "1", "SHOP_LIMIT_CARTS_PER_SOURCE": "0"}
    shop = bench.shop(url, "flood", **limits)
    alone, beside, rates = [], [], []
    for _ in range(bench.rounds):
        alone.append(_load_orders(bench, shop, bearer))
        bad = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "bench.wrong_secrets",
                shop.url + TOKEN,
                str(wrong.with_suffix(".txt")),
                str(bench.seconds),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        beside.append(_load_orders(bench, shop, bearer))
        rates.append(float(bad.communicate(timeout=60)[0]))
    shop.stop()
    (rows,) = run_sql(
        url,
        "select count(*) filter (where action = 'limit') as limits, count(*) as every from "
        "audit_events where action in ('limit', 'client_authentication')",
    )
    bench.say("", "| good callers (orders by keyset) | p50 ms | p99 ms |", "|---|--:|--:|")
    for name, samples in (("alone", alone), ("beside wrong secrets", beside)):
        middle = median(samples)
        bench.say(f"| {name} | {middle.p50:.2f} | {middle.p99:.2f} |")
    times = median(beside).p99 / median(alone).p99
    bench.say("", f"{sorted(rates)[len(rates) // 2]:,.0f} wrong secrets a second; p99 {times:.2f} times (at most 2)")
    bench.say(f"{rows['limits']} audit rows of the limit and {rows['every'] - rows['limits']} of failures in all.")


def _load_orders(bench: Bench, shop: Server, script: Path) -> Sample:
    return load(bench.wrk, shop, bench.seconds, script, f"{ORDERS}?page[after]=&per_page=5", connections=2)
