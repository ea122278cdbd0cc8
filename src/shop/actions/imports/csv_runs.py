"""Runs CSV files batch by batch: those of operators in the worker, and those of the command line.

The worker saves the position after each batch. After a crash, another process continues there once the lease has
ended; the batch that was interrupted runs again and finds its rows unchanged.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, Protocol, TextIO
from uuid import UUID

import msgspec

from shop.actions.context import Context, Shared
from shop.actions.imports.batch_runner import BATCH_LINES, MAX_ERRORS, ImportLine, ImportReport
from shop.actions.imports.csv_files import open_file
from shop.actions.imports.csv_images import ImageImport, import_images
from shop.actions.imports.runs import import_products
from shop.actions.imports.stock import import_stock
from shop.base.actor import Actor
from shop.base.errors import Invalid
from shop.models.imports.csv_imports import COUNTS, CsvImport, CsvLineError
from shop.queries.catalog.stock import find_default_location
from shop.queries.imports import csv_runs as queries
from shop.queries.imports.csv_files import delete_chunks
from shop.rules.imports.csv_files import read_rows
from shop.rules.imports.csv_products import CsvDefaults, CsvRecord, build_products, build_rows, map_rows
from shop.rules.imports.csv_values import Units

_NEXT_STATES = {"checking": "checked", "running": "done"}
Parse = Callable[[str, CsvRecord], ImportLine[Any]]


class ImportCustomers(Protocol):
    """Imports lines of customers, of a stored file only as long as it exists."""

    async def __call__(
        self, ctx: Context, import_id: UUID | None, lines: AsyncIterator[ImportLine[Any]], *, dry_run: bool
    ) -> ImportReport: ...


class CsvRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run of a file: what it imports, and how."""

    ctx: Context
    kind: str
    parse: Parse
    """Reads a record of a kind."""
    import_customers: ImportCustomers
    dry_run: bool
    started_at: datetime
    import_id: UUID | None = None
    """Of a stored file."""

    async def extend_lease(self) -> None:
        if self.import_id:
            await queries.extend_lease(self.ctx.with_new_session().db, self.import_id)


class BatchResult(msgspec.Struct, frozen=True):
    """The result of a batch: the number of its records, the report, and the lines with errors."""

    size: int
    report: ImportReport
    errors: Sequence[CsvLineError]


async def run_next_import(shared: Shared, parse: Parse, import_customers: ImportCustomers) -> bool:
    """Runs the next check or import to its end; returns whether there was one."""
    row = await queries.lease_import(shared.database.session())
    if row is None:
        return False
    ctx = Context(shared)
    ctx.actor = Actor("operator", row.operator_id)
    run = CsvRun(
        ctx=ctx,
        kind=row.kind,
        parse=parse,
        import_customers=import_customers,
        dry_run=row.state == "checking",
        started_at=row.created_at,
        import_id=row.id,
    )
    try:
        await _run_stored_file(shared, row, run)
    except (ValueError, Invalid) as error:
        # A file that cannot be read to its end is not imported.
        reason = _join(error.errors) if isinstance(error, Invalid) else str(error)
        result = BatchResult(0, ImportReport(dry_run=True, failed=1), [CsvLineError(0, "", reason)])
        await _save(shared, row, None, result, state="failed", total=row.total)
    return True


async def _run_stored_file(shared: Shared, row: CsvImport, run: CsvRun) -> None:
    defaults = await find_defaults(run.ctx, row.format, row.mapping)
    total = row.total or await asyncio.to_thread(_count, _read(shared, row, defaults))
    await run.extend_lease()
    records, position = _read(shared, row, defaults), row.position
    await asyncio.to_thread(_count, islice(records, position))
    async for result in run_records(run, records):
        is_over = position + result.size >= total
        state = _NEXT_STATES[row.state] if is_over else row.state
        if not await _save(shared, row, position, result, state=state, total=total):
            return
        position += result.size
    if position == 0:
        raise ValueError("has no rows")


def _read(shared: Shared, row: CsvImport, defaults: CsvDefaults) -> Iterator[CsvRecord]:
    return read_records(open_file(shared.database, row), row.kind, row.mapping, defaults)


def _count(records: Iterable[CsvRecord]) -> int:
    return sum(1 for _ in records)


async def find_defaults(ctx: Context, file_format: str, mapping: Mapping[str, str]) -> CsvDefaults:
    location = await find_default_location(ctx.db)
    shop = ctx.shared.shop
    return CsvDefaults(
        shop.currencies[0],
        location.name if location else None,
        Units(shop.weight_unit, shop.dimension_unit),
        file_format,
        "track_inventory" in mapping.values(),
    )


def read_records(file: TextIO, kind: str, mapping: Mapping[str, str], defaults: CsvDefaults) -> Iterator[CsvRecord]:
    """Yields the records of a file; raises ValueError where it cannot be read. Reads nothing before the first one."""
    rows = read_rows(file)
    next(rows, None)
    cells = map_rows(rows, mapping)
    yield from build_products(cells, defaults) if kind == "products" else build_rows(cells)


async def run_records(run: CsvRun, records: Iterator[CsvRecord]) -> AsyncGenerator[BatchResult]:
    """Imports the records batch by batch, each in a short transaction of its own. The file is read in a thread."""
    while batch := await asyncio.to_thread(_take, records):
        report = await _run_batch(run, [run.parse(run.kind, record) for record in batch])
        errors = [CsvLineError(each.line, each.key or "", _join(each.errors)) for each in report.errors]
        if not run.dry_run:
            errors += await import_images(ImageImport(run.ctx, run.started_at, run.extend_lease), batch)
        yield BatchResult(len(batch), report, errors)


def _take(records: Iterator[CsvRecord]) -> list[CsvRecord]:
    return list(islice(records, BATCH_LINES))


async def _run_batch(run: CsvRun, lines: Sequence[ImportLine[Any]]) -> ImportReport:
    ctx = run.ctx.with_new_session()
    if run.kind == "customers":
        return await run.import_customers(ctx, run.import_id, _iterate(lines), dry_run=run.dry_run)
    import_lines: Callable[..., Awaitable[ImportReport]] = import_products if run.kind == "products" else import_stock
    return await import_lines(ctx, _iterate(lines), dry_run=run.dry_run)


async def _iterate(lines: Iterable[ImportLine[Any]]) -> AsyncIterator[ImportLine[Any]]:
    for line in lines:
        yield line


async def _save(
    shared: Shared, row: CsvImport, position: int | None, result: BatchResult, *, state: str, total: int
) -> bool:
    """Saves the result of a batch; False if another process did, after this one lost its lease. None is any position.

    The file is deleted when it is imported.
    """
    db = shared.database.session()
    async with db.transaction():
        is_saved = await queries.save_progress(
            db,
            row,
            position,
            state=state,
            total=total,
            size=result.size,
            most_errors=MAX_ERRORS,
            more_errors=[msgspec.json.encode(error).decode() for error in result.errors],
            **{f"more_{name}": getattr(result.report, name) for name in COUNTS},
        )
        if is_saved and state in ("done", "failed"):
            await delete_chunks(db, row.id)
    return is_saved


def _join(errors: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(f"{name} {sentence}" for name, sentences in errors.items() for sentence in sentences)[:1000]
