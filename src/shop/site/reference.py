"""The description of the APIs, made from the routes and the declared wire types."""

from collections.abc import Iterable
from typing import Any

import msgspec

from shop.actions.context import Context
from shop.jsonapi.openapi import Operation, openapi
from shop.jsonapi.query import Resources
from shop.web.endpoint import Handler, Route
from shop.web.reply import JSON, Reply
from shop.web.request import Request

_SECURITY = {
    "anyone": (),
    "order token or user": ("order_token", "user_token"),
    "user": ("user_token",),
}


def describe(routes: Iterable[Route], resources: Resources) -> dict[str, Any]:
    """The OpenAPI description as plain data."""
    operations = [
        Operation(
            route.method,
            # OpenAPI has no word for a rest of the address; clients that know it percent-encode the slashes.
            route.path.replace("*}", "}"),
            route.summary,
            _SECURITY[route.who],
            route.status,
            route.shows,
            route.errors,
            route.media.decode().partition(";")[0],
            route.method in {"POST", "PATCH"} and route.reads_claim,
        )
        for route in routes
    ]
    return openapi("Shop", "2", operations, resources)


def description(routes: Iterable[Route], resources: Resources) -> Handler:
    body = msgspec.json.encode(describe(routes, resources))
    reply = Reply(200, body, ((b"content-type", JSON), (b"cache-control", b"no-cache")))

    async def answer(_request: Request, _ctx: Context) -> Reply:
        return reply

    return answer
