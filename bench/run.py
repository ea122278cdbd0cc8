"""`make bench`: our cost beside a floor's, interleaved in one run; writes `bench/report.md`."""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil

from bench.capacity import cost_table
from bench.catalog import catalog_tables
from bench.catalog_jobs import catalog_job_tables
from bench.checkout import checkout_tables
from bench.customer_jobs import customer_job_tables
from bench.dashboard import create_operator, order_list_tables
from bench.events import event_tables
from bench.idle import idle_table
from bench.load_test import (
    Sample,
    Server,
    bearer_script,
    body_script,
    counted_script,
    fill,
    load,
    median,
    median_ratio,
    run_sql,
)
from bench.mixed import mixed_tables
from bench.pages import product_page_tables
from bench.platform import flood, platform_tables
from bench.prepared import prepared_tables
from bench.purchases import purchase_tables
from bench.replicas import replica_tables
from bench.report import Report, current_commit
from bench.reports import report_tables
from bench.rounds import KEYS, SAMPLE, SHOP, Bench, console, figure_table, load_table
from bench.signin import create_bearers, create_login_requests
from shop.base.crypto.keys import parse_keys
from shop.base.crypto.order_tokens import order_token
from shop.db.embedded import Embedded, database_url
from shop.migrations.upgrade import upgrade

SIZES = (1_000, 100_000, 1_000_000)
REUSED = ("shop_reports", "shop_order_list", "shop_product_pages")
"""Databases that take long to fill, and that measuring does not change."""


def start_times(bench: Bench) -> None:
    environ = {"SHOP_DATA_DIR": str(bench.directory / "var"), "SHOP_DRAIN_SECONDS": "0", "SHOP_LOG_FORMAT": "json"}
    durations = []
    for name in ("first", "again"):
        start = time.perf_counter()
        server = Server([SHOP, "serve", "--port", "PORT"], bench.directory / f"{name}.log", environ).wait()
        durations.append(time.perf_counter() - start)
        server.stop()
    bench.say("", "| start until ready | seconds | at most |", "|---|--:|--:|")
    bench.say(f"| first start ever (initdb and migrations) | {durations[0]:.2f} | 8 |")
    bench.say(f"| on an existing data directory | {durations[1]:.2f} | 3 |")


def main_table(bench: Bench, url: str) -> None:
    fill(url, 1_000)
    key = parse_keys(KEYS)
    floor = Server([sys.executable, "-m", "bench.floor", "PORT", url], bench.directory / "floor.log").wait("/ready")
    plain = Server([sys.executable, "-m", "bench.floor", "PORT"], bench.directory / "plain.log").wait("/ready")
    crowded_shop = Server(
        [sys.executable, "-m", "bench.many_routes", "PORT", url, KEYS], bench.directory / "crowded.log"
    ).wait()
    shop = bench.shop(url, "shop")
    proxied_shop = bench.shop(url, "behind", SHOP_TRUSTED_PROXIES="127.0.0.1")
    sources_script = counted_script(bench.directory)
    by_id, by_token = (
        bench.reader(url, "by_id", str),
        bench.reader(url, "by_token", lambda cart: order_token(key, cart, 0)),
    )
    results = bench.interleaved(
        {
            "server alone": lambda: load(bench.wrk, plain, bench.seconds),
            "floor create": lambda: load(bench.wrk, floor, bench.seconds, bench.create),
            "shop create": lambda: load(bench.wrk, shop, bench.seconds, bench.create),
            "shop create, 150 more routes": lambda: load(bench.wrk, crowded_shop, bench.seconds, bench.create),
            "counted create": lambda: load(bench.wrk, proxied_shop, bench.seconds, sources_script),
            "floor read": lambda: load(bench.wrk, floor, bench.seconds, by_id),
            "shop read": lambda: load(bench.wrk, shop, bench.seconds, by_token),
            "shop read, 150 more routes": lambda: load(bench.wrk, crowded_shop, bench.seconds, by_token),
        }
    )
    memory = shop.worker.memory_full_info()
    for server in (floor, plain, crowded_shop, shop, proxied_shop):
        server.stop()
    load_table(bench, results)
    p99 = {
        f"p99 of {verb}, times the floor's": median(results[f"shop {verb}"]).p99 / median(results[f"floor {verb}"]).p99
        for verb in ("create", "read")
    }
    figure_table(
        bench,
        {
            **p99,
            "memory of the worker after this load, MB": memory.rss / 1e6,
            "its share of it (PSS), MB": memory.pss / 1e6,
        },
    )
    bench.say(
        "",
        "Concurrent requests of the shop share statements, as docs/decisions/0033 explains; the floor runs one for each request.",
        "The columns of statements count a shared one for each of its requests. Memory is the resident set, which counts all",
        "pages that the worker shares with its parent.",
    )


def sign_in_table(bench: Bench, url: str) -> None:
    """Compares exchange and account with a floor of the same statements."""
    keys = parse_keys(KEYS)
    floor = Server([sys.executable, "-m", "bench.floor", "PORT", url], bench.directory / "floor.log").wait("/ready")
    shop = bench.shop(url, "signin")
    bearers = bearer_script(bench.directory, "bearers", create_bearers(url, SAMPLE))
    # A code can be exchanged once, so there must be more of them than a round can exchange.
    enough = {"floor": 4_000 * bench.seconds, "shop": 3_000 * bench.seconds}
    bodies = {
        name: [
            body_script(bench.directory, f"{name}{turn}", create_login_requests(url, keys, f"{name}{turn}-", count))
            for turn in range(bench.rounds)
        ]
        for name, count in enough.items()
    }
    auth, me = "/api/v2/storefront/auth", "/api/v2/storefront/account"
    results = bench.interleaved(
        {
            "floor exchange": lambda: load(bench.wrk, floor, bench.seconds, bodies["floor"].pop(), auth),
            "shop exchange": lambda: load(bench.wrk, shop, bench.seconds, bodies["shop"].pop(), auth),
            "floor account": lambda: load(bench.wrk, floor, bench.seconds, bearers, me),
            "shop account": lambda: load(bench.wrk, shop, bench.seconds, bearers, me),
        }
    )
    for server in (floor, shop):
        server.stop()
    load_table(bench, results)


def database_alone(bench: Bench, server: Embedded, url: str) -> None:
    """Runs pgbench, from the same binaries, with two similar statements and as many connections as a worker."""
    fill(url, 1_000)
    scripts = {
        "insert": "insert into orders (id, number, currency, created_at, updated_at) values (gen_random_uuid(), "
        "'B' || gen_random_uuid(), 'USD', now(), now()) returning created_at;",
        "select": "\\set n random(1, 1000)\nselect * from orders where number = 'R' || lpad((:n::bigint * 7919 % 999999937)::text, 9, '0');",
    }
    bench.say("", "| pgbench alone, 8 connections | transactions/s |", "|---|--:|")
    for name, text in scripts.items():
        file = bench.directory / f"{name}.sql"
        file.write_text(text)
        command: list[str] = [
            str(server._binaries / "pgbench"),
            "-n",
            "-M",
            "prepared",
            "-c",
            "8",
            "-j",
            "1",
            "-T",
            str(bench.seconds),
            "-f",
            str(file),
        ]
        out = subprocess.run(
            [
                *command,
                "-h",
                str(bench.directory / "pg" / "run"),
                "-U",
                "shop",
                url.partition("?")[0].rpartition("/")[2],
            ],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        rate = next(line for line in out.splitlines() if line.startswith("tps")).split()[2]
        bench.say(f"| {name} | {float(rate):,.0f} |")


def growth(bench: Bench, make_url: Callable[[str], str]) -> None:
    key = parse_keys(KEYS)
    servers: dict[int, Server] = {}
    jobs: dict[str, Callable[[], Sample]] = {}
    for size in SIZES:
        url = make_url(f"shop_{size}")
        with console.status(f"making {size:,} carts"):
            fill(url, size)
        servers[size] = bench.shop(url, f"size_{size}")
        script = bench.reader(url, f"size_{size}", lambda cart: order_token(key, cart, 0))
        jobs[f"create {size}"] = lambda server=servers[size], url=url: _create_and_remove(bench, server, url)  # type: ignore[misc]
        jobs[f"read {size}"] = lambda server=servers[size], script=script: load(
            bench.wrk, server, bench.seconds, script
        )  # type: ignore[misc]
    results = bench.interleaved(jobs)
    for server in servers.values():
        server.stop()
    bench.say("", "| carts in the database | create/s | cost | read/s | cost | at most |", "|--:|--:|--:|--:|--:|--:|")
    for size in SIZES:
        create, read = median(results[f"create {size}"]), median(results[f"read {size}"])
        costs = [median_ratio(results[f"{verb} {SIZES[0]}"], results[f"{verb} {size}"]) for verb in ("create", "read")]
        bench.say(
            f"| {size:,} | {create.per_second:,.0f} | {costs[0]:.2f} | {read.per_second:,.0f} | {costs[1]:.2f} | 1.20 |"
        )


def _create_and_remove(bench: Bench, server: Server, url: str) -> Sample:
    """Measures cart creation, then deletes the new carts, so that the size of the table stays constant."""
    (newest,) = run_sql(url, "select now() as at")
    sample = load(bench.wrk, server, bench.seconds, bench.create)
    run_sql(url, f"delete from orders where created_at > '{newest['at']}'", "vacuum orders", "select 1")
    return sample


def list_sections(bench: Bench, server: Embedded, make_url: Callable[[str], str]) -> dict[str, Callable[[], None]]:
    """Returns the parts of the report by name, in their order."""

    def measure_platform() -> None:
        url = make_url("shop_platform")
        platform_tables(bench, url)
        flood(bench, url)

    return {
        "start": lambda: start_times(bench),
        "carts": lambda: main_table(bench, make_url("shop_bench")),
        "sign-in": lambda: sign_in_table(bench, make_url("shop_signin")),
        "platform": measure_platform,
        "catalog": lambda: catalog_tables(bench, make_url),
        "purchases": lambda: purchase_tables(bench, make_url),
        "checkout": lambda: checkout_tables(bench, make_url),
        "idle": lambda: idle_table(bench, make_url),
        "cost": lambda: cost_table(bench, make_url),
        "mixed": lambda: mixed_tables(bench, make_url),
        "events": lambda: event_tables(bench),
        "reports": lambda: report_tables(bench, make_url),
        "orders": lambda: order_list_tables(bench, make_url),
        "products": lambda: product_page_tables(bench, make_url, create_operator),
        "catalog-jobs": lambda: catalog_job_tables(bench, make_url),
        "customer-jobs": lambda: customer_job_tables(bench, make_url),
        "pgbench": lambda: database_alone(bench, server, make_url("shop_pgbench")),
        "growth": lambda: growth(bench, make_url),
        "replicas": lambda: replica_tables(bench),
        "prepared": lambda: prepared_tables(bench),
    }


def run_sections(bench: Bench, names: Sequence[str], *, is_written: bool) -> None:
    """Measures the sections with these names, or all; each replaces its part of the report."""
    data_dir = bench.directory / "pg"
    data_dir.mkdir(exist_ok=True)
    server = Embedded(data_dir)
    server.start()
    pid = int((data_dir / "postgres" / "postmaster.pid").read_text().split()[0])
    bench.wrk.postmaster = psutil.Process(pid)

    def make_url(database: str) -> str:
        postgres_url = database_url(data_dir, "postgres")
        if database not in REUSED:
            run_sql(postgres_url, f"drop database if exists {database}", "select 1")
        if not run_sql(postgres_url, f"select from pg_database where datname = '{database}'"):
            run_sql(postgres_url, f"create database {database}")
        upgrade(database_url(data_dir, database))
        return database_url(data_dir, database)

    try:
        sections = list_sections(bench, server, make_url)
        if unknown_names := [name for name in names if name not in sections]:
            sys.exit(f"bench: there is no {unknown_names[0]}; choose from {', '.join(sections)}")
        report, commit = Report(), current_commit()
        conditions = f"{bench.rounds} rounds of {bench.seconds} s, load of the machine before {os.getloadavg()[0]:.1f}"
        for name in names or sections:
            bench.section = report.begin(name, commit, conditions)
            sections[name]()
            if is_written:
                report.write(name, bench.section, sections)
    finally:
        server.stop()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=int, default=2, help="length of one load (2)")
    options.add_argument("--rounds", type=int, default=7, help="rounds, of which medians are taken (7)")
    options.add_argument("--only", nargs="+", default=[], help="sections to measure, instead of all")
    options.add_argument("--print", action="store_true", help="only print the sections, and leave the report")
    options.add_argument("--directory", type=Path, help="where large databases remain for the next run")
    args = options.parse_args()
    # Exits cleanly on either signal, to stop its servers; a background process ignores SIGINT by default.
    for sign in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sign, lambda *_: sys.exit("bench: broken off"))
    with tempfile.TemporaryDirectory(prefix="shop-bench-") as name:
        directory = args.directory or Path(name)
        directory.mkdir(exist_ok=True)
        directory.chmod(0o755)
        bench = Bench(directory, args.seconds, args.rounds)
        run_sections(bench, args.only, is_written=not args.print)


if __name__ == "__main__":
    main()
