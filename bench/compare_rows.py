"""What is compared: the requests that matter most, each made by the API itself, so that any commit can answer them."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from itertools import count, islice
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import msgspec

from bench.http_client import Connection, send_all
from bench.sides import Side

STORE = "/api/v2/storefront"
CARTS = 100
USERS = 20
LINES = 5
ADDRESS = {
    "firstname": "Ada",
    "lastname": "Lovelace",
    "address1": "1 Main Street",
    "city": "Springfield",
    "zipcode": "62701",
    "state_name": "IL",
    "country_iso": "US",
    "phone": "555-0100",
}
_numbers = count()


class Prepared(msgspec.Struct, frozen=True):
    """What a side's requests need."""

    carts: list[str]
    """Order tokens of empty carts."""
    filled: list[str]
    """Of carts with lines."""
    variants: list[str]
    users: list[str]
    """Bearers."""
    machine: str
    check: str
    """The payment method that needs no source."""


class Row(msgspec.Struct, frozen=True):
    """Work that is done many times in a row; `send` tells how many requests that were."""

    name: str
    times: int
    work: Callable[[Connection, Prepared, int], Awaitable[Any]]
    requests: int = 1

    async def send(self, side: Side, times: int) -> int:
        prepared: Prepared = side.prepared
        numbers = islice(_numbers, times)
        await send_all(side.url, numbers, lambda connection, number: self.work(connection, prepared, number))
        return times * self.requests


def prepare(side: Side) -> None:
    side.start()
    try:
        side.prepared = asyncio.run(_prepare(side))
    finally:
        side.stop()


async def _prepare(side: Side) -> Prepared:
    application = side.new_application()
    grant = {"grant_type": "client_credentials", "scope": "admin", **application}
    async with Connection(side.url) as http:
        granted = await http.send("POST", "/shop_oauth/token", {name: grant[name] for name in TOKEN_FIELDS})
        listed = await http.send("GET", f"{STORE}/products?per_page=50&include=default_variant")
        variants = [item["id"] for item in listed["included"] if item["attributes"]["purchasable"]][:20]
        carts = [await _new_cart(http) for _ in range(CARTS)]
        filled = [await _new_cart(http) for _ in range(CARTS)]
        for number, token in enumerate(filled):
            items = [{"variant_id": _pick(variants, number + step), "quantity": 1} for step in range(LINES)]
            await http.send("POST", f"{STORE}/cart/add_items", {"items": items}, **_holding(token))
        users = [await _sign_in(http) for _ in range(USERS)]
        methods = await http.send("GET", f"{STORE}/checkout/payment_methods", **_holding(filled[0]))
        check = next(item["id"] for item in methods["data"] if item["attributes"]["type"].lower().endswith("check"))
    return Prepared(carts, filled, variants, users, granted["access_token"], check)


TOKEN_FIELDS = ("grant_type", "scope", "client_id", "client_secret")


def _holding(token: str) -> dict[str, str]:
    return {"X_Shop_Order_Token": token}


async def _new_cart(http: Connection) -> str:
    cart = await http.send("POST", f"{STORE}/cart")
    return str(cart["data"]["attributes"]["token"])


async def _add_item(http: Connection, token: str, variant: str) -> None:
    await http.send("POST", f"{STORE}/cart/add_item", {"variant_id": variant, "quantity": 1}, **_holding(token))


async def _sign_in(http: Connection) -> str:
    email = f"{uuid4().hex}@example.com"
    await http.send("POST", f"{STORE}/auth", {"user": {"email": email}})
    (mail,) = await http.send("GET", f"/mailbox.json?to={quote(email)}")
    pair = await http.send("POST", f"{STORE}/auth", {"user": {"email": email, "code": mail["code"]}})
    return str(pair["access_token"])


async def create_counted(http: Connection, _: Prepared, number: int) -> None:
    parts = random.Random(number)
    source = ".".join(["10", *(str(parts.randrange(256)) for _ in range(3))])
    await http.send("POST", f"{STORE}/cart", X_Forwarded_For=source)


async def buy(http: Connection, prepared: Prepared, number: int) -> None:
    """The whole way of a guest to an order."""
    token = await _new_cart(http)
    await _add_item(http, token, prepared.variants[number % len(prepared.variants)])
    told = {"email": f"guest{number}@example.com", "bill_address_attributes": ADDRESS, "use_billing": True}
    await http.send("PATCH", f"{STORE}/checkout", {"order": told}, **_holding(token))
    await http.send("GET", f"{STORE}/checkout/shipping_rates", **_holding(token))
    chosen = {"payment_method_id": prepared.check}
    await http.send("POST", f"{STORE}/checkout/create_payment", chosen, **_holding(token))
    await http.send("PATCH", f"{STORE}/checkout/complete", **_holding(token))


def _pick(values: list[str], number: int) -> str:
    return values[number % len(values)]


FRESH = f"{STORE}/products?include=default_variant,images&fresh="
ORDERS = "/api/v2/platform/orders?page[after]="
ROWS = [
    Row("cart create", 1500, lambda http, _, __: http.send("POST", f"{STORE}/cart")),
    Row("cart create, counted", 1000, create_counted),
    Row("cart read", 2000, lambda http, on, n: http.send("GET", f"{STORE}/cart", **_holding(_pick(on.carts, n)))),
    Row(
        "cart read, 5 lines",
        1000,
        lambda http, on, n: http.send("GET", f"{STORE}/cart", **_holding(_pick(on.filled, n))),
    ),
    Row(
        "add_item",
        400,
        lambda http, on, n: _add_item(http, _pick(on.filled, n), _pick(on.variants, n % len(on.filled))),
    ),
    Row("product list, fresh", 300, lambda http, _, n: http.send("GET", f"{FRESH}{n}")),
    Row(
        "account",
        1500,
        lambda http, on, n: http.send("GET", f"{STORE}/account", Authorization=f"Bearer {_pick(on.users, n)}"),
    ),
    Row("platform orders", 500, lambda http, on, _: http.send("GET", ORDERS, Authorization=f"Bearer {on.machine}")),
    Row("guest purchase", 80, buy, requests=6),
]
