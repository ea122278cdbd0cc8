"""The compared requests, prepared through the API only, so that they work with any commit."""

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


class SideFixtures(msgspec.Struct, frozen=True):
    """Tokens and ids for the requests of a side."""

    carts: list[str]
    """Order tokens of empty carts."""
    filled_carts: list[str]
    """Order tokens of carts with lines."""
    variants: list[str]
    users: list[str]
    """Access tokens."""
    machine: str
    check: str
    """The payment method that needs no source."""


class Row(msgspec.Struct, frozen=True):
    """A unit of work that is repeated; `send` returns the number of requests."""

    name: str
    times: int
    work: Callable[[Connection, SideFixtures, Any], Awaitable[Any]]
    requests: int = 1
    begin: Callable[[Connection, SideFixtures, int], Awaitable[Any]] | None = None
    """What happens before and is not measured; `work` gets its result instead of the number."""
    begin_requests: int = 0

    async def prepare(self, side: Side, times: int) -> list[Any]:
        """Returns what `send` needs."""
        begin, fixtures = self.begin, side.prepared
        numbers = list(islice(_numbers, times))
        if begin is None:
            return numbers
        items = await send_all(side.url, numbers, lambda connection, number: begin(connection, fixtures, number))
        side.statements_of(times * self.begin_requests)
        return items

    async def send(self, side: Side, items: list[Any]) -> int:
        fixtures: SideFixtures = side.prepared
        await send_all(side.url, items, lambda connection, item: self.work(connection, fixtures, item))
        return len(items) * self.requests


def prepare(side: Side) -> None:
    side.start()
    try:
        side.prepared = asyncio.run(_prepare(side))
    finally:
        side.stop()


async def _prepare(side: Side) -> SideFixtures:
    application = side.new_application()
    grant = {"grant_type": "client_credentials", "scope": "admin", **application}
    async with Connection(side.url) as http:
        token_response = await http.send("POST", "/shop_oauth/token", {name: grant[name] for name in TOKEN_FIELDS})
        products = await http.send("GET", f"{STORE}/products?per_page=50&include=default_variant")
        variants = [item["id"] for item in products["included"] if item["attributes"]["purchasable"]][:20]
        carts = [await _new_cart(http) for _ in range(CARTS)]
        filled_carts = [await _new_cart(http) for _ in range(CARTS)]
        for number, token in enumerate(filled_carts):
            items = [{"variant_id": _pick(variants, number + step), "quantity": 1} for step in range(LINES)]
            await http.send("POST", f"{STORE}/cart/add_items", {"items": items}, **_order_token_header(token))
        users = [await _sign_in(http) for _ in range(USERS)]
        methods = await http.send("GET", f"{STORE}/checkout/payment_methods", **_order_token_header(filled_carts[0]))
        check = next(item["id"] for item in methods["data"] if item["attributes"]["type"].lower().endswith("check"))
    return SideFixtures(carts, filled_carts, variants, users, token_response["access_token"], check)


TOKEN_FIELDS = ("grant_type", "scope", "client_id", "client_secret")


def _order_token_header(token: str) -> dict[str, str]:
    return {"X_Shop_Order_Token": token}


async def _new_cart(http: Connection) -> str:
    cart = await http.send("POST", f"{STORE}/cart")
    return str(cart["data"]["attributes"]["token"])


async def _add_item(http: Connection, token: str, variant: str) -> None:
    await http.send(
        "POST", f"{STORE}/cart/add_item", {"variant_id": variant, "quantity": 1}, **_order_token_header(token)
    )


async def _sign_in(http: Connection) -> str:
    email = f"{uuid4().hex}@example.com"
    await http.send("POST", f"{STORE}/auth", {"user": {"email": email}})
    (mail,) = await http.send("GET", f"/mailbox.json?to={quote(email)}")
    pair = await http.send("POST", f"{STORE}/auth", {"user": {"email": email, "code": mail["code"]}})
    return str(pair["access_token"])


async def create_counted(http: Connection, _: SideFixtures, number: int) -> None:
    parts = random.Random(number)
    source = ".".join(["10", *(str(parts.randrange(256)) for _ in range(3))])
    await http.send("POST", f"{STORE}/cart", X_Forwarded_For=source)


async def prepare_purchase(http: Connection, fixtures: SideFixtures, number: int) -> str:
    """Makes a guest purchase up to its payment; returns the order token."""
    token = await _new_cart(http)
    await _add_item(http, token, fixtures.variants[number % len(fixtures.variants)])
    details = {"email": f"guest{number}@example.com", "bill_address_attributes": ADDRESS, "use_billing": True}
    await http.send("PATCH", f"{STORE}/checkout", {"order": details}, **_order_token_header(token))
    await http.send("GET", f"{STORE}/checkout/shipping_rates", **_order_token_header(token))
    payment = {"payment_method_id": fixtures.check}
    await http.send("POST", f"{STORE}/checkout/create_payment", payment, **_order_token_header(token))
    return token


async def complete(http: Connection, _: SideFixtures, token: str) -> None:
    await http.send("PATCH", f"{STORE}/checkout/complete", **_order_token_header(token))


async def buy(http: Connection, fixtures: SideFixtures, number: int) -> None:
    """Makes a complete guest purchase."""
    await complete(http, fixtures, await prepare_purchase(http, fixtures, number))


def _pick(values: list[str], number: int) -> str:
    return values[number % len(values)]


FRESH = f"{STORE}/products?include=default_variant,images&fresh="
ORDERS = "/api/v2/platform/orders?page[after]="
ROWS = [
    Row("cart create", 1500, lambda http, _, __: http.send("POST", f"{STORE}/cart")),
    Row("cart create, counted", 1000, create_counted),
    Row(
        "cart read",
        2000,
        lambda http, on, n: http.send("GET", f"{STORE}/cart", **_order_token_header(_pick(on.carts, n))),
    ),
    Row(
        "cart read, 5 lines",
        1000,
        lambda http, on, n: http.send("GET", f"{STORE}/cart", **_order_token_header(_pick(on.filled_carts, n))),
    ),
    Row(
        "add_item",
        400,
        lambda http, on, n: _add_item(http, _pick(on.filled_carts, n), _pick(on.variants, n % len(on.filled_carts))),
    ),
    Row("product list, fresh", 300, lambda http, _, n: http.send("GET", f"{FRESH}{n}")),
    Row(
        "account",
        1500,
        lambda http, on, n: http.send("GET", f"{STORE}/account", Authorization=f"Bearer {_pick(on.users, n)}"),
    ),
    Row("platform orders", 500, lambda http, on, _: http.send("GET", ORDERS, Authorization=f"Bearer {on.machine}")),
    Row("guest purchase", 80, buy, requests=6),
    Row("complete", 160, complete, begin=prepare_purchase, begin_requests=5),
]
