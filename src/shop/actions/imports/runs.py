"""Imports products and prices: compares lines with existing records and writes only the differences."""

from collections.abc import AsyncIterator, Mapping, Sequence
from uuid import UUID

import msgspec

from shop.actions.catalog.products import refresh_products
from shop.actions.context import Context
from shop.actions.event_subjects import (
    OPTION_TYPE,
    OPTION_VALUE,
    PRICE,
    PRICE_LIST_ENTRY,
    PRODUCT,
    PROPERTY,
    STOCK_ITEM,
    VARIANT,
)
from shop.actions.events import Subject, note_change, note_rows
from shop.actions.imports.batch_runner import ImportLine, ImportReport, Outcomes, run_import
from shop.actions.imports.categories import add_categories
from shop.base.errors import Invalid
from shop.base.ids import new_id
from shop.models.catalog.full_products import FullProduct
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
_PARTS = ("classifications", "product_option_types", "product_properties", "variant_option_values")
"""Tables whose rows are parts of a product: their changes are events of the product."""
_SUBJECTS = {
    "products": PRODUCT,
    "variants": VARIANT,
    "prices": PRICE,
    "price_list_entries": PRICE_LIST_ENTRY,
    "stock_items": STOCK_ITEM,
}


async def import_products(
    ctx: Context, lines: AsyncIterator[ImportLine[ProductLine]], *, dry_run: bool
) -> ImportReport:
    return await run_import(ctx, lines, _import_product_batch, "products_imported", dry_run=dry_run)


async def import_prices(ctx: Context, lines: AsyncIterator[ImportLine[PriceLine]], *, dry_run: bool) -> ImportReport:
    return await run_import(ctx, lines, _import_price_batch, "prices_imported", dry_run=dry_run, may_repeat=True)


async def _import_product_batch(ctx: Context, lines: Sequence[ProductLine]) -> Outcomes:
    lines = await add_categories(ctx, lines)
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
    for product in existing.values():
        if product.row.id in changed_ids:
            note_change(ctx, PRODUCT, product.row.id, product.row, has_other_changes=_has_other(product, all_changes))
    await _write(ctx, all_changes)
    if changed_ids:
        await refresh_products(ctx, changed_ids)
    return outcomes


def _has_other(product: FullProduct, changes: Changes) -> bool:
    """Returns whether the categories, options or properties of a product change."""
    variants = (product.master, *product.variants)
    owner_ids = {product.row.id, *(variant.row.id for variant in variants)}
    link_ids = {
        *product.taxons.values(),
        *(link.id for link in product.option_types.values()),
        *(link.id for link in product.properties.values()),
        *(link_id for variant in variants for link_id, _ in variant.options.values()),
    }
    rows = [row for table in _PARTS for row in (*changes.inserts.get(table, ()), *changes.updates.get(table, ()))]
    deleted_ids = {record_id for table in _PARTS for record_id in changes.deletes.get(table, ())}
    return bool(link_ids & deleted_ids) or any(
        row["id"] in link_ids or {row.get("product_id"), row.get("variant_id")} & owner_ids for row in rows
    )


async def _create_missing_names(ctx: Context, lines: Sequence[ProductLine], names: RecordsByName) -> RecordsByName:
    """Creates missing option types, option values and properties; returns the names including the new ones."""
    types, values, properties = missing_names(lines, names)
    if not (types or values or properties):
        return names
    new_types = [{"id": new_id(), "name": name, "presentation": name} for name in types]
    _note_new(ctx, OPTION_TYPE, await bulk.insert_missing(ctx.db, "option_types", new_types))
    new_properties = [{"id": new_id(), "name": name, "presentation": name} for name in properties]
    _note_new(ctx, PROPERTY, await bulk.insert_missing(ctx.db, "properties", new_properties))
    used_names = collect_names(lines)
    if types:
        names = await import_queries.find_names(ctx.db, used_names)
    new_values = [
        {"id": new_id(), "option_type_id": names.option_types[kind], "name": name, "presentation": name}
        for kind, name in values
    ]
    _note_new(ctx, OPTION_VALUE, await bulk.insert_missing(ctx.db, "option_values", new_values))
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
    await _note(ctx, changes)
    for table, ids in changes.deletes.items():
        await bulk.delete_rows(ctx.db, table, ids)
    await bulk.remove_variants(ctx.db, changes.removed_variants)
    for table in _TABLES:
        await bulk.update_rows(ctx.db, table, changes.updates.get(table, ()))
        rows = changes.inserts.get(table, [])
        await bulk.insert_rows(ctx.db, table, sorted(rows, key=_sort_key))
    await bulk.recount(ctx.db, changes.recounts)
    await bulk.insert_rows(ctx.db, "stock_movements", [_movement(ctx, *movement) for movement in changes.moved])


async def _note(ctx: Context, changes: Changes) -> None:
    """Notes what is about to change, for the event log; the caller has locked the products."""
    for table, subject in _SUBJECTS.items():
        await note_rows(ctx, subject, changes.deletes.get(table, ()), is_deleted=True)
        await note_rows(ctx, subject, [row["id"] for row in changes.updates.get(table, ())])
        _note_new(ctx, subject, [row["id"] for row in changes.inserts.get(table, ())])
    await note_rows(ctx, VARIANT, changes.removed_variants, is_deleted=True)
    await note_rows(ctx, STOCK_ITEM, [recount.item_id for recount in changes.recounts])


def _note_new(ctx: Context, subject: Subject, ids: Sequence[UUID]) -> None:
    for record_id in ids:
        note_change(ctx, subject, record_id)


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
