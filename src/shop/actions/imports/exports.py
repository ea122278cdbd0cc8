"""Exports all products or prices line by line.

Each batch reads one snapshot (REPEATABLE READ), so that every line is consistent. Batches use separate snapshots: a
single snapshot would stay open, and keep old row versions, for as long as the slowest client reads.
"""

from collections.abc import AsyncGenerator
from uuid import UUID

import msgspec

from shop.actions.context import Context
from shop.queries.catalog import full_products
from shop.queries.imports import runs as import_queries
from shop.rules.imports.exports import price_lines, product_line

BATCH = 100
_encode = msgspec.json.Encoder().encode_lines


async def export_products(ctx: Context) -> AsyncGenerator[bytes]:
    """Yields products as JSON lines, ordered by slug."""
    slug = ""
    while True:
        async with ctx.db.transaction(is_snapshot=True):
            products = await full_products.list_products_after(ctx.db, slug, BATCH)
        if not products:
            return
        slug = products[-1].row.slug
        yield _encode([product_line(product) for product in products])


async def export_prices(ctx: Context) -> AsyncGenerator[bytes]:
    """Yields prices as JSON lines, ordered by variant creation."""
    variant_id = UUID(int=0)
    while True:
        async with ctx.db.transaction(is_snapshot=True):
            batch = await import_queries.list_priced_after(ctx.db, variant_id, BATCH)
        if not batch.variants:
            return
        variant_id = batch.variants[-1].id
        lines = list(price_lines(batch))
        if lines:
            yield _encode(lines)
