"""How all products or prices are given out: line by line, each batch as of one moment.

A batch is read in one snapshot (REPEATABLE READ), so that every line is true in itself. Between batches the shop goes
on: one snapshot for the whole would be kept open, and old rows with it, as long as the slowest reader takes.
"""

from collections.abc import AsyncGenerator
from uuid import UUID

import msgspec

from shop.actions.context import Context
from shop.queries.catalog import full_products
from shop.queries.imports import runs as imports
from shop.rules.imports.exports import price_lines, product_line

BATCH = 100
_encode = msgspec.json.Encoder().encode_lines


async def export_products(ctx: Context) -> AsyncGenerator[bytes]:
    """In the order of their slugs."""
    slug = ""
    while True:
        async with ctx.db.transaction(is_snapshot=True):
            found = await full_products.list_products_after(ctx.db, slug, BATCH)
        if not found:
            return
        slug = found[-1].row.slug
        yield _encode([product_line(product) for product in found])


async def export_prices(ctx: Context) -> AsyncGenerator[bytes]:
    """In the order in which the variants were made."""
    variant_id = UUID(int=0)
    while True:
        async with ctx.db.transaction(is_snapshot=True):
            found = await imports.list_priced_after(ctx.db, variant_id, BATCH)
        if not found.variants:
            return
        variant_id = found.variants[-1].id
        lines = list(price_lines(found))
        if lines:
            yield _encode(lines)
