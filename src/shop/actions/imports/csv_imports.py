"""CSV imports: an operator uploads a file, maps its columns and sees the result of a check; the worker then runs it."""

from collections.abc import Mapping
from uuid import UUID

from shop.actions.audit import audit
from shop.actions.context import Context
from shop.base.errors import Invalid, NotFound
from shop.models.imports.csv_imports import CsvImport, csv_imports
from shop.queries import writes
from shop.queries.imports import csv_imports as queries
from shop.queries.imports.csv_runs import start_run
from shop.rules.imports.csv_columns import KEYS, target_columns

_CHANGE_CONFLICT = "Someone else changed this import in the meantime; the page now shows its current state."


async def get_import(ctx: Context, import_id: UUID) -> CsvImport:
    row = await queries.find_import(ctx.db, import_id)
    if row is None:
        raise NotFound()
    return row


async def check_import(ctx: Context, import_id: UUID, mapping: Mapping[str, str]) -> None:
    """Saves the mapping and queues a check, which saves nothing of the file."""
    async with ctx.db.transaction():
        row = await _lock(ctx, import_id, "uploaded", "checked")
        _check_mapping(ctx, row, mapping)
        await start_run(ctx.db, import_id, "checking", dict(mapping), ctx.actor.id)
        ctx.wake("imports")


async def start_import(ctx: Context, import_id: UUID, mapping: Mapping[str, str]) -> None:
    """Queues the run of a file that was checked with this mapping."""
    async with ctx.db.transaction():
        row = await _lock(ctx, import_id, "checked")
        if row.mapping != mapping:
            raise Invalid({"base": [_CHANGE_CONFLICT]}, _CHANGE_CONFLICT)
        await start_run(ctx.db, import_id, "running", row.mapping, ctx.actor.id)
        ctx.wake("imports")
        await audit(ctx, "csv_import_started", "done", subject_id=import_id, detail={"kind": row.kind})


async def delete_import(ctx: Context, import_id: UUID) -> None:
    async with ctx.db.transaction():
        row = await _lock(ctx, import_id, "uploading", "uploaded", "checked", "done", "failed")
        await writes.delete_record(ctx.db, csv_imports, row.id)
        await audit(ctx, "csv_import_deleted", "done", subject_id=import_id, detail={"kind": row.kind})


def _check_mapping(ctx: Context, row: CsvImport, mapping: Mapping[str, str]) -> None:
    targets = target_columns(row.kind, ctx.shared.shop.currencies)
    columns = list(mapping.values())
    errors: dict[str, list[str]] = {}
    for number, column in mapping.items():
        if column not in targets or not (number.isascii() and number.isdigit() and int(number) < len(row.headers)):
            errors["mapping"] = ["is not a valid choice"]
        elif columns.count(column) > 1:
            errors[f"mapping-{number}"] = [f"is chosen for more than one column: {column}"]
    if KEYS[row.kind] not in columns:
        errors["mapping"] = [f"must have a column for {KEYS[row.kind]}, which identifies a record"]
    if errors:
        raise Invalid(errors)


async def _lock(ctx: Context, import_id: UUID, *states: str) -> CsvImport:
    row = await queries.lock_import(ctx.db, import_id)
    if row is None:
        raise NotFound()
    if row.state not in states:
        raise Invalid({"base": [_CHANGE_CONFLICT]}, _CHANGE_CONFLICT)
    return row
