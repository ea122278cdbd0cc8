"""Exports products and stock as CSV files, batch by batch."""

from collections.abc import AsyncGenerator
from uuid import UUID

from shop.actions.context import Context
from shop.actions.imports.exports import BATCH
from shop.base.csv_cells import csv_line
from shop.queries.catalog import full_products
from shop.queries.imports.csv_exports import list_stock_after
from shop.rules.imports.csv_columns import COST_COLUMNS, STOCK_COLUMNS, product_columns
from shop.rules.imports.csv_exports import product_rows


async def export_products(ctx: Context, *, with_costs: bool = True) -> AsyncGenerator[bytes]:
    """Yields products in our columns, ordered by slug."""
    shop = ctx.shared.shop
    columns = [name for name in product_columns(shop.currencies) if with_costs or name not in COST_COLUMNS]
    yield csv_line(columns).encode()
    slug = ""
    while True:
        async with ctx.db.transaction(is_snapshot=True):
            products = await full_products.list_products_after(ctx.db, slug, BATCH)
        if not products:
            return
        slug = products[-1].row.slug
        yield "".join(csv_line(row) for product in products for row in product_rows(product, shop, columns)).encode()


async def export_stock(ctx: Context) -> AsyncGenerator[bytes]:
    """Yields the stock of variants that have a SKU."""
    yield csv_line(STOCK_COLUMNS).encode()
    item_id = UUID(int=0)
    while True:
        rows = await list_stock_after(ctx.db, item_id, BATCH)
        if not rows:
            return
        item_id = rows[-1].id
        lines = [(row.sku, row.location, row.count_on_hand, str(row.backorderable).lower()) for row in rows]
        yield "".join(map(csv_line, lines)).encode()
