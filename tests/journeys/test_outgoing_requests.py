"""The shop sends no request to an address that a caller supplies."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.accounts import sign_in
from tests.checkout_builders import ADDRESS, Buyer, CheckoutSetup
from tests.image_files import png
from tests.platform.bulk import post_import, to_ndjson
from tests.platform.client import Machine


class Listener:
    """A server that counts its connections; its URL is in every field that a caller sends."""

    def __init__(self) -> None:
        self.calls = 0
        self.has_call = asyncio.Event()
        self.port = 0

    async def __call__(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.calls += 1
        self.has_call.set()
        writer.close()

    def url(self, scheme: str = "http") -> str:
        return f"{scheme}://127.0.0.1:{self.port}/{uuid4().hex}.png"


@asynccontextmanager
async def listening() -> AsyncIterator[Listener]:
    listener = Listener()
    async with await asyncio.start_server(listener, "127.0.0.1", 0) as server:
        listener.port = server.sockets[0].getsockname()[1]
        yield listener


@pytest.mark.security("A-04")
async def test_no_url_supplied_by_a_caller_is_requested(
    http: httpx2.AsyncClient, writer: Machine, buyer: Buyer, checkout_setup: CheckoutSetup
) -> None:
    async with listening() as listener:
        await send_shopper_requests(http, buyer, checkout_setup, listener)
        await send_application_requests(writer, listener)
        # The listener does accept connections.
        _, connection = await asyncio.open_connection("127.0.0.1", listener.port)
        connection.close()
        await asyncio.wait_for(listener.has_call.wait(), 10)

    assert listener.calls == 1


async def send_shopper_requests(
    http: httpx2.AsyncClient, buyer: Buyer, checkout_setup: CheckoutSetup, listener: Listener
) -> None:
    names = ("Referer", "Origin", "Forwarded", "X-Forwarded-Host", "X-Forwarded-For", "Host", "From")
    for name in names:
        await http.get("/api/v2/storefront/products", headers={name: listener.url()})
    await sign_in(http, first_name=listener.url(), last_name=listener.url("https"))
    await buyer.add_items((await checkout_setup.product(), 1))
    address = {**ADDRESS, "address2": listener.url(), "company": listener.url("https")}
    fields = {"bill_address_attributes": address, "use_billing": True, "special_instructions": listener.url()}
    assert (await buyer.update_checkout(email="ada@example.org", **fields)).status == 200
    await buyer.pay()
    assert (await buyer.complete()).status == 200


async def send_application_requests(writer: Machine, listener: Listener) -> None:
    product_fields = {"name": listener.url(), "description": f'<img src="{listener.url()}">', "price": "1.0"}
    await writer.post("/products", {"product": {**product_fields, "images": [listener.url()]}})
    product = await writer.post("/products", {"product": product_fields})
    assert product.status == 201
    fields: dict[str, Any] = {"product_id": product.id, "alt": listener.url()}
    assert (await writer.ask("POST", "/images", files={"attachment": ("a.png", png(9, 9))}, data=fields)).status == 201
    for name in ("attachment", "url"):
        await writer.ask("POST", "/images", data={**fields, name: listener.url()})
    await writer.post("/shipping_methods", {"shipping_method": {"name": "Post", "tracking_url": listener.url("https")}})
    line = {"slug": uuid4().hex, "name": "Mug", "images": [{"url": listener.url()}], "image_url": listener.url()}
    await post_import(writer, "products", to_ndjson([line]))
