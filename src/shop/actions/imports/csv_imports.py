"""CSV imports: an operator uploads a file, maps its columns and sees the result of a check; the worker then runs it.

The worker saves the position after each batch. After a crash, another process continues there once the lease has
ended; the batch that was interrupted runs again and finds its rows unchanged.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol
from uuid import UUID

import msgspec

from shop.actions.audit import audit
from shop.actions.context import Context, Shared
from shop.actions.imports.batch_runner import MAX_ERRORS, ImportLine, ImportReport
from shop.actions.imports.csv_images import import_images
from shop.actions.imports.runs import import_products
from shop.actions.imports.stock import import_stock
from shop.base.actor import Actor
from shop.base.errors import Invalid, NotFound
from shop.base.ids import new_id
from shop.models.imports.csv_imports import COUNTS, CsvImport, CsvLineError, csv_imports
from shop.queries import writes
from shop.queries.catalog.stock import find_default_location
from shop.queries.imports import csv_imports as queries
from shop.rules.imports.csv_columns import find_format, suggest_mapping, target_columns
from shop.rules.imports.csv_files import decode_file, read_headers, read_rows
from shop.rules.imports.csv_products import CsvDefaults, CsvRecord, build_products, build_rows, map_rows

KINDS = {"products": "Products", "stock": "Stock", "customers": "Customers"}
_BATCH = 100
_NEXT_STATES = {"checking": "checked", "running": "done"}
_KEYS = {"products": "slug", "stock": "sku", "customers": "email"}
_CHANGE_CONFLICT = "Someone else changed this import in the meantime; the page now shows its current state."
Parse = Callable[[str, CsvRecord], ImportLine[Any]]


class ImportCustomers(Protocol):
    """Imports lines of customers as long as the file with this id is stored."""

    async def __call__(
        self, ctx: Context, import_id: UUID, lines: AsyncIterator[ImportLine[Any]], *, dry_run: bool
    ) -> ImportReport: ...


async def create_import(ctx: Context, kind: str, data: bytes) -> UUID:
    """Saves an uploaded file and suggests the mapping of its columns."""
    if kind not in KINDS:
        raise Invalid({"kind": ["is not a valid choice"]})
    try:
        content = decode_file(data)
        headers = read_headers(content)
    except ValueError as error:
        raise Invalid({"file": [str(error)]}) from None
    file_format = find_format(kind, headers)
    mapping = suggest_mapping(kind, file_format, headers, ctx.shared.shop.currencies)
    import_id = new_id()
    async with ctx.db.transaction():
        await queries.delete_old_imports(ctx.db)
        values = {"kind": kind, "format": file_format, "content": content, "headers": headers, "mapping": mapping}
        await writes.insert_record(ctx.db, csv_imports, import_id, {**values, "operator_id": ctx.actor.id})
        await audit(ctx, "csv_import_created", "done", subject_id=import_id, detail={"kind": kind})
    return import_id


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
        await queries.start_run(ctx.db, import_id, "checking", dict(mapping), ctx.actor.id)


async def start_import(ctx: Context, import_id: UUID, mapping: Mapping[str, str]) -> None:
    """Queues the run of a file that was checked with this mapping."""
    async with ctx.db.transaction():
        row = await _lock(ctx, import_id, "checked")
        if row.mapping != mapping:
            raise Invalid({"base": [_CHANGE_CONFLICT]}, _CHANGE_CONFLICT)
        await queries.start_run(ctx.db, import_id, "running", row.mapping, ctx.actor.id)
        await audit(ctx, "csv_import_started", "done", subject_id=import_id, detail={"kind": row.kind})


async def delete_import(ctx: Context, import_id: UUID) -> None:
    async with ctx.db.transaction():
        row = await _lock(ctx, import_id, "uploaded", "checked", "done", "failed")
        await writes.delete_record(ctx.db, csv_imports, row.id)
        await audit(ctx, "csv_import_deleted", "done", subject_id=import_id, detail={"kind": row.kind})


async def run_next_import(shared: Shared, parse: Parse, import_customers: ImportCustomers) -> bool:
    """Runs the next check or import to its end; returns whether there was one. `parse` reads a record of a kind."""
    db = shared.database.session()
    row = await queries.lease_import(db)
    if row is None:
        return False
    location = await find_default_location(db)
    shop = shared.shop
    defaults = CsvDefaults(
        shop.currencies[0], location.name if location else None, shop.weight_unit, shop.dimension_unit
    )
    try:
        records = await asyncio.to_thread(_list_records, row, defaults)
    except ValueError as error:
        # A file that cannot be read to its end is not imported.
        errors = [CsvLineError(0, "", str(error))]
        await _save(shared, row, row.position, 0, ImportReport(dry_run=True, failed=1), errors, state="failed")
        return True
    position = row.position
    while True:
        batch = records[position : position + _BATCH]
        report = await _run_batch(shared, row, [parse(row.kind, record) for record in batch], import_customers)
        errors = [CsvLineError(each.line, each.key or "", _join(each.errors)) for each in report.errors]
        if row.state == "running":
            errors += await import_images(shared, row, batch)
        is_over = position + len(batch) >= len(records)
        state = _NEXT_STATES[row.state] if is_over else row.state
        is_saved = await _save(shared, row, position, len(batch), report, errors, state=state, total=len(records))
        if is_over or not is_saved:
            return True
        position += len(batch)


async def _run_batch(
    shared: Shared, row: CsvImport, lines: Sequence[ImportLine[Any]], import_customers: ImportCustomers
) -> ImportReport:
    ctx = Context(shared)
    ctx.actor = Actor("operator", row.operator_id)
    is_check = row.state == "checking"
    if row.kind == "customers":
        return await import_customers(ctx, row.id, _iterate(lines), dry_run=is_check)
    run = import_products if row.kind == "products" else import_stock
    return await run(ctx, _iterate(lines), dry_run=is_check)


async def _iterate(lines: Iterable[ImportLine[Any]]) -> AsyncIterator[ImportLine[Any]]:
    for line in lines:
        yield line


def _list_records(row: CsvImport, defaults: CsvDefaults) -> list[CsvRecord]:
    rows = read_rows(row.content)
    next(rows, None)
    cells = map_rows(rows, row.mapping)
    return list(build_products(cells, defaults) if row.kind == "products" else build_rows(cells))


async def _save(
    shared: Shared,
    row: CsvImport,
    position: int,
    size: int,
    report: ImportReport,
    errors: Sequence[CsvLineError],
    **values: Any,
) -> bool:
    """Saves the result of a batch; False if another process did, after this one lost its lease."""
    return await queries.save_progress(
        shared.database.session(),
        row,
        position,
        new_position=position + size,
        most_errors=MAX_ERRORS,
        more_errors=[msgspec.json.encode(error).decode() for error in errors],
        **{f"more_{name}": getattr(report, name) for name in COUNTS},
        **values,
    )


def _join(errors: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(f"{name} {sentence}" for name, sentences in errors.items() for sentence in sentences)[:1000]


def _check_mapping(ctx: Context, row: CsvImport, mapping: Mapping[str, str]) -> None:
    targets = target_columns(row.kind, ctx.shared.shop.currencies)
    columns = list(mapping.values())
    errors: dict[str, list[str]] = {}
    for number, column in mapping.items():
        if column not in targets or not (number.isascii() and number.isdigit() and int(number) < len(row.headers)):
            errors["mapping"] = ["is not a valid choice"]
        elif columns.count(column) > 1:
            errors[f"mapping-{number}"] = [f"is chosen for more than one column: {column}"]
    if _KEYS[row.kind] not in columns:
        errors["mapping"] = [f"must have a column for {_KEYS[row.kind]}, which identifies a record"]
    if errors:
        raise Invalid(errors)


async def _lock(ctx: Context, import_id: UUID, *states: str) -> CsvImport:
    row = await queries.lock_import(ctx.db, import_id)
    if row is None:
        raise NotFound()
    if row.state not in states:
        raise Invalid({"base": [_CHANGE_CONFLICT]}, _CHANGE_CONFLICT)
    return row
