"""Bulk operations on products: the worker changes them in small transactions, and can undo them for a day.

A transaction saves the changes together with the position of the batch, so that after a crash the next process goes on
where the last one stopped.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import msgspec

from shop.actions.audit import audit
from shop.actions.catalog_bulk.cells import apply_edits
from shop.actions.context import Context, Shared
from shop.base.actor import Actor
from shop.base.errors import Conflict, NotFound
from shop.base.ids import new_id
from shop.models.catalog_bulk.batches import ProductBatch
from shop.models.catalog_bulk.cells import CellEdit, ProductCells
from shop.queries.catalog_admin.products import ProductFilter
from shop.queries.catalog_bulk import batches as queries
from shop.queries.catalog_bulk import cells as cell_queries
from shop.queries.catalog_bulk.batches import ListedBatch
from shop.queries.writes import lock_form
from shop.rules.catalog_bulk.operations import BulkOperation, list_edits

BATCH_PRODUCTS = 100
BATCH_EDITS = 300
MAX_PRODUCTS = 10_000_000
PREVIEW_PRODUCTS = 50
_NO_UNDO = "This batch can no longer be undone: it was undone already, or it is older than a day."


class BatchSelection(msgspec.Struct, frozen=True):
    """The products of a batch: the ticked ones, or all of a filtered list."""

    product_ids: Sequence[UUID] = ()
    product_filter: ProductFilter = ProductFilter()


class BatchPreview(msgspec.Struct, frozen=True):
    """The number of products of a batch, and the edits of the first ones with their current values."""

    product_count: int
    edits: Sequence[CellEdit]
    cells: ProductCells


async def count_selection(ctx: Context, selection: BatchSelection) -> int:
    if selection.product_ids:
        return len(await cell_queries.list_product_ids(ctx.db, selection.product_ids))
    return await queries.count_products(ctx.db, selection.product_filter, most=MAX_PRODUCTS)


async def preview_batch(ctx: Context, selection: BatchSelection, operation: BulkOperation) -> BatchPreview:
    """Returns what an operation would change in the first products; changes nothing."""
    ids = await _list_ids(ctx, selection, None, most=PREVIEW_PRODUCTS)
    cells = await _load_cells(ctx, ids, operation)
    return BatchPreview(await count_selection(ctx, selection), list_edits(cells, ids, operation), cells)


async def start_batch(
    ctx: Context, batch_id: UUID, selection: BatchSelection, operation: BulkOperation, label: str
) -> None:
    """Stores a batch for the worker; the same batch again changes nothing."""
    product_filter = selection.product_filter
    async with ctx.db.transaction():
        await lock_form(ctx.db, batch_id)
        if await queries.find_batch(ctx.db, batch_id):
            return
        count = await count_selection(ctx, selection)
        await queries.insert_batch(
            ctx.db,
            batch_id,
            operator_id=ctx.actor.id,
            label=label,
            operation=msgspec.to_builtins(operation),
            product_ids=sorted(set(selection.product_ids)),
            query=product_filter.query,
            status=product_filter.status,
            stock=product_filter.stock,
            product_count=count,
        )
        detail = {"label": label, "product_count": count}
        await audit(ctx, "product_batch_created", "done", subject_id=batch_id, detail=detail)
        ctx.wake("batches")


async def get_batch(ctx: Context, batch_id: UUID) -> ListedBatch:
    batch = await queries.find_batch(ctx.db, batch_id)
    if batch is None:
        raise NotFound()
    return batch


async def undo_batch(ctx: Context, batch_id: UUID) -> None:
    """Starts to undo a batch that is done; the worker restores the values that nobody changed since."""
    async with ctx.db.transaction():
        if not await queries.start_undo(ctx.db, batch_id):
            raise Conflict(_NO_UNDO)
        await audit(ctx, "product_batch_undone", "done", subject_id=batch_id)
        ctx.wake("batches")


async def run_next_batch(shared: Shared) -> bool:
    """Changes the next products of the oldest batch; returns whether there was anything to do."""
    ctx = Context(shared)
    # The batch has one audit event, as an import has.
    ctx.audits_each_record = False
    return await ctx.db.retrying(_run_step, ctx)


async def _run_step(ctx: Context) -> bool:
    async with ctx.db.transaction():
        batch = await queries.lock_next_batch(ctx.db)
        if batch is None:
            return False
        ctx.actor = Actor("operator", batch.operator_id)
        await (_change_products(ctx, batch) if batch.state == "running" else _restore_values(ctx, batch))
    return True


async def _change_products(ctx: Context, batch: ProductBatch) -> None:
    operation = msgspec.convert(batch.operation, BulkOperation)
    product_filter = ProductFilter(query=batch.query, status=batch.status, stock=batch.stock)
    ids = await _list_ids(ctx, BatchSelection(batch.product_ids, product_filter), batch, most=BATCH_PRODUCTS)
    if not ids:
        await queries.finish_batch(ctx.db, batch.id, "done")
        return
    cells = await _load_cells(ctx, ids, operation)
    result = await apply_edits(ctx, list_edits(cells, ids, operation), by_row=False)
    await queries.insert_edits(ctx.db, [_edit_row(batch, edit) for edit in result.changes])
    await queries.update_batch(
        ctx.db,
        batch.id,
        position=ids[-1],
        done_count=batch.done_count + len(ids),
        change_count=batch.change_count + len(result.changes),
        problem_count=batch.problem_count + len(result.problems),
    )


async def _restore_values(ctx: Context, batch: ProductBatch) -> None:
    rows = await queries.list_edits(ctx.db, batch.id, most=BATCH_EDITS)
    if not rows:
        await queries.finish_batch(ctx.db, batch.id, "undone")
        return
    edits = [CellEdit(row.owner_id, row.cell, row.after, row.before) for row in rows]
    result = await apply_edits(ctx, edits, by_row=False)
    await queries.delete_edits(ctx.db, [row.id for row in rows])
    await queries.update_batch(
        ctx.db,
        batch.id,
        undone_count=batch.undone_count + len(result.changes),
        skipped_count=batch.skipped_count + len(rows) - len(result.changes),
    )


async def _list_ids(ctx: Context, selection: BatchSelection, batch: ProductBatch | None, *, most: int) -> list[UUID]:
    """Returns the next products of a selection, in the order of their ids."""
    position = batch.position if batch else None
    if selection.product_ids:
        ids = await cell_queries.list_product_ids(ctx.db, selection.product_ids)
        return [product_id for product_id in ids if position is None or product_id > position][:most]
    until = batch.created_at if batch else None
    return await queries.list_filtered_ids(ctx.db, selection.product_filter, most=most, position=position, until=until)


async def _load_cells(ctx: Context, ids: Sequence[UUID], operation: BulkOperation) -> ProductCells:
    currency = ctx.shared.shop.currencies[0]
    return await cell_queries.load_cells(ctx.db, ids, currency, with_taxons=operation.kind.endswith("_taxon"))


def _edit_row(batch: ProductBatch, edit: CellEdit) -> dict[str, Any]:
    return {
        "id": new_id(),
        "batch_id": batch.id,
        "owner_id": edit.owner_id,
        "cell": edit.column,
        "before": edit.before,
        "after": edit.after,
    }
