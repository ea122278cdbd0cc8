"""Nothing is lost or invented if the service is killed together with its database, again and again."""

import asyncio
import os
import random
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import asyncpg
import httpx2
import psutil
import pytest
from aiohttp import web

from tests.builders import Make, ProductIds
from tests.checkout_builders import CheckoutSetup, new_checkout_setup
from tests.db.processes import kill, postmaster_pid, session_pids
from tests.events.log_checks import (
    assert_complete,
    assert_in_order,
    count_types,
    find_differences,
    read_whole_log,
    watch_changes,
)
from tests.events.writers import Ledger, Writers, new_products
from tests.platform.client import Machine, new_machine
from tests.service import KEYS, Service
from tests.webhooks.receiver import new_endpoint, open_receiver

ROUNDS = int(os.environ.get("TEST_KILL_ROUNDS", "50"))
DRAIN_SECONDS = 300
RELEASE = "update webhook_endpoints set leased_until = now()"
RELEASE_SHARE = 0.5
"""In so many rounds the service delivers at once: leases of a killed process last longer than a round."""


def serve(data_dir: Path) -> Service:
    return Service(
        SHOP_DATA_DIR=str(data_dir),
        SHOP_SECRET_KEYS=KEYS,
        SHOP_DRAIN_SECONDS="0",
        SHOP_LIMIT_MAILS="0",
        TMPDIR=str(data_dir),
    )


def kill_all(service: Service, data_dir: Path) -> None:
    """Kills the service, its workers and the database with all its processes at once."""
    database = psutil.Process(postmaster_pid(data_dir))
    database_pids = [each.pid for each in (database, *database.children(recursive=True))]
    kill(*session_pids(service.process.pid), *database_pids)
    service.wait()


class KilledShop:
    """A shop that is killed and started again; all else stays."""

    def __init__(self, data_dir: Path, url: str) -> None:
        self.data_dir, self.url = data_dir, url
        self.ledger = Ledger()
        self.machine: Machine
        self.setup: CheckoutSetup
        self.products: list[ProductIds] = []

    async def prepare(self, http: httpx2.AsyncClient, db: Any, *urls: str) -> None:
        await watch_changes(self.url)
        self.machine = await new_machine(http, db)
        make = Make(self.machine)
        self.setup = await new_checkout_setup(make)
        self.products = await new_products(make, self.setup, 4)
        for url in urls:
            await new_endpoint(self.machine, url, "*")

    async def run_round(self, chance: random.Random, *urls: str) -> None:
        """Serves until an order was refunded, and is killed at a random time after that."""
        service = await asyncio.to_thread(serve, self.data_dir)
        async with service.client() as http:
            db = await asyncpg.connect(self.url)
            if urls:
                await self.prepare(http, db, *urls)
            elif chance.random() < RELEASE_SHARE:
                await db.execute(RELEASE)
            await db.close()
            writers = Writers(http, self.machine, self.setup, self.ledger)
            running = asyncio.create_task(writers.run(self.products))
            async with asyncio.timeout(120):
                await writers.has_refund.wait()
            # The kill itself is to come at any moment of a request, so there is no event to await.
            await asyncio.sleep(chance.uniform(0, 0.5))
            await asyncio.to_thread(kill_all, service, self.data_dir)
            await running

    async def drain(self, db: Any) -> None:
        """Waits until each event has a position and each delivery has succeeded; retries come at once."""
        await db.execute(RELEASE)
        done = """not exists (select from events where position is null)
            and not exists (select from webhook_deliveries where state = 'pending')
            and (select min(position) from webhook_endpoints) >=
                (select max(position) from events) - 1000
            and not exists (
                select from (select min(position) as first, count(*) from webhook_deliveries group by endpoint_id) d
                where d.count < (select count(*) from events where position >= d.first))"""
        end = monotonic() + DRAIN_SECONDS
        while not await db.fetchval(f"select {done}"):
            if monotonic() > end:
                states = await db.fetch("select state, count(*), min(position) from webhook_deliveries group by state")
                raise AssertionError(f"deliveries remain: {states}")
            await db.execute("update webhook_deliveries set next_at = now() where next_at > now()")
            await db.execute("update webhook_endpoints set paused_until = null")
            await db.execute("select pg_sleep(0.1)")


async def answer_at_random(_request: web.Request) -> web.StreamResponse:
    # A retry is found within a second, and the next event about the same record waits for it.
    return web.Response(status=500 if random.random() < 0.03 else 200)


async def read_final_log(shop: KilledShop, db: Any) -> list[dict[str, Any]]:
    """Returns the whole log. The worker may still write events, such as the outcome of a payment: then reads again."""
    for _ in range(5):
        await shop.drain(db)
        events = await read_whole_log(shop.machine)
        if len(events) == await db.fetchval("select count(*) from events"):
            return events
    raise AssertionError(f"the log has {len(events)} events, the database another number")


async def check(shop: KilledShop, events: list[dict[str, Any]], db: Any) -> None:
    """Compares the log with what clients were told, and with the database."""
    positions = [event["position"] for event in events]
    assert_complete(positions)
    assert (positions[0], positions[-1]) == (1, await db.fetchval("select last_position from event_counters"))
    assert len({event["id"] for event in events}) == len(events) == await db.fetchval("select count(*) from events")
    differences = await find_differences(shop.url)
    assert differences == [], differences
    for type_, ids in shop.ledger.confirmed.items():
        logged = [
            event["changes"]["name"][1] if type_ == "product.updated" else event["data"]["id"]
            for event in events
            if event["type"] == type_ and (type_ != "product.updated" or "name" in event["changes"])
        ]
        assert set(ids) <= set(logged)
        assert len(logged) == len(set(logged))
    names = {str(value) for event in events for value in event["changes"].get("name", ())}
    assert names.isdisjoint(shop.ledger.refused_names)
    counts = count_types(events)
    completed = "select count(*) from orders where completed_at is not null"
    assert counts["order.completed"] == await db.fetchval(completed)
    assert counts["refund.created"] == await db.fetchval("select count(*) from refunds where state = 'completed'")
    assert counts["product.created"] == await db.fetchval("select count(*) from products")


@pytest.mark.security("X-04")
@pytest.mark.torture
async def test_every_change_has_one_event_and_one_delivery_at_least_after_many_kills(
    own_data_dir: Callable[[], tuple[Path, str]],
) -> None:
    shop, chance = KilledShop(*own_data_dir()), random.Random(ROUNDS)
    async with open_receiver() as receiver, open_receiver() as failing_receiver:
        failing_receiver.respond = answer_at_random
        await shop.run_round(chance, receiver.url, failing_receiver.url)
        for _ in range(1, ROUNDS):
            await shop.run_round(chance)
        service = await asyncio.to_thread(serve, shop.data_dir)
        db = await asyncpg.connect(shop.url)
        try:
            async with service.client() as http:
                shop.machine.http = http
                events = await read_final_log(shop, db)
            await check(shop, events, db)
        finally:
            await db.close()
            await asyncio.to_thread(service.stop)
        for each in (receiver, failing_receiver):
            first = min(delivery.json["position"] for delivery in each.deliveries)
            ids = {event["id"] for event in events if event["position"] >= first}
            assert {delivery.id for delivery in each.deliveries} >= ids
            assert_in_order(each.deliveries)
    for type_ in ("order.completed", "shipment.shipped", "refund.created", "product.created", "product.updated"):
        assert len(shop.ledger.confirmed[type_]) >= ROUNDS, type_
