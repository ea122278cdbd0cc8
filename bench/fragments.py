"""The share of a product list that is joined from cached fragments after a change of one product."""

import asyncio
import io
from typing import Any

import asyncpg
import msgspec

from bench.rounds import KEYS
from shop.actions.context import Shared
from shop.app.routes import all_routes
from shop.base.config.settings import read_settings
from shop.base.crypto.keys import parse_keys
from shop.db.pool import open_database
from shop.queries.setup.shop import find_shop
from shop.storefront.product_fragments import Fragment
from shop.web.endpoint import EndpointContext
from shop.web.log import configure_logging
from shop.web.router import Router

_PATH, _QUERY = "/api/v2/storefront/products", b"include=default_variant,images"


def measure_reuse(url: str) -> str:
    """Returns a sentence about the bytes of a list that are used again after the price of one product has changed."""
    return asyncio.run(_measure(url))


async def _measure(url: str) -> str:
    configure_logging("error", "json", io.TextIOWrapper(io.BytesIO()))
    settings = read_settings({"SHOP_DATABASE_URL": url, "SHOP_SECRET_KEYS": KEYS, "SHOP_DATA_DIR": "/proc/none"})
    database = open_database(url, size=2)
    connection = await asyncpg.connect(url)
    try:
        shop = await find_shop(database.session())
        assert shop
        shared = Shared(database, parse_keys(KEYS), shop, settings, asyncio.Event())
        router = Router(EndpointContext(shared), all_routes((), lambda: shared))
        first = msgspec.json.decode(await _get(router))["data"][0]
        before = {id(fragment) for fragment in _fragments(shared)}
        await connection.execute(
            "update prices set amount = amount + 1 where variant_id = $1",
            first["relationships"]["default_variant"]["data"]["id"],
        )
        body = await _get(router)
        used_again = [fragment for fragment in _fragments(shared) if id(fragment) in before]
    finally:
        await connection.close()
        await database.close()
    size = len(body[: body.index(b',"meta":')])
    share = sum(len(part.body) for fragment in used_again for part in (fragment.data, *fragment.included)) / size
    return (
        f"After a change of the price of one product, {share:.1%} of the bytes of a list of {len(before)} products with "
        "it are used again (at least 95 %)."
    )


def _fragments(shared: Shared) -> list[Fragment]:
    return [value for value, _ in shared.fragments._entries.values() if isinstance(value, Fragment)]


async def _get(router: Any) -> bytes:
    """Requests the list from the application itself, whose cache can then be read."""
    parts: list[bytes] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        parts.append(message.get("body", b""))

    scope = {"type": "http", "method": "GET", "path": _PATH, "query_string": _QUERY, "scheme": "http"}
    await router({**scope, "headers": [(b"host", b"127.0.0.1")], "client": ("127.0.0.1", 0)}, receive, send)
    return b"".join(parts)
