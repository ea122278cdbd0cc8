"""The event log: events numbered and fed, webhooks delivered, beside bad endpoints, and the memory of a backlog."""

import asyncio
import sys
import time
from typing import Any

from bench.http_client import Connection
from bench.load_test import Server, run_sql
from bench.platform import create_client
from bench.rounds import SHOP, Bench, console
from shop.db.embedded import database_url

PLATFORM = "/api/v2/platform"
FEED_COUNT, WEBHOOK_COUNT, BACKLOG_COUNT = 20_000, 5_000, 100_000
RATE = 100
"""Changes a second of a shop at work."""
BAD_PATHS = ("hang", "fail", "drip", "flood")
_COPY = """insert into events (id, type, occurred_at, actor_kind, subject_type, subject_id, row, links)
    select uuidv7(), type, clock_timestamp(), actor_kind, subject_type, uuidv7(), row, links
    from events, generate_series(1, {count}) where id = '{id}'"""


class EventShop:
    """A try-out, which can send to loopback, and a receiver."""

    def __init__(self, bench: Bench) -> None:
        data_dir = bench.directory / "events"
        environ = {"SHOP_DATA_DIR": str(data_dir), "SHOP_DRAIN_SECONDS": "0", "SHOP_LOG_FORMAT": "json"}
        self.server = Server([SHOP, "serve", "--port", "PORT"], bench.directory / "events.log", environ).wait()
        command = [sys.executable, "-m", "bench.receiver", "PORT"]
        self.receiver = Server(command, bench.directory / "receiver.log").wait("/count")
        # In a process of its own: what it does must not delay the healthy receiver.
        self.bad_receiver = Server(command, bench.directory / "bad_receiver.log").wait("/count")
        self.database = database_url(data_dir)
        _, token = create_client(self.database)
        self._headers = {"Authorization": f"Bearer {token}"}
        product = self.send("POST", "/products", {"product": {"name": "Lamp", "description": "Made with care. " * 20}})
        query = f"select id, position from events where subject_id = '{product['data']['id']}'"
        while not (rows := run_sql(self.database, query)) or rows[0]["position"] is None:
            time.sleep(0.05)
        self._event_id = rows[0]["id"]

    def send(self, method: str, path: str, body: Any = None) -> Any:
        async def send() -> Any:
            async with Connection(self.server.url) as http:
                return await http.send(method, PLATFORM + path, body, **self._headers)

        return asyncio.run(send())

    def copy_events(self, count: int) -> None:
        """Inserts events about different records in one transaction; they have no positions yet."""
        run_sql(self.database, "select 1", _COPY.format(count=count, id=self._event_id))

    def new_endpoint(self, path: str = "healthy") -> str:
        receiver = self.bad_receiver if path in BAD_PATHS else self.receiver
        endpoint = {"url": f"{receiver.url}/{path}", "types": ["*"]}
        return str(self.send("POST", "/webhook_endpoints", {"webhook_endpoint": endpoint})["data"]["id"])

    def delete_endpoint(self, endpoint_id: str) -> None:
        self.send("DELETE", f"/webhook_endpoints/{endpoint_id}")

    def ask_receiver(self, path: str) -> Any:
        async def send() -> Any:
            async with Connection(self.receiver.url) as http:
                return await http.send("GET", path)

        return asyncio.run(send())

    async def read_feed(self, count: int) -> None:
        """Reads so many events from the end of the log on, as an application does."""
        async with Connection(self.server.url) as http:
            cursor = (await http.send("GET", f"{PLATFORM}/events?page[after]=now", **self._headers))["meta"]["cursor"]
            await asyncio.to_thread(self.copy_events, count)
            while count > 0:
                path = f"{PLATFORM}/events?page[after]={cursor}&page[size]=100&wait=10"
                page = await http.send("GET", path, **self._headers)
                count, cursor = count - len(page["data"]), page["meta"]["cursor"]

    async def create_categories(self, seconds: float) -> None:
        """Creates tax categories at a fixed rate, whether or not the answers keep up."""
        free: asyncio.Queue[Connection] = asyncio.Queue()

        async def change(number: int) -> None:
            http = await free.get()
            body = {"tax_category": {"name": f"{time.time()} {number}"}}
            await http.send("POST", f"{PLATFORM}/tax_categories", body, **self._headers)
            free.put_nowait(http)

        for _ in range(16):
            free.put_nowait(await Connection(self.server.url).__aenter__())
        start, tasks = time.perf_counter(), []
        for number in range(int(seconds * RATE)):
            await asyncio.sleep(start + number / RATE - time.perf_counter())
            tasks.append(asyncio.create_task(change(number)))
        await asyncio.gather(*tasks)
        while not free.empty():
            await free.get_nowait().__aexit__(None, None, None)

    def wait_for_count(self, count: int) -> None:
        while self.ask_receiver("/count") < count:
            time.sleep(0.02)

    def stop(self) -> None:
        for receiver in (self.receiver, self.bad_receiver):
            receiver.process.terminate()
            receiver.process.wait(10)
        self.server.stop()


def event_tables(bench: Bench) -> None:
    shop = EventShop(bench)
    bench.say("", "| events | | target |", "|---|--:|--:|")
    with console.status("events are numbered and fed"):
        start, cpu = time.perf_counter(), _cpu(shop)
        asyncio.run(shop.read_feed(FEED_COUNT))
        bench.say(
            f"| numbered and fed, a second | {FEED_COUNT / (time.perf_counter() - start):,.0f} | at least 1,000 |"
        )
        bench.say(f"| CPU µs of the worker each | {(_cpu(shop) - cpu) / FEED_COUNT * 1e6:,.0f} | under 1,000 |")
    healthy = shop.new_endpoint()
    with console.status("webhooks are delivered"):
        _deliver(shop, 100)
        cpu = _cpu(shop)
        bench.say(f"| webhooks delivered, a second | {_deliver(shop, WEBHOOK_COUNT):,.0f} | at least 300 |")
        bench.say(f"| CPU µs of the worker each | {(_cpu(shop) - cpu) / WEBHOOK_COUNT * 1e6:,.0f} | under 3,300 |")
    _delivery_times(bench, shop)
    with console.status(f"a backlog of {BACKLOG_COUNT:,} webhooks is delivered"):
        before, most = _memory(shop), 0.0
        shop.copy_events(BACKLOG_COUNT)
        start = time.perf_counter()
        while shop.ask_receiver("/count") < BACKLOG_COUNT:
            time.sleep(0.2)
            most = max(most, _memory(shop))
        rate = BACKLOG_COUNT / (time.perf_counter() - start)
    bench.say(f"| growth of the worker while it delivers {BACKLOG_COUNT:,}, MB | {most - before:.0f} | at most 50 |")
    bench.say(f"| webhooks of this backlog delivered, a second | {rate:,.0f} | at least 300 |")
    shop.delete_endpoint(healthy)
    shop.stop()


def _deliver(shop: EventShop, count: int) -> float:
    """Returns the webhooks a second."""
    shop.ask_receiver("/figures")
    start = time.perf_counter()
    shop.copy_events(count)
    shop.wait_for_count(count)
    rate = count / (time.perf_counter() - start)
    shop.ask_receiver("/figures")
    return rate


def _delivery_times(bench: Bench, shop: EventShop) -> None:
    """Measures the time from commit to delivery, alone and beside bad endpoints, in turn."""
    alone, beside = [], []
    for number in range(bench.rounds):
        with console.status(f"round {number + 1} of {bench.rounds}: {RATE} events a second"):
            alone.append(_delivery_time(bench, shop))
            bad = [shop.new_endpoint(path) for path in BAD_PATHS]
            beside.append(_delivery_time(bench, shop))
            for endpoint_id in bad:
                shop.delete_endpoint(endpoint_id)
    middle = len(alone) // 2
    (p50, p99), (_, beside_p99) = sorted(alone)[middle], sorted(beside)[middle]
    bench.say(f"| from commit to delivery at {RATE} events a second, p50 ms | {p50:.0f} | |")
    bench.say(f"| p99 ms | {p99:.0f} | under 1,000 |")
    ratio = sorted(with_bad[1] / without[1] for with_bad, without in zip(beside, alone, strict=True))[middle]
    bench.say(f"| p99 ms beside four endpoints that hang, fail, drip and flood | {beside_p99:.0f} | |")
    bench.say(f"| times p99 alone | {ratio:.2f} | at most 1.5 |")


def _delivery_time(bench: Bench, shop: EventShop) -> tuple[float, float]:
    shop.ask_receiver("/figures")
    seconds = 2 * bench.seconds
    asyncio.run(shop.create_categories(seconds))
    shop.wait_for_count(seconds * RATE)
    figures = shop.ask_receiver("/figures")
    return figures["p50"], figures["p99"]


def _cpu(shop: EventShop) -> float:
    times = shop.server.worker.cpu_times()
    return float(times.user + times.system)


def _memory(shop: EventShop) -> float:
    return float(shop.server.worker.memory_info().rss / 1e6)
