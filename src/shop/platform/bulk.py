"""The addresses where many products or prices come in and go out at once, a line of JSON each."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any

from shop.actions.access import oauth
from shop.actions.context import Context
from shop.actions.imports import exports
from shop.actions.imports import runs as imports
from shop.actions.imports.batch_runner import Imported, Line
from shop.base.errors import Malformed
from shop.platform.inputs import ImportedPrice, ImportedProduct
from shop.platform.lines import price_line, product_line
from shop.web.endpoint import Handler, Route
from shop.web.lines import RawLine, read_lines
from shop.web.reply import JSON, Reply, json_reply, lines_reply
from shop.web.request import LINES, Request

_BASE = "/api/v2/platform"
_FLAGS = {"true": True, "1": True, "false": False, "0": False}
_DRY_RUN = {"dry_run": "`true` for what would come of it, with nothing kept."}


async def import_products(request: Request, ctx: Context) -> Reply:
    await oauth.admit(ctx, "write")
    dry_run = _is_dry(request)
    return json_reply(await imports.import_products(ctx, lines_of(request.chunks(), product_line), dry_run=dry_run))


async def import_prices(request: Request, ctx: Context) -> Reply:
    await oauth.admit(ctx, "write")
    dry_run = _is_dry(request)
    return json_reply(await imports.import_prices(ctx, lines_of(request.chunks(), price_line), dry_run=dry_run))


async def export_products(_request: Request, ctx: Context) -> Reply:
    await oauth.admit(ctx, "read")
    return lines_reply(await _begun(exports.export_products(ctx)))


async def export_prices(_request: Request, ctx: Context) -> Reply:
    await oauth.admit(ctx, "read")
    return lines_reply(await _begun(exports.export_prices(ctx)))


async def lines_of(chunks: AsyncIterator[bytes], read: Callable[[RawLine], Line[Any]]) -> AsyncIterator[Line[Any]]:
    async for raw in read_lines(chunks):
        yield read(raw)


async def _begun(chunks: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    """With its first chunk made: what fails at once is still an error with a status, and no answer that breaks off."""
    first = await anext(chunks, b"")

    async def all_of_it() -> AsyncGenerator[bytes]:
        yield first
        async for chunk in chunks:
            yield chunk

    return all_of_it()


def _is_dry(request: Request) -> bool:
    said = request.query.get("dry_run", "false")
    if said not in _FLAGS:
        raise Malformed("Say dry_run as true or false.")
    return _FLAGS[said]


def _import(noun: str, handler: Handler, line: Any) -> Route:
    return Route(
        "POST",
        f"{_BASE}/imports/{noun}",
        handler,
        "application: write",
        f"Import {noun}",
        Imported,
        200,
        (400, 401, 403, 415),
        JSON,
        takes=line,
        reads=LINES,
        flags=_DRY_RUN,
    )


def _export(noun: str, handler: Handler, line: Any) -> Route:
    path, summary = f"{_BASE}/exports/{noun}", f"Export all {noun}"
    may, errors = "application: read", (400, 401, 403)
    return Route("GET", path, handler, may, summary, line, 200, errors, JSON, sends_lines=True)


ROUTES = (
    _import("products", import_products, ImportedProduct),
    _import("prices", import_prices, ImportedPrice),
    _export("products", export_products, ImportedProduct),
    _export("prices", export_prices, ImportedPrice),
)
