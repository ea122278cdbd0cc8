"""A worker that serves shoppers loads only what they need."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

import httpx2
from bench.catalog_data import fill_catalog
from bench.load_test import Server, run_sql
from bench.purchases import SETUP, buy

from tests.db.processes import fetch_value
from tests.service import KEYS, SHOP, clean_environ

MOST_MEGABYTES = 100
"""10 MB more than the target, which is measured after load (`make bench`)."""
RARE = {
    *("shop.admin", "shop.demo", "shop.platform.routes", "shop.site.docs", "shop.site.reference", "shop.cli.backups"),
    *("shop.actions.accounts", "shop.actions.backups", "shop.actions.catalog_bulk", "shop.actions.imports"),
    *("PIL", "aiohttp", "aiosmtplib", "alembic", "cryptography", "mako", "markdown_it", "obstore", "pygments", "pyotp"),
    *("prometheus_client", "reportlab", "rich", "segno", "stripe", "webauthn", "zxcvbn_rs_py"),
}
"""The packages that no request of a shopper needs."""
LISTER = """
import os, pathlib, signal, sys
if pipe := os.environ.get("MODULE_PIPE"):
    signal.signal(signal.SIGUSR2, lambda *_: pathlib.Path(pipe).write_text("\\n".join(sys.modules)))
"""
"""Writes the names of all loaded modules into a pipe when the process is asked."""


def test_a_worker_that_served_a_purchase_has_loaded_nothing_else(
    own_database: Callable[..., str], tmp_path: Path
) -> None:
    url = own_database()
    if int(fetch_value(url, "show server_version_num")) < 180000:
        run_sql(url, "create function uuidv7() returns uuid language sql as 'select gen_random_uuid()'", "select 1")
    fill_catalog(url, 50)
    run_sql(url, *SETUP.split(";")[:-1], "select 1")
    pipe = tmp_path / "modules"
    os.mkfifo(pipe)
    (tmp_path / "sitecustomize.py").write_text(LISTER)
    environ = clean_environ(SHOP_DATABASE_URL=url, SHOP_SECRET_KEYS=KEYS, SHOP_MAILBOX="on", SHOP_DRAIN_SECONDS="0")
    environ |= {"PYTHONPATH": str(tmp_path), "MODULE_PIPE": str(pipe)}
    server = Server([str(SHOP), "serve", "--port", "PORT"], tmp_path / "log", environ).wait()
    try:
        asyncio.run(_shop(server.url, url))
        worker = server.worker
        os.kill(worker.pid, signal.SIGUSR2)
        modules = set(pipe.read_text().splitlines())
        megabytes = worker.memory_info().rss / 1e6
    finally:
        server.stop()

    assert "shop.storefront.checkout" in modules
    assert sorted(name for name in RARE if name in modules) == []
    assert megabytes <= MOST_MEGABYTES
    # Readers of the event log see the relations of the Platform API, which this worker has not served.
    links = "select jsonb_array_length(links -> 'line_items') from events where type = 'order.completed' limit 1"
    assert fetch_value(url, links)


async def _shop(base: str, url: str) -> None:
    (method,) = await asyncio.to_thread(run_sql, url, "select id from payment_methods where type = 'check'")
    variants = await asyncio.to_thread(run_sql, url, "select id from variants where not is_master limit 3")
    async with httpx2.AsyncClient(base_url=f"{base}/api/v2/storefront", timeout=60) as http:
        for path in (
            "/products?include=default_variant,images",
            "/products/thing-1",
            f"{base}/",
            f"{base}/t/categories/aisle-1",
        ):
            (await http.get(path)).raise_for_status()
        await buy(http, [str(row["id"]) for row in variants], str(method["id"]))
