"""Bulk import and export of products and prices as NDJSON."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any

from shop.actions.access import oauth
from shop.actions.context import Context
from shop.actions.imports import exports
from shop.actions.imports import runs as import_actions
from shop.actions.imports.batch_runner import ImportLine, ImportReport
from shop.base.errors import Malformed
from shop.base.values import read_boolean
from shop.platform.imports.import_rows import price_line, product_line
from shop.platform.inputs import ImportedPrice, ImportedProduct
from shop.platform.resources.registry import COST_ATTRIBUTES
from shop.rules.imports.rows import ProductLine
from shop.web.endpoint import Handler, Route
from shop.web.input.ndjson import RawLine, read_lines
from shop.web.input.request import LINES, Request
from shop.web.reply import JSON, Reply, json_reply, lines_reply

_BASE = "/api/v2/platform"
_MISSING = "needs a token with the scope {}"
_DRY_RUN = {"dry_run": "`true` reports what would happen without saving."}


async def import_products(request: Request, ctx: Context) -> Reply:
    await oauth.authorize(ctx, "write")
    dry_run = _is_dry(request)

    def read_line(raw: RawLine) -> ImportLine[ProductLine]:
        return _limit_line(ctx, product_line(raw))

    return json_reply(
        await import_actions.import_products(ctx, parse_lines(request.chunks(), read_line), dry_run=dry_run)
    )


async def import_prices(request: Request, ctx: Context) -> Reply:
    await oauth.authorize(ctx, "write")
    dry_run = _is_dry(request)
    return json_reply(
        await import_actions.import_prices(ctx, parse_lines(request.chunks(), price_line), dry_run=dry_run)
    )


async def export_products(_request: Request, ctx: Context) -> Reply:
    await oauth.authorize(ctx, "read")
    oauth.check_reading(ctx, ["costs", "stock"])
    return lines_reply(await _start_stream(exports.export_products(ctx)))


async def export_prices(_request: Request, ctx: Context) -> Reply:
    await oauth.authorize(ctx, "read")
    return lines_reply(await _start_stream(exports.export_prices(ctx)))


def _limit_line(ctx: Context, line: ImportLine[ProductLine]) -> ImportLine[ProductLine]:
    """Refuses a line that sets costs or stock without their permission."""
    errors: dict[str, list[str]] = {}
    for variant in line.value.all_variants if line.value else ():
        costs = COST_ATTRIBUTES & variant.fields.keys()
        if costs and not oauth.can_read(ctx, "costs"):
            errors |= {f"{variant.at}.{name}": [_MISSING.format("costs:read")] for name in sorted(costs)}
        if variant.stock and not oauth.can_write(ctx, "stock"):
            errors[f"{variant.at}.stock"] = [_MISSING.format("stock:write")]
    return ImportLine(line.number, line.size, line.key, None, errors) if errors else line


async def parse_lines(
    chunks: AsyncIterator[bytes], read: Callable[[RawLine], ImportLine[Any]]
) -> AsyncIterator[ImportLine[Any]]:
    async for raw in read_lines(chunks):
        yield read(raw)


async def _start_stream(chunks: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    """Produces the first chunk before the response starts, so that an early failure returns an error status."""
    first = await anext(chunks, b"")

    async def stream() -> AsyncGenerator[bytes]:
        yield first
        async for chunk in chunks:
            yield chunk

    return stream()


def _is_dry(request: Request) -> bool:
    try:
        return read_boolean(request.query.get("dry_run", False))
    except ValueError as error:
        raise Malformed(f"dry_run {error}.") from None


def _import(noun: str, handler: Handler, line: Any) -> Route:
    return Route(
        "POST",
        f"{_BASE}/imports/{noun}",
        handler,
        "application: write",
        f"Import {noun}",
        ImportReport,
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
    return Route("GET", path, handler, may, summary, line, 200, errors, JSON, sends_ndjson=True)


ROUTES = (
    _import("products", import_products, ImportedProduct),
    _import("prices", import_prices, ImportedPrice),
    _export("products", export_products, ImportedProduct),
    _export("prices", export_prices, ImportedPrice),
)
