"""The floor: a minimal server for the same documents with the same libraries. The fewest statements, no checks, no log.

`python -m bench.floor PORT URL` serves it; without a URL it serves a constant body, to measure the server alone.
"""

import gc
import random
import sys
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import parse_qsl
from uuid import UUID

import asyncpg
import msgspec
from granian.constants import HTTPModes, Interfaces, Loops
from granian.server import Server

from bench.floor_cart import FloorCart
from bench.floor_catalog import FloorCatalog
from bench.floor_platform import FloorPlatform
from bench.floor_signin import FloorSignIn
from shop.base.ids import new_id
from shop.base.money import money_text, wire_decimal
from shop.storefront.resources.orders import CART
from shop.web.asgi import Receive, Scope, Send

AMOUNTS = (
    "item_total",
    "ship_total",
    "adjustment_total",
    "included_tax_total",
    "additional_tax_total",
    "promo_total",
    "pre_tax_item_amount",
    "pre_tax_total",
    "total",
)


async def register_json_codec(connection: Any) -> None:
    codec = {"encoder": lambda value: encode(value).decode(), "decoder": msgspec.json.decode}
    await connection.set_type_codec("jsonb", schema="pg_catalog", **codec)


async def skip_reset(_connection: Any) -> None:
    """Disables the reset query, as the shop does."""


HEADERS = [(b"content-type", b"application/vnd.api+json; charset=utf-8")]
RELATIONSHIPS: dict[str, Any] = {
    name: {"data": [] if relation.is_many else None} for name, relation in CART.relations.items()
}
TOKEN = "shpot_k1_" + "0" * 104
COMPUTED = ("tax_total", "total_minus_store_credits")
ZERO = dict.fromkeys((*AMOUNTS, *COMPUTED), "0.0") | {f"display_{name}": "$0.00" for name in (*AMOUNTS, *COMPUTED)}
INSERT = (
    "insert into orders (id, number, currency, created_at, updated_at) values ($1, $2, 'USD', now(), now()) "
    "returning created_at"
)
SELECT = "select * from orders where id = $1"
encode = msgspec.json.Encoder().encode


class Floor:
    """A plain ASGI application: POST creates, GET reads."""

    def __init__(self, url: str | None) -> None:
        self.url = url
        self.statements = 0
        self.pool: Any = None
        self.signin: Any = None
        self.platform: Any = None
        self.catalog: Any = None
        self.cart: Any = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.live(receive, send)
        elif scope["path"] == "/statements":
            await answer(send, 200, str(self.count_statements()).encode())
        elif self.pool is None:
            await answer(send, 200, b"{}")
        elif scope["method"] == "POST" and scope["path"].endswith("/cart"):
            await answer(send, 201, await self.create())
        else:
            await answer(send, 200, await self.respond(scope, receive))

    async def respond(self, scope: Scope, receive: Receive) -> bytes:
        headers, (_, _, name) = dict(scope["headers"]), scope["path"].rpartition("/")
        query = dict(parse_qsl(scope["query_string"].decode()))
        bearer, cart = headers.get(b"authorization", b"")[7:].decode(), headers.get(b"x-shop-order-token", b"").decode()
        match name:
            case "token":
                body: bytes = await self.platform.grant((await receive())["body"])
            case "orders":
                body = await self.platform.orders(bearer)
            case "add_item":
                body = await self.cart.add_item(UUID(cart), (await receive())["body"])
            case "products":
                body = await self.catalog.products(int(query.get("page", 1)))
            case "auth":
                body = await self.signin.exchange((await receive())["body"])
            case "account":
                body = await self.signin.account(bearer)
            case "cart" if b"lines" in scope["query_string"]:
                body = await self.cart.read(UUID(cart), with_variants=b"include" in scope["query_string"])
            case "cart":
                body = await self.read(UUID(cart))
            case _:
                body = await self.catalog.product(name)
        return body

    async def live(self, receive: Receive, send: Send) -> None:
        await receive()
        if self.url:
            self.pool = await asyncpg.create_pool(
                self.url, min_size=0, max_size=8, reset=skip_reset, init=register_json_codec
            )
            self.signin = FloorSignIn(self.pool)
            self.platform = FloorPlatform(self.pool)
            self.catalog = FloorCatalog(self.pool)
            self.cart = FloorCart(self.pool)
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 20, 50)
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})

    def count_statements(self) -> int:
        parts = (self.signin, self.platform, self.catalog, self.cart)
        return self.statements + sum(int(part.statements) for part in parts if part is not None)

    async def create(self) -> bytes:
        self.statements += 1
        cart_id, number = new_id(), f"R{random.randrange(10**15):015}"
        async with self.pool.acquire() as connection:
            created_at = wire_time(await connection.fetchval(INSERT, cart_id, number))
        return document(
            cart_id,
            {
                "number": number,
                "state": "cart",
                "token": TOKEN,
                "email": None,
                "currency": "USD",
                "item_count": 0,
                "special_instructions": None,
                "shipment_state": None,
                "payment_state": None,
                "created_at": created_at,
                "updated_at": created_at,
                "completed_at": None,
                **ZERO,
            },
        )

    async def read(self, cart_id: UUID) -> bytes:
        self.statements += 1
        async with self.pool.acquire() as connection:
            row = await connection.fetchrow(SELECT, cart_id)
        text = money_text("USD", "en-US")
        attributes = {
            "number": row["number"],
            "state": row["state"],
            "token": TOKEN,
            "email": row["email"],
            "currency": row["currency"],
            "item_count": row["item_count"],
            "special_instructions": row["special_instructions"],
            "shipment_state": row["shipment_state"],
            "payment_state": row["payment_state"],
            "created_at": wire_time(row["created_at"]),
            "updated_at": wire_time(row["updated_at"]),
            "completed_at": wire_time(row["completed_at"]),
        }
        for name in AMOUNTS:
            attributes[name] = wire_decimal(row[name], 2)
            attributes["display_" + name] = text(row[name])
        tax = row["included_tax_total"] + row["additional_tax_total"]
        attributes["tax_total"], attributes["display_tax_total"] = wire_decimal(tax, 2), text(tax)
        left = row["total"] - row["store_credit_total"]
        attributes["total_minus_store_credits"] = wire_decimal(left, 2)
        attributes["display_total_minus_store_credits"] = text(left)
        return document(cart_id, attributes)


def wire_time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="milliseconds")[:-6] + "Z"


def document(cart_id: UUID, attributes: dict[str, Any]) -> bytes:
    data = {"id": str(cart_id), "type": "cart", "attributes": attributes, "relationships": RELATIONSHIPS}
    return encode({"data": data})


async def answer(send: Send, status: int, body: bytes) -> None:
    headers = [*HEADERS, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def load(url: str | None) -> Floor:
    return Floor(url)


if __name__ == "__main__":
    address = sys.argv[2] if len(sys.argv) > 2 else None
    Server(
        target="floor",
        port=int(sys.argv[1]),
        interface=Interfaces.ASGI,
        loop=Loops.uvloop,
        http=HTTPModes.http1,
        websockets=False,
        log_enabled=False,
    ).serve(target_loader=partial(load, address), wrap_loader=False)
