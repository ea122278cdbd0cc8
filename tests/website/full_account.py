"""A signed-in shopper who has one of everything that the website can show or change, and paths to all of it."""

import re
import time
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import httpx2
import msgspec

from shop.base.crypto.keys import parse_keys
from shop.cli.routes import every_route
from shop.rules.orders.links import sign_link
from shop.web.endpoint import Route
from tests.accounts import Member, sign_in
from tests.checkout_builders import ADDRESS, CheckoutSetup, SignedInBuyer
from tests.service import KEYS
from tests.website.visitor import ORDER
from tests.website.web_buyer import WebBuyer, address_fields, signed_in_buyer

ROUTES = [route for route in every_route() if route.who == "shopper"]
"""Every route of the website."""
PAGES = [route for route in ROUTES if route.method == "GET"]
FORMS = [route for route in ROUTES if route.method == "POST"]
PUBLIC_PREFIXES = ("/t/", "/search", "/suggest", "/products/", "/pages/", "/policies/")
"""The public pages but the home page."""
FILES = {"/website/{name}", "/robots.txt", "/favicon.svg", "/manifest.webmanifest"}
LINKS = {"/order-status/{token}", "/order-payment/{token}"}
"""Pages whose address contains a token."""
STREAMS = {"/sitemap.xml", "/sitemaps/{name}", "/feeds/google.xml"}
_PARAM = re.compile(r"\{(\w+)\*?\}", re.ASCII)
_ROWS = """
select t::text from users t where id = $1 union all
select t::text from orders t where user_id = $1 union all
select t::text from line_items t where order_id in (select id from orders where user_id = $1) union all
select t::text from payments t where order_id in (select id from orders where user_id = $1) union all
select t::text from payment_sources t where user_id = $1 union all
select t::text from addresses t where user_id = $1 union all
select t::text from sessions t where user_id = $1 union all
select t::text from wishlists t where user_id = $1 union all
select t::text from wished_items t where wishlist_id in (select id from wishlists where user_id = $1)
order by 1"""

_IDS = {
    "line": "select l.id from line_items l join orders o on o.id = l.order_id"
    " where o.user_id = $1 and o.completed_at is null",
    "card": "select id from payment_sources where user_id = $1 limit 1",
    "session": "select id from sessions where user_id = $1 order by created_at desc limit 1",
    "wishlist": "select token from wishlists where user_id = $1",
    "item": "select i.id from wished_items i join wishlists w on w.id = i.wishlist_id where w.user_id = $1",
}


def is_public(route: Route) -> bool:
    """Whether the page depends only on its URL and the catalog."""
    return route.path == "/" or route.path.startswith(PUBLIC_PREFIXES)


def is_personal(route: Route) -> bool:
    return not is_public(route) and route.path not in FILES | STREAMS


def fill_path(path: str, values: Mapping[str, str]) -> str:
    """Returns the path with these values, by the names of its parameters."""
    return _PARAM.sub(lambda match: values[match[1]], path)


class FullAccount(msgspec.Struct, frozen=True):
    """A signed-in shopper with a cart, an order, an address, a wishlist, a card and a second session."""

    buyer: WebBuyer
    member: Member
    user_id: Any
    values: Mapping[str, Mapping[str, str]]
    """The parameters of paths, by the beginning of the path."""
    fields: Mapping[str, str]
    """What every form needs to change something."""

    def path(self, route: Route) -> str:
        """Returns the path of the route to something that the shopper has."""
        values = next((each for start, each in self.values.items() if route.path.startswith(start)), {})
        return fill_path(route.path, values)

    async def rows(self, db: Any) -> list[str]:
        """Everything in the database that belongs to the shopper."""
        return [row[0] for row in await db.fetch(_ROWS, self.user_id)]


async def payment_token(db: Any, number: str, *, seconds: int = 3600) -> str:
    """The token of a payment link to an order."""
    order_id = await db.fetchval("select id from orders where number = $1", number)
    return sign_link(parse_keys(KEYS), "payment", order_id, int(time.time()) + seconds)


async def new_full_account(http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any) -> FullAccount:
    member = await sign_in(http)
    product = await checkout_setup.product(name="Lantern", on_hand=50)
    buyer = signed_in_buyer(member, checkout_setup)
    await SignedInBuyer(http, checkout_setup, member).buy(product, "approve")
    number = await buyer.buy(product)
    address = await member.post("/account/addresses", address=ADDRESS)
    await sign_in(http, member.email)
    await buyer.post("/account/wishlists/items", {"variant_id": product.variant_id})
    review = await buyer.go_to_review(product)
    user_id = await member.id()
    ids = {name: str(await db.fetchval(statement, user_id)) for name, statement in _IDS.items()}
    pay = review.form("complete_order")
    return FullAccount(
        buyer,
        member,
        user_id,
        {
            "/cart/items": {"id": ids["line"]},
            "/orders": {"number": number},
            "/order-status": {"token": buyer.cookies[ORDER]},
            "/order-payment": {"token": await payment_token(db, number)},
            "/account/addresses": {"id": address.id},
            "/account/wishlists": {"token": ids["wishlist"], "id": ids["item"]},
            "/wishlists": {"token": ids["wishlist"]},
            "/account/cards": {"id": ids["card"]},
            "/account/sessions": {"id": ids["session"]},
            "/products": {"slug": product.slug},
            **await _catalog_values(checkout_setup),
        },
        {
            **dict(pay.fields),
            **ADDRESS,
            **address_fields(),
            "email": member.email,
            "variant_id": product.variant_id,
            "quantity": "3",
            "coupon_code": "SAVE",
            "name": "Birthday",
            "is_private": "false",
            "use": "billing",
            "first_name": "Mallory",
            "bill_same": "1",
            "method": f"method:{checkout_setup.check}",
            "code": "000000",
        },
    )


async def _catalog_values(checkout_setup: CheckoutSetup) -> dict[str, dict[str, str]]:
    make = checkout_setup.make
    _, root = await make.taxonomy()
    taxon = await make.machine.get(f"/taxons/{root}")
    page = await make.new("cms_pages", "cms_page", title=f"About {uuid4().hex}", content="<p>Us</p>")
    policy = await make.new("policies", "policy", name=f"Returns {uuid4().hex}", body="Send it back.")
    return {
        "/t/": {"permalink": taxon["permalink"]},
        "/pages": {"slug": page["slug"]},
        "/policies": {"slug": policy["slug"]},
        "/sitemaps": {"name": "products.xml"},
        "/website": {"name": "none.css"},
    }
