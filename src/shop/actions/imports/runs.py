"""Imports products and prices: compares lines with existing records and writes only the differences."""

from collections.abc import AsyncIterator, Mapping, Sequence
from uuid import UUID

import msgspec

from shop.actions.catalog.products import refresh_products
from shop.actions.context import Context
from shop.actions.imports.batch_runner import ImportLine, ImportReport, Outcomes, run_import
from shop.base.errors import Invalid
from shop.base.ids import new_id
from shop.queries import bulk
from shop.queries.catalog import full_products
from shop.queries.imports import runs as import_queries
from shop.rules.imports.errors import line_errors
from shop.rules.imports.prices import PriceBook, PriceLine
from shop.rules.imports.products import build_changes
from shop.rules.imports.rows import Changes, ProductLine, RecordsByName, collect_names, missing_names

# Ordered so that referenced rows are written first.
_TABLES = (
    "products",
    "variants",
    "product_option_types",
    "product_properties",
    "classifications",
    "variant_option_values",
    "prices",
    "price_list_entries",
    "stock_items",
)


async def import_products(
    ctx: Context, lines: AsyncIterator[ImportLine[ProductLine]], *, dry_run: bool
) -> ImportReport:
    return await run_import(ctx, lines, _import_product_batch, "products_imported", dry_run=dry_run)


async def import_prices(ctx: Context, lines: AsyncIterator[ImportLine[PriceLine]], *, dry_run: bool) -> ImportReport:
    return await run_import(ctx, lines, _import_price_batch, "prices_imported", dry_run=dry_run, may_repeat=True)


async def _import_product_batch(ctx: Context, lines: Sequence[ProductLine]) -> Outcomes:
    # Read names first: otherwise, if another import creates the product in between, its SKU would seem to belong to a
    # different product.
    names = await import_queries.find_names(ctx.db, collect_names(lines))
    existing = {
        product.row.slug: product
        for product in await full_products.lock_products(ctx.db, [line.slug for line in lines])
    }
    outcomes: Outcomes = []
    good: list[ProductLine] = []
    for line in lines:
        errors = line_errors(line, existing.get(line.slug), names)
        outcomes.append(errors or "good")
        good += [] if errors else [line]
    names = await _create_missing_names(ctx, good, names)
    all_changes, changed_ids = Changes(), []
    for index, line in enumerate(lines):
        if outcomes[index] == "good":
            product = existing.get(line.slug)
            changes = build_changes(line, product, names, new_id)
            outcomes[index] = ("updated" if product else "created") if changes else "unchanged"
            if changes:
                changed_ids.append(product.row.id if product else changes.inserts["products"][0]["id"])
                all_changes.add(changes)
    await import_queries.free_slugs(ctx.db, [row["slug"] for row in all_changes.inserts.get("products", ())])
    await _write(ctx, all_changes)
    if changed_ids:
        await refresh_products(ctx, changed_ids)
    return outcomes


async def _create_missing_names(ctx: Context, lines: Sequence[ProductLine], names: RecordsByName) -> RecordsByName:
    """Creates missing option types, option values and properties; returns the names including the new ones."""
    types, values, properties = missing_names(lines, names)
    if not (types or values or properties):
        return names
    new_types = [{"id": new_id(), "name": name, "presentation": name} for name in types]
    await bulk.insert_missing(ctx.db, "option_types", new_types)
    new_properties = [{"id": new_id(), "name": name, "presentation": name} for name in properties]
    await bulk.insert_missing(ctx.db, "properties", new_properties)
    used_names = collect_names(lines)
    if types:
        names = await import_queries.find_names(ctx.db, used_names)
    new_values = [
        {"id": new_id(), "option_type_id": names.option_types[kind], "name": name, "presentation": name}
        for kind, name in values
    ]
    await bulk.insert_missing(ctx.db, "option_values", new_values)
    all_names = await import_queries.find_names(ctx.db, used_names)
    return msgspec.structs.replace(
        all_names,
        skus=names.skus,
        taxons=names.taxons,
        locations=names.locations,
        tax_categories=names.tax_categories,
        shipping_categories=names.shipping_categories,
    )


async def _import_price_batch(ctx: Context, lines: Sequence[PriceLine]) -> Outcomes:
    price_data = await import_queries.lock_priced(
        ctx.db,
        {line.sku for line in lines if line.sku},
        {line.variant_id for line in lines if line.variant_id},
        {line.price_list for line in lines if line.price_list},
    )
    book = PriceBook(price_data)
    outcomes: Outcomes = []
    for line in lines:
        try:
            outcomes.append(book.apply(line))
        except Invalid as error:
            outcomes.append({name: list(sentences) for name, sentences in error.errors.items()})
    await _write(ctx, book.changes(new_id))
    product_ids = book.touched_products()
    if product_ids:
        await refresh_products(ctx, product_ids)
    return outcomes


async def _write(ctx: Context, changes: Changes) -> None:
    for table, ids in changes.deletes.items():
        await bulk.delete_rows(ctx.db, table, ids)
    await bulk.remove_variants(ctx.db, changes.removed_variants)
    for table in _TABLES:
        await bulk.update_rows(ctx.db, table, changes.updates.get(table, ()))
        rows = changes.inserts.get(table, [])
        await bulk.insert_rows(ctx.db, table, sorted(rows, key=_sort_key))
    await bulk.recount(ctx.db, changes.recounts)
    await bulk.insert_rows(ctx.db, "stock_movements", [_movement(ctx, *movement) for movement in changes.moved])


def _sort_key(row: Mapping[str, object]) -> str:
    """Sorts new rows, so that concurrent imports insert in the same order and cannot deadlock."""
    return str(row.get("slug") or row.get("sku") or "")


def _movement(ctx: Context, item_id: UUID, quantity: int, reason: str) -> dict[str, object]:
    return {
        "id": new_id(),
        "stock_item_id": item_id,
        "quantity": quantity,
        "reason": reason,
        "actor_kind": ctx.actor.kind,
        "actor_id": ctx.actor.id,
    }
