"""Runs imports: reads lines as they arrive and commits them batch by batch.

Each batch is one short transaction, so that dashboard users do not wait for long. If the database rejects a batch, it
runs again line by line, and only the rejected lines fail.
"""

from bisect import insort
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Generic, TypeVar

import msgspec

from shop.actions.audit import audit
from shop.actions.context import Context
from shop.base.errors import ShopError, TransactionConflict
from shop.db.pool import ConstraintViolation, LockTimeout
from shop.rules.imports.rows import Errors

T = TypeVar("T")

BATCH_LINES = 100
BATCH_BYTES = 1024 * 1024
MAX_ERRORS = 1000
MAX_FIELDS = 20
_MAX_KEYS = 100


class ImportLine(msgspec.Struct, Generic[T], frozen=True):
    """A parsed line, or the errors from parsing it."""

    number: int
    size: int
    key: str | None = None
    """Human-readable key of the record."""
    value: T | None = None
    errors: Errors = {}


class ImportLineError(msgspec.Struct, frozen=True):
    """Why a line failed."""

    line: int
    key: str | None
    errors: Errors


class ImportReport(msgspec.Struct):
    """The result of an import; for a dry run, the result that the import would have."""

    dry_run: bool
    lines: int = 0
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    failed: int = 0
    errors: list[ImportLineError] = []
    errors_left_out: int = 0
    """Number of failed lines beyond the first thousand."""

    def fail(self, line: ImportLine[T], errors: Errors) -> None:
        self.failed += 1
        first_errors = dict(list(errors.items())[:MAX_FIELDS])
        if len(errors) > MAX_FIELDS:
            first_errors["base"] = [f"{len(errors) - MAX_FIELDS} more fields are invalid"]
        # Lines that cannot be parsed fail before the other lines of their batch.
        insort(self.errors, ImportLineError(line.number, line.key, first_errors), key=lambda error: error.line)
        if len(self.errors) > MAX_ERRORS:
            self.errors.pop()
            self.errors_left_out += 1


Outcomes = list[str | Errors]
"""One outcome per line of a batch: `created`, `updated`, `unchanged`, or the errors."""
Work = Callable[[Context, Sequence[T]], Awaitable[Outcomes]]


class _Undo(Exception):
    """Rolls back a dry run."""


async def run_import(
    ctx: Context,
    lines: AsyncIterator[ImportLine[T]],
    work: Work[T],
    event: str,
    *,
    dry_run: bool,
    may_repeat: bool = False,
    has_personal_keys: bool = False,
) -> ImportReport:
    """Runs an import. `may_repeat`: a batch may contain several lines with the same key, applied in order.
    `has_personal_keys`: the audit log has the number of changed records only.
    """
    result, changed_keys = ImportReport(dry_run), _ChangedKeys(0 if has_personal_keys else _MAX_KEYS)
    ctx.audits_each_record = False
    try:
        async for batch in _batches(lines, result, may_repeat=may_repeat):
            for line, outcome in zip(batch, await _run_batch(ctx, batch, work, dry_run=dry_run), strict=True):
                if isinstance(outcome, dict):
                    result.fail(line, outcome)
                else:
                    setattr(result, outcome, getattr(result, outcome) + 1)
                    changed_keys.note(line.key, outcome)
    except ShopError:
        await _audit_import(ctx, event, "broken off", result, changed_keys)
        raise
    await _audit_import(ctx, event, "done", result, changed_keys)
    return result


class _ChangedKeys:
    """The number and the first keys of changed records, for the audit log."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.keys: list[str] = []
        self.count = 0

    def note(self, key: str | None, outcome: str) -> None:
        if outcome != "unchanged":
            self.count += 1
            if key and len(self.keys) < self.most:
                self.keys.append(key)


async def _audit_import(
    ctx: Context, event: str, outcome: str, result: ImportReport, changed_keys: _ChangedKeys
) -> None:
    """Writes one audit row for the import; none for a dry run."""
    if result.dry_run or not result.lines:
        return
    counts = {name: getattr(result, name) for name in ("lines", "created", "updated", "unchanged", "failed")}
    audit_ctx = ctx.with_new_session()
    await audit(
        audit_ctx, event, outcome, detail={**counts, "touched": changed_keys.keys, "touched_count": changed_keys.count}
    )
    ctx.db.count += audit_ctx.db.count


async def _batches(
    lines: AsyncIterator[ImportLine[T]], result: ImportReport, *, may_repeat: bool
) -> AsyncIterator[list[ImportLine[T]]]:
    """Groups lines into batches of limited size, without repeated keys unless `may_repeat`.

    Lines that cannot be parsed fail here. If the input breaks off, the incomplete batch is discarded.
    """
    batch: list[ImportLine[T]] = []
    keys: set[str | None] = set()
    size = 0
    async for line in lines:
        result.lines += 1
        if line.value is None:
            result.fail(line, line.errors)
            continue
        is_full = len(batch) >= BATCH_LINES or size + line.size > BATCH_BYTES
        if batch and (is_full or (line.key in keys and not may_repeat)):
            yield batch
            batch, keys, size = [], set(), 0
        batch.append(line)
        keys.add(line.key)
        size += line.size
    if batch:
        yield batch


async def _run_batch(ctx: Context, batch: Sequence[ImportLine[T]], work: Work[T], *, dry_run: bool) -> Outcomes:
    batch_ctx = ctx.with_new_session()  # A new context: a committed batch must not prevent retries of the next one.
    values = [line.value for line in batch if line.value is not None]

    async def together() -> Outcomes:
        return await _run_in_transaction(batch_ctx, lambda: work(batch_ctx, values), dry_run=dry_run)

    async def one_by_one() -> Outcomes:
        return await _run_in_transaction(batch_ctx, lambda: _run_each(batch_ctx, values, work), dry_run=dry_run)

    try:
        return await batch_ctx.db.retrying(together)
    except ConstraintViolation:
        return await batch_ctx.db.retrying(one_by_one)
    finally:
        ctx.db.count += batch_ctx.db.count


async def _run_in_transaction(ctx: Context, work: Callable[[], Awaitable[Outcomes]], *, dry_run: bool) -> Outcomes:
    """Runs work in its own transaction; rolls back a dry run."""
    outcomes: Outcomes = []
    try:
        async with ctx.db.transaction():
            outcomes = await work()
            if dry_run:
                raise _Undo()
    except _Undo:
        pass
    except LockTimeout as error:
        # Another import or a dashboard user holds a lock. The transaction rolled back, so it can be retried.
        raise TransactionConflict() from error
    return outcomes


async def _run_each(ctx: Context, values: Sequence[T], work: Work[T]) -> Outcomes:
    return [await _run_single(ctx, value, work) for value in values]


async def _run_single(ctx: Context, value: T, work: Work[T]) -> str | Errors:
    # Try twice: if a concurrent transaction created the same record, the second attempt finds it.
    for _ in range(2):
        try:
            async with ctx.db.savepoint():
                return (await work(ctx, [value]))[0]
        except ConstraintViolation as error:
            last_error = error
    return _constraint_errors(last_error)


def _constraint_errors(error: ConstraintViolation) -> Errors:
    if error.constraint == "uq_variants_sku":
        return {"base": ["has a SKU that is already in use"]}
    return {"base": ["conflicts with existing records: a name is already in use or was deleted"]}
