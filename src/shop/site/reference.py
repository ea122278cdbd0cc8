"""The description of the APIs, made from the routes and the declared wire types."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import msgspec

from shop.actions.context import Context
from shop.base.errors import (
    Conflict,
    Gone,
    InFlight,
    InsufficientScope,
    Invalid,
    InvalidToken,
    KeyReused,
    Malformed,
    NotFound,
    ShopError,
    TooLarge,
    TooMany,
    Unauthenticated,
    Unavailable,
    UnsupportedMedia,
)
from shop.jsonapi.openapi import BODY_MEDIA, Api, Operation, openapi
from shop.jsonapi.query import Resources
from shop.web.endpoint import Handler, Route
from shop.web.reply import JSON, Reply, oauth_error_reply, oauth_word
from shop.web.request import LINES, PARAMETERS, Request


class Door(msgspec.Struct, frozen=True):
    """One API: its routes, and the wire types they show."""

    name: str
    routes: Sequence[Route]
    resources: Resources


CREDENTIALS: Mapping[str, Mapping[str, Any]] = {
    "order_token": {
        "type": "apiKey",
        "in": "header",
        "name": "X-Shop-Order-Token",
        "description": "The key to one cart: `data.attributes.token` of the cart's document.",
    },
    "user_token": {
        "type": "http",
        "scheme": "bearer",
        "description": "The `access_token` of a signed-in shopper.",
    },
    "platform_token": {
        "type": "http",
        "scheme": "bearer",
        "description": "The `access_token` of an application; its scope says whether it may write.",
    },
    "client": {
        "type": "http",
        "scheme": "basic",
        "description": "An application's client id and client secret.",
    },
}
_Choices = Sequence[Mapping[str, Sequence[str]]]
# Who may call, in the words of the tables, and the credentials of which any will do, with the scope each must have.
_SECURITY: Mapping[str, _Choices] = {
    "anyone": (),
    "order token or user": ({"order_token": ()}, {"user_token": ()}),
    "user": ({"user_token": ()},),
    "application": ({"client": ()},),
    "application: read": ({"platform_token": ("read",)},),
    "application: write": ({"platform_token": ("write",)},),
}
# A public address of the storefront reads a credential all the same, and refuses one that is not valid.
_WELCOME: _Choices = ({}, {"order_token": ()}, {"user_token": ()})

_USUAL: Mapping[int, tuple[type[ShopError], ...]] = {
    error.status: (error,)
    for error in (
        Malformed,
        InsufficientScope,
        NotFound,
        Conflict,
        Gone,
        TooLarge,
        UnsupportedMedia,
        Invalid,
        TooMany,
        Unavailable,
    )
}
_TOPICS: Mapping[str, tuple[str, str]] = {
    "/api/v2/storefront/auth": (
        "Signing in",
        "A one-time code by mail instead of a password, traded for an access token and a refresh token.",
    ),
    "/api/v2/storefront/cart": (
        "Cart",
        "A cart is opened by its order token, and by the user who opened or joined it. `associate` replaces the token; "
        "what uses the account of the cart's owner needs the owner's bearer token.",
    ),
    "/api/v2/storefront/account/addresses": ("Addresses", "Where the user lives and has things sent."),
    "/api/v2/storefront/account/orders": ("Orders", "What the user has bought."),
    "/api/v2/storefront/account/sessions": ("Sessions", "Where the user is signed in, and an end to it."),
    "/api/v2/storefront/account": ("Account", "Who the user is."),
    "/api/v2/storefront/products": (
        "Products",
        "What is sold, for everybody to see; with a user's token at the prices that are theirs.",
    ),
    "/api/v2/storefront/taxons": ("Taxons", "The trees that products stand in."),
    "/api/v2/storefront/countries": ("Countries", "Countries and their states, as an address needs them."),
    "/api/v2/storefront/wishlists": (
        "Wishlists",
        "What the user wishes for. A public list can be seen by whoever was shown its token.",
    ),
    "/api/v2/storefront/cms_pages": (
        "Pages and menus",
        "Pages, policies and menus, as the shop's operators wrote them.",
    ),
    "/api/v2/storefront/policies": ("Pages and menus", ""),
    "/api/v2/storefront/menus": ("Pages and menus", ""),
    "/api/v2/storefront/store": ("Store", "The shop itself."),
    "/api/v2/platform/imports": (
        "Import and export",
        "Many products or prices at once, a line of JSON each. What is given out comes back in without a change.",
    ),
    "/api/v2/platform/exports": ("Import and export", ""),
    "/shop_oauth": ("Tokens", "The tokens of applications, in the words of OAuth 2."),
    "/spree_oauth": ("Tokens", ""),
    "/.well-known": ("Tokens", ""),
}
_PARAMETERS = {
    "id": "The record's id.",
    "number": "The order's number.",
    "slug": "The slug of the product, page or policy, or its id. A product is also found by a slug that it once had.",
    "permalink": "The taxon's permalink with its slashes, or its id.",
    "iso": "The country's code of two or three letters in any case, its id, or `default`.",
    "code": "The shop's code, or `default`.",
    "wishlist_token": "The wishlist's token.",
    "item_id": "The wished item's id.",
    "token": "An access token or a refresh token.",
}
_ASKS = {
    "currency": "In which currency prices are, in any case; the shop's own where it does not sell in this one.",
    "q": "Words to look for in names, numbers, tags, taxons, options and descriptions; each must begin one of theirs.",
    "sort_by": "An order by its name: default, manual, name-a-z, name-z-a, newest-first, oldest-first, "
    "price-high-to-low, price-low-to-high, best-selling.",
    "explain": "With `prices`, `meta.prices` says which price list decided, and why.",
    "is_variant_included": "The id of a variant; `variant_included` says whether it stands on the list.",
    "wished_items_ids": "Ids of items with commas between them; or a list of them in the body. Others are passed over.",
    "image_transformation[size]": "The size in which pictures are wanted, like 200x200.",
    "country_iso": "A country by its code of two or three letters; without one, the shop's own.",
}
_ABOUT = (
    "Two APIs of one shop: the storefront for shoppers, the platform for the machines of those who run it. "
    "Documents are JSON:API. Every error has one body with a `code` to decide by. An address that is there answers a "
    "method that it does not have with 405 and `Allow`; one that is too long is 414, headers that are too large 431."
)


def describe(doors: Iterable[Door]) -> dict[str, Any]:
    """The OpenAPI description as plain data."""
    operations: list[Operation] = []
    resources: dict[str, Any] = {}
    tags: dict[str, str] = {}
    for door in doors:
        # Two doors show different things under one name, so here each goes by its door's name too.
        resources |= {_named(door, name): resource for name, resource in door.resources.items()}
        for route in door.routes:
            topic, sentence = _topic(route.path)
            tag = f"{door.name}: {topic}"
            tags.setdefault(tag, sentence)
            operations.append(_operation(route, tag, door))
    return openapi(Api("Shop", "2", _ABOUT, tags, CREDENTIALS, _PARAMETERS), operations, resources)


def _named(door: Door, name: str) -> str:
    return f"{door.name.lower()}_{name}"


def _topic(path: str) -> tuple[str, str]:
    known = next((topic for prefix, topic in _TOPICS.items() if path.startswith(prefix)), None)
    return known or (path.removeprefix("/api/v2/").split("/")[1].replace("_", " ").capitalize(), "")


def _operation(route: Route, tag: str, door: Door) -> Operation:
    is_oauth = route.draw_error is oauth_error_reply
    shows = _named(door, route.shows) if isinstance(route.shows, str) else route.shows
    errors = {
        status: [*(error.code for error in _failures(route, status)), *route.codes.get(status, ())]
        # Any request may meet the limit of its source, or a database that is away.
        for status in dict.fromkeys((*route.errors, 429, 503))
    }
    if isinstance(route.shows, str):
        errors.get(400, []).extend(_misread(route))
    if is_oauth:
        errors = {status: sorted({oauth_word(status, code) for code in codes}) for status, codes in errors.items()}
    return Operation(
        method=route.method,
        # OpenAPI has no word for a rest of the address; clients that know it percent-encode the slashes.
        path=route.path.replace("*}", "}"),
        summary=route.summary,
        tag=tag,
        security=_WELCOME if route.who == "anyone" and route.reads_claim else _SECURITY[route.who],
        takes=route.takes,
        reads=BODY_MEDIA if route.reads is PARAMETERS else route.reads,
        shows=shows,
        status=route.status,
        errors=errors,
        error_body="oauth_error" if is_oauth else "error",
        media=route.media.decode().partition(";")[0],
        shows_lines=route.sends_lines,
        flags=route.flags,
        is_paged=route.is_paged,
        sorts=route.sorts,
        filters=route.filters,
        has_predicates=route.who.startswith("application"),
        asks={name: _ASKS[name] for name in route.asks},
        is_kept=route.is_kept,
        is_idempotent=_is_idempotent(route),
        may_be_empty=route.may_be_empty,
    )


def _is_idempotent(route: Route) -> bool:
    return route.method in {"POST", "PATCH", "PUT"} and route.reads_claim and route.reads is not LINES


def _failures(route: Route, status: int) -> Iterable[type[ShopError]]:
    """The errors that a status of this route can stand for."""
    own = [error for error in route.fails if error.status == status]
    if status == 401 and not own:
        return [InvalidToken] if route.who == "anyone" else [Unauthenticated, InvalidToken]
    if not _is_idempotent(route):
        return own or _USUAL[status]
    if status == 409:
        return [*own, InFlight]
    return [*(own or _USUAL[status]), *([KeyReused] if status == 422 else [])]


def _misread(route: Route) -> Iterable[str]:
    yield "unknown_include"
    if route.shows.endswith("[]") and route.is_paged:
        yield from ("bad_page", "unknown_sort", "unknown_filter")
    elif route.is_kept:
        # The catalog refuses filters that it does not know on single records too.
        yield "unknown_filter"
    if route.filters:
        yield "bad_filter"


def description(doors: Iterable[Door]) -> Handler:
    """Worked out for whoever asks first: no start waits for it, nor any other request."""

    @cache
    def reply() -> Reply:
        body = msgspec.json.encode(describe(doors))
        return Reply(200, body, ((b"content-type", JSON), (b"cache-control", b"no-cache")))

    async def answer(_request: Request, _ctx: Context) -> Reply:
        return await asyncio.to_thread(reply)

    return answer
