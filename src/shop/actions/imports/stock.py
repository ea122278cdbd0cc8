"""Imports stock counts by SKU and location; a difference becomes a movement."""

from collections.abc import AsyncIterator, Sequence
from uuid import UUID

from shop.actions.catalog import stock
from shop.actions.catalog.products import defer_refresh
from shop.actions.context import Context
from shop.actions.event_subjects import STOCK_ITEM
from shop.actions.events import note_change
from shop.actions.imports.batch_runner import ImportLine, ImportReport, Outcomes, run_import
from shop.base.errors import Invalid
from shop.models.catalog.inputs import StockItemInput
from shop.models.catalog.products import variants as variants_table
from shop.queries.catalog import product_index, products
from shop.queries.catalog import stock as queries
from shop.queries.catalog_admin import stock as stock_pages
from shop.queries.catalog_admin import variants
from shop.rules.imports.rows import Errors
from shop.rules.imports.stock import StockRow


async def import_stock(ctx: Context, lines: AsyncIterator[ImportLine[StockRow]], *, dry_run: bool) -> ImportReport:
    return await run_import(ctx, lines, _import_stock_batch, "stock_imported", dry_run=dry_run, may_repeat=True)


async def _import_stock_batch(ctx: Context, rows: Sequence[StockRow]) -> Outcomes:
    variant_ids = await variants.find_variants(ctx.db, [row.sku for row in rows])
    location_ids = {location.name: location.id for location in await stock_pages.list_locations(ctx.db)}
    if default := await queries.find_default_location(ctx.db):
        location_ids[""] = default.id
    owners = [
        owner for each in variant_ids.values() for owner in await products.list_owners(ctx.db, variants_table, each)
    ]
    await product_index.lock_products(ctx.db, owners)
    outcomes: Outcomes = []
    async with defer_refresh(ctx):
        for row in rows:
            variant_id, location_id = variant_ids.get(row.sku), location_ids.get(row.location)
            if variant_id is None:
                outcomes.append({"sku": ["does not exist"]})
            elif location_id is None:
                outcomes.append({"location": ["is not a stock location"]})
            else:
                outcomes.append(await _save(ctx, row, variant_id, location_id))
    return outcomes


async def _save(ctx: Context, row: StockRow, variant_id: UUID, location_id: UUID) -> str | Errors:
    values: StockItemInput = {}
    if row.count_on_hand is not None:
        values["count_on_hand"] = row.count_on_hand
    if row.backorderable is not None:
        values["backorderable"] = row.backorderable
    item = await queries.find_item(ctx.db, variant_id, location_id)
    try:
        async with ctx.db.savepoint():
            if item is None:
                key: StockItemInput = {"variant_id": variant_id, "stock_location_id": location_id}
                await stock.create_item(ctx, {**key, **values})
                return "created"
            item = await queries.lock_item(ctx.db, item.id) or item
            if all(getattr(item, name) == value for name, value in values.items()):
                return "unchanged"
            note_change(ctx, STOCK_ITEM, item.id, item)
            await stock.update_item(ctx, item.id, values)
            return "updated"
    except Invalid as error:
        return {name: list(texts) for name, texts in error.errors.items()}
