"""Writers that change a shop until it is gone: products, orders, shipments, refunds, and requests that are refused."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any
from uuid import uuid4

import httpx2

from tests.builders import Make, ProductIds
from tests.checkout_builders import Buyer, CheckoutSetup
from tests.platform.client import Machine


class Ledger:
    """What the shop has confirmed to its clients, by the type of the event that it must have; and what it refused."""

    def __init__(self) -> None:
        self.confirmed: dict[str, list[str]] = defaultdict(list)
        """The ids of records, or the new names of products."""
        self.refused_names: list[str] = []


class Writers:
    """Writers of one served shop."""

    def __init__(self, http: httpx2.AsyncClient, machine: Machine, setup: CheckoutSetup, ledger: Ledger) -> None:
        self._http = http
        self._machine = Machine(http, {"access_token": machine.access_token, "refresh_token": machine.refresh_token})
        self._setup = setup
        self._ledger = ledger
        self.has_refund = asyncio.Event()
        """Set when an order was bought, shipped and refunded."""

    async def run(self, products: list[ProductIds]) -> None:
        """Runs until the shop no longer answers."""
        product, *renamed = products
        async with asyncio.TaskGroup() as group:
            for each in renamed:
                group.create_task(self._repeat(self.rename, each))
            group.create_task(self._repeat(self.create_product))
            for _ in range(2):
                group.create_task(self._repeat(self.buy, product))
            group.create_task(self._repeat(self.fail, renamed[0]))

    async def _repeat(self, work: Callable[..., Awaitable[None]], *values: Any) -> None:
        with suppress(httpx2.TransportError):
            while True:
                await work(*values)

    async def rename(self, product: ProductIds) -> None:
        name = f"Product {uuid4().hex}"
        answer = await self._machine.patch(f"/products/{product.id}", {"product": {"name": name}})
        if answer.status == 200:
            self._ledger.confirmed["product.updated"].append(name)

    async def create_product(self) -> None:
        answer = await self._machine.post("/products", {"product": {"name": f"New {uuid4().hex}"}})
        if answer.status == 201:
            self._ledger.confirmed["product.created"].append(answer.id)

    async def buy(self, product: ProductIds) -> None:
        """Buys, ships and refunds; the shop may end between any two steps."""
        buyer = Buyer(self._http, self._setup)
        with suppress(AssertionError, KeyError):  # An answer of a shop that is just ending.
            await buyer.ready((product, 1))
            order = await buyer.complete()
            if order.status != 200:
                return
            self._ledger.confirmed["order.completed"].append(order.id)
            shown = (await self._machine.get(f"/orders/{order.id}")).json["data"]["relationships"]
            payment_id, shipment_id = (shown[name]["data"][0]["id"] for name in ("payments", "shipments"))
            shipped = await self._machine.patch(f"/shipments/{shipment_id}/ship", {"tracking": uuid4().hex})
            if shipped.status == 200:
                self._ledger.confirmed["shipment.shipped"].append(shipment_id)
            body = {"payment_id": payment_id, "amount": "1.00", "reason": "Broken."}
            refund = await self._machine.post("/refunds", {"refund": body})
            if refund.status == 201:
                self._ledger.confirmed["refund.created"].append(refund.id)
                self.has_refund.set()

    async def fail(self, product: ProductIds) -> None:
        """Sends changes that are refused before or within their transaction, and a payment that is declined."""
        name = f"Refused {uuid4().hex}"
        self._ledger.refused_names.append(name)
        no_category = {"name": name, "shipping_category_id": str(uuid4())}
        assert (await self._machine.patch(f"/products/{product.id}", {"product": no_category})).status != 200
        refund = {"payment_id": str(uuid4()), "amount": "1.00", "reason": name}
        assert (await self._machine.post("/refunds", {"refund": refund})).status != 201
        buyer = Buyer(self._http, self._setup)
        with suppress(AssertionError, KeyError):
            await buyer.ready((product, 1), source="decline")
            assert (await buyer.complete()).status != 200


async def new_products(make: Make, setup: CheckoutSetup, count: int) -> list[ProductIds]:
    """The first one is for sale in any quantity."""
    sold = await setup.product(on_hand=100_000)
    return [sold, *[await setup.product(on_hand=10) for _ in range(count - 1)]]
