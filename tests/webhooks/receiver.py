"""A receiver of webhooks on loopback, and an endpoint of the shop that sends to it."""

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import msgspec
from aiohttp import web

from tests.builders import Make
from tests.platform.client import Machine
from tests.secret_leaks import record_secret

SECONDS = 20


class Delivery(msgspec.Struct, frozen=True):
    """A request that the receiver got."""

    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def signatures(self) -> list[str]:
        return self.headers["webhook-signature"].split(" ")

    def is_signed_with(self, secret: str) -> bool:
        """Computes the signature as the specification describes it, without code of the shop."""
        key = base64.b64decode(secret.removeprefix("whsec_"))
        content = f"{self.id}.{self.headers['webhook-timestamp']}.".encode() + self.body
        signature = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
        return f"v1,{signature}" in self.signatures


Respond = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Receiver:
    """A server that records requests and answers 200, or with the next planned response."""

    def __init__(self) -> None:
        self.url = ""
        self.deliveries: list[Delivery] = []
        self.responses: list[web.Response | Respond] = []
        self.respond: Respond | None = None
        """Answers all requests for which no response is planned."""
        self.open_count = self.most_open = 0
        self._changed = asyncio.Condition()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.open_count += 1
        self.most_open = max(self.most_open, self.open_count)
        try:
            headers = {name.lower(): value for name, value in request.headers.items()}
            delivery = Delivery(headers, await request.read())
            response = self.responses.pop(0) if self.responses else self.respond
            async with self._changed:
                self.deliveries.append(delivery)
                self._changed.notify_all()
            if response is None:
                return web.Response()
            return response if isinstance(response, web.Response) else await response(request)
        finally:
            self.open_count -= 1

    async def wait_for(self, count: int, about: str | None = None) -> list[Delivery]:
        """Waits for so many requests, about one record if `about` is its id."""

        def matching() -> list[Delivery]:
            return [each for each in self.deliveries if about in (None, each.json["data"]["id"])]

        async with asyncio.timeout(SECONDS), self._changed:
            await self._changed.wait_for(lambda: len(matching()) >= count)
        return matching()


@asynccontextmanager
async def open_receiver() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", receiver.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    receiver.url = f"http://{host}:{port}/hook"
    try:
        yield receiver
    finally:
        await runner.cleanup()


class Endpoint:
    """An endpoint of the shop, used through the Platform API."""

    def __init__(self, machine: Machine, data: Any) -> None:
        self.machine = machine
        self.id: str = data["id"]
        self.secret: str = record_secret(data["attributes"]["secret"])

    async def show(self) -> Any:
        answer = await self.machine.get(f"/webhook_endpoints/{self.id}")
        assert answer.status == 200, answer
        return answer.json["data"]["attributes"]

    async def list_deliveries(self, **filters: str) -> list[Any]:
        params = {f"filter[{name}_eq]": value for name, value in {"endpoint_id": self.id, **filters}.items()}
        answer = await self.machine.get("/webhook_deliveries", {**params, "sort": "position"})
        assert answer.status == 200, answer
        deliveries: list[Any] = answer.json["data"]
        return deliveries

    async def wait_for_state(self, db: Any, state: str, count: int = 1) -> None:
        """Waits until so many deliveries are in this state; the shop records a response after it has sent its own."""
        query = "select count(*) from webhook_deliveries where endpoint_id = $1 and state = $2"
        await wait_until(db, f"({query}) >= $3", self.id, state, count)

    async def post(self, operation: str, body: Any = None) -> Any:
        answer = await self.machine.post(f"/webhook_endpoints/{self.id}/{operation}", body or {})
        assert answer.status in {200, 201}, answer
        return answer.json["data"]

    async def change(self, **values: Any) -> Any:
        answer = await self.machine.patch(f"/webhook_endpoints/{self.id}", {"webhook_endpoint": values})
        assert answer.status == 200, answer
        return answer.json["data"]["attributes"]

    async def retry_now(self, db: Any) -> None:
        """Makes the deliveries that wait for their next attempt due."""
        await db.execute(
            "update webhook_deliveries set next_at = now() where endpoint_id = $1 and state = 'pending'"
            " and next_at is not null",
            self.id,
        )


async def wait_until(db: Any, condition: str, *values: Any) -> None:
    """Waits until a condition on the database is true: the worker changes it in the background."""
    async with asyncio.timeout(SECONDS):
        while not await db.fetchval(f"select {condition}", *values):
            await db.execute("select pg_sleep(0.02)")


async def new_endpoint(machine: Machine, url: str, *types: str, **values: Any) -> Endpoint:
    body = {"url": url, "types": list(types or ("tax_category.*",)), **values}
    answer = await machine.post("/webhook_endpoints", {"webhook_endpoint": body})
    assert answer.status == 201, answer
    return Endpoint(machine, answer.json["data"])


async def new_category(make: Make, **fields: Any) -> str:
    """Makes a tax category, which has an event; returns its id."""
    created = await make.new("tax_categories", "tax_category", name=f"Category {uuid4().hex}", **fields)
    return created.id


async def rename_category(make: Make, category_id: str) -> None:
    await make.change("tax_categories", category_id, "tax_category", name=f"Category {uuid4().hex}")
