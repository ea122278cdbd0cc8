"""Saves edits of cells: of many products at once, in a few statements, with the events of each record."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from shop.actions.catalog.products import refresh_products
from shop.actions.context import Context
from shop.actions.event_subjects import PRICE, PRODUCT, STOCK_ITEM, VARIANT
from shop.actions.events import note_change, note_rows
from shop.base.errors import TransactionConflict
from shop.base.ids import new_id
from shop.db.pool import ConstraintViolation
from shop.models.catalog_bulk.cells import CellEdit, CellProblem, EditResult, ProductCells
from shop.queries import bulk, snapshots
from shop.queries.catalog import product_index, products
from shop.queries.catalog_admin import variants as variant_queries
from shop.queries.catalog_bulk import cells as queries
from shop.rules.catalog_bulk.cells import (
    CellWrites,
    build_writes,
    check_edit,
    find_problems,
    list_recounts,
    parse_column,
)

_IN_USE = {"unique", "reference"}


async def save_edits(ctx: Context, edits: Sequence[CellEdit]) -> EditResult:
    """Saves edits in one transaction. A row, which is a product or a variant, is saved as a whole or not at all."""
    async with ctx.db.transaction():
        return await apply_edits(ctx, edits)


async def apply_edits(ctx: Context, edits: Sequence[CellEdit], *, by_row: bool = True) -> EditResult:
    """Saves edits in the caller's transaction: by row, or each of its own."""
    columns = [parse_column(edit.column) for edit in edits]
    taxon_ids = sorted({UUID(column.argument) for column in columns if column and column.name == "taxon"})
    await products.lock_taxonomies_of(ctx.db, taxon_ids)
    product_ids = await queries.list_product_ids(ctx.db, [edit.owner_id for edit in edits])
    await product_index.lock_products(ctx.db, product_ids)
    currency = ctx.shared.shop.currencies[0]
    cells = await queries.load_cells(ctx.db, product_ids, currency, with_taxons=bool(taxon_ids))
    valid, problems = await _check_edits(ctx, cells, edits, taxon_ids, by_row=by_row)
    if valid:
        try:
            await _write(ctx, cells, build_writes(cells, valid))
        except ConstraintViolation as error:
            if error.why in _IN_USE:
                # Someone took the SKU or deleted the category meanwhile; the retry finds out.
                raise TransactionConflict() from error
            raise
        owner_products = {variant.id: variant.product_id for variant in cells.variants.values()}
        await refresh_products(ctx, {owner_products.get(edit.owner_id, edit.owner_id) for edit in valid})
    return EditResult(valid, problems)


async def _check_edits(
    ctx: Context, cells: ProductCells, edits: Sequence[CellEdit], taxon_ids: Sequence[UUID], *, by_row: bool
) -> tuple[list[CellEdit], list[CellProblem]]:
    """Returns the edits to save, and the problems of all others."""
    checks = [check_edit(cells, edit) for edit in edits]
    problems = [check for check in checks if isinstance(check, CellProblem)]
    valid = _without(problems, [check for check in checks if isinstance(check, CellEdit)], by_row=by_row)
    skus = [edit.after for edit in valid if edit.column == "sku" and edit.after]
    known_ids = await queries.list_known_ids(ctx.db, taxon_ids)
    sku_owners = await variant_queries.find_variants(ctx.db, skus)
    more_problems = find_problems(cells, valid, sku_owners, known_ids)
    return _without(more_problems, valid, by_row=by_row), [*problems, *more_problems]


def _without(problems: Sequence[CellProblem], edits: Sequence[CellEdit], *, by_row: bool) -> list[CellEdit]:
    """Returns the edits without those of rows that have a problem, or without those that have one themselves."""
    keys = {(problem.edit.owner_id, "" if by_row else problem.edit.column) for problem in problems}
    return [edit for edit in edits if (edit.owner_id, "" if by_row else edit.column) not in keys]


async def _write(ctx: Context, cells: ProductCells, writes: CellWrites) -> None:
    await _note_products(ctx, writes)
    await bulk.update_rows(ctx.db, "products", list(writes.products.values()))
    await _write_taxons(ctx, cells, writes.taxons)
    await note_rows(ctx, VARIANT, list(writes.variants))
    await bulk.update_rows(ctx.db, "variants", list(writes.variants.values()))
    await _write_prices(ctx, cells, writes)
    await _write_counts(ctx, cells, writes.counts)


async def _note_products(ctx: Context, writes: CellWrites) -> None:
    moved_ids = {product_id for product_id, _ in writes.taxons}
    ids = sorted({*writes.products, *moved_ids})
    for snapshot in await snapshots.list_snapshots(ctx.db, {PRODUCT.records: ids}) if ids else []:
        record_id = snapshot.row.id
        note_change(ctx, PRODUCT, record_id, snapshot.row, has_other_changes=record_id in moved_ids)


async def _write_taxons(ctx: Context, cells: ProductCells, taxons: Mapping[tuple[UUID, UUID], bool]) -> None:
    links = cells.classification_ids
    deleted_ids = [links[key] for key, is_in in taxons.items() if not is_in and key in links]
    rows = [
        {"id": new_id(), "product_id": product_id, "taxon_id": taxon_id, "position": 0}
        for (product_id, taxon_id), is_in in taxons.items()
        if is_in and (product_id, taxon_id) not in links
    ]
    await bulk.delete_rows(ctx.db, "classifications", deleted_ids)
    await bulk.insert_rows(ctx.db, "classifications", rows)


async def _write_prices(ctx: Context, cells: ProductCells, writes: CellWrites) -> None:
    deleted_ids: list[UUID] = []
    updates: list[dict[str, Any]] = []
    inserts: list[dict[str, Any]] = []
    for (variant_id, currency), amounts in sorted(writes.prices.items()):
        price = cells.prices.get((variant_id, currency))
        if amounts["amount"] is None:
            deleted_ids += [price.id] if price else []
        elif price:
            updates.append({"id": price.id, **amounts})
        else:
            inserts.append({"id": new_id(), "variant_id": variant_id, "currency": currency, **amounts})
    await note_rows(ctx, PRICE, deleted_ids, is_deleted=True)
    await note_rows(ctx, PRICE, [row["id"] for row in updates])
    for row in inserts:
        note_change(ctx, PRICE, row["id"])
    await bulk.delete_rows(ctx.db, "prices", deleted_ids)
    await bulk.update_rows(ctx.db, "prices", updates)
    await bulk.insert_rows(ctx.db, "prices", inserts)


async def _write_counts(ctx: Context, cells: ProductCells, counts: Mapping[tuple[UUID, UUID], int]) -> None:
    recounts = sorted(list_recounts(cells, counts), key=lambda recount: recount.item_id)
    await note_rows(ctx, STOCK_ITEM, [recount.item_id for recount in recounts])
    await bulk.recount(ctx.db, recounts)
    quantities = [(recount.item_id, recount.after - recount.before, "recounted") for recount in recounts]
    new_counts = {key: count for key, count in sorted(counts.items()) if key not in cells.stock_items}
    if new_counts:
        quantities += await _insert_items(ctx, new_counts)
    movements = [
        {
            "id": new_id(),
            "stock_item_id": item_id,
            "quantity": quantity,
            "reason": reason,
            "actor_kind": ctx.actor.kind,
            "actor_id": ctx.actor.id,
        }
        for item_id, quantity, reason in quantities
        if quantity
    ]
    await bulk.insert_rows(ctx.db, "stock_movements", movements)


async def _insert_items(ctx: Context, counts: Mapping[tuple[UUID, UUID], int]) -> list[tuple[UUID, int, str]]:
    """Inserts stock items; returns the quantity of the first movement of each."""
    defaults = {location.id: location.backorderable_default for location in await queries.list_locations(ctx.db)}
    rows: list[dict[str, Any]] = [
        {
            "id": new_id(),
            "variant_id": variant_id,
            "stock_location_id": location_id,
            "count_on_hand": count,
            "backorderable": defaults[location_id],
        }
        for (variant_id, location_id), count in counts.items()
    ]
    for row in rows:
        note_change(ctx, STOCK_ITEM, row["id"])
    await bulk.insert_rows(ctx.db, "stock_items", rows)
    return [(row["id"], row["count_on_hand"], "received") for row in rows]
