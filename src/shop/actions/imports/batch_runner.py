"""How many lines are done that come one after the other: read as they arrive, kept batch by batch.

A batch is one short transaction, so that nobody who works in the dashboard waits for long. When the database refuses
something of it, the batch is done again line by line, and the line that is refused fails alone.
"""

from bisect import insort
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from shop.actions.audit import audit
from shop.actions.context import Context
from shop.base.errors import Lost, ShopError
from shop.db.pool import LockTimeout, Refused
from shop.rules.imports.rows import Errors

T = TypeVar("T")

BATCH_LINES = 100
BATCH_BYTES = 1024 * 1024
MOST_ERRORS = 1000
MOST_FIELDS = 20
_MOST_KEYS = 100


class Line(msgspec.Struct, Generic[T], frozen=True):
    """A line as it was read, or why it could not be."""

    number: int
    size: int
    key: str | None = None
    """What it speaks of, for people."""
    value: T | None = None
    errors: Errors = {}


class LineError(msgspec.Struct, frozen=True):
    """Why a line was not done."""

    line: int
    key: str | None
    errors: Errors


class Imported(msgspec.Struct):
    """What came of an import. After a dry run: what would have come of it."""

    dry_run: bool
    lines: int = 0
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    failed: int = 0
    errors: list[LineError] = []
    errors_left_out: int = 0
    """Lines that failed too, beyond the first thousand."""

    def fail(self, line: Line[Any], errors: Errors) -> None:
        self.failed += 1
        named = dict(list(errors.items())[:MOST_FIELDS])
        if len(errors) > MOST_FIELDS:
            named["base"] = [f"{len(errors) - MOST_FIELDS} more fields are not acceptable"]
        # Lines that nobody can read fail before those of the batch that they stand in.
        insort(self.errors, LineError(line.number, line.key, named), key=lambda error: error.line)
        if len(self.errors) > MOST_ERRORS:
            self.errors.pop()
            self.errors_left_out += 1


Outcomes = list[str | Errors]
"""Of each line of a batch: `created`, `updated` or `unchanged`, or why not."""
Work = Callable[[Context, Sequence[Any]], Awaitable[Outcomes]]


class _Undo(Exception):
    """The end of a dry run."""


async def do_lines(
    ctx: Context, lines: AsyncIterator[Line[Any]], work: Work, event: str, *, dry_run: bool, may_repeat: bool = False
) -> Imported:
    """`may_repeat`: whether the work does several lines of one key in their order."""
    done, touched = Imported(dry_run), _Touched()
    try:
        async for batch in _batches(lines, done, may_repeat=may_repeat):
            for line, outcome in zip(batch, await _do(ctx, batch, work, dry_run=dry_run), strict=True):
                if isinstance(outcome, dict):
                    done.fail(line, outcome)
                else:
                    setattr(done, outcome, getattr(done, outcome) + 1)
                    touched.note(line.key, outcome)
    except ShopError:
        await _note(ctx, event, "broken off", done, touched)
        raise
    await _note(ctx, event, "done", done, touched)
    return done


class _Touched:
    """The first keys of what was changed, for the audit."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.count = 0

    def note(self, key: str | None, outcome: str) -> None:
        if outcome != "unchanged":
            self.count += 1
            if key and len(self.keys) < _MOST_KEYS:
                self.keys.append(key)


async def _note(ctx: Context, event: str, outcome: str, done: Imported, touched: _Touched) -> None:
    """One row for the whole; a dry run leaves none."""
    if done.dry_run or not done.lines:
        return
    counts = {name: getattr(done, name) for name in ("lines", "created", "updated", "unchanged", "failed")}
    own = ctx.fresh()
    await audit(own, event, outcome, detail={**counts, "touched": touched.keys, "touched_count": touched.count})
    ctx.db.count += own.db.count


async def _batches(
    lines: AsyncIterator[Line[Any]], done: Imported, *, may_repeat: bool
) -> AsyncIterator[list[Line[Any]]]:
    """Lines that can be done together: no two of one key, and not too much of them. Those that nobody can read fail
    here. A batch that was begun when the lines broke off is not done.
    """
    batch: list[Line[Any]] = []
    keys: set[str | None] = set()
    size = 0
    async for line in lines:
        done.lines += 1
        if line.value is None:
            done.fail(line, line.errors)
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


async def _do(ctx: Context, batch: Sequence[Line[Any]], work: Work, *, dry_run: bool) -> Outcomes:
    own = ctx.fresh()  # That one batch is committed must not forbid the next one to be tried again.
    values = [line.value for line in batch]

    async def together() -> Outcomes:
        return await _kept(own, lambda: work(own, values), dry_run=dry_run)

    async def one_by_one() -> Outcomes:
        return await _kept(own, lambda: _each(own, values, work), dry_run=dry_run)

    try:
        return await own.db.retrying(together)
    except Refused:
        return await own.db.retrying(one_by_one)
    finally:
        ctx.db.count += own.db.count


async def _kept(ctx: Context, work: Callable[[], Awaitable[Outcomes]], *, dry_run: bool) -> Outcomes:
    """In a transaction of its own, undone when nothing is to be kept."""
    outcomes: Outcomes = []
    try:
        async with ctx.db.transaction():
            outcomes = await work()
            if dry_run:
                raise _Undo()
    except _Undo:
        pass
    except LockTimeout as error:
        # Another import, or somebody at the dashboard, holds some of these: nothing is kept, and there is time.
        raise Lost() from error
    return outcomes


async def _each(ctx: Context, values: Sequence[Any], work: Work) -> Outcomes:
    return [await _alone(ctx, value, work) for value in values]


async def _alone(ctx: Context, value: Any, work: Work) -> str | Errors:
    # Twice: who was refused because another has just made the same thing finds it there then.
    for _ in range(2):
        try:
            async with ctx.db.savepoint():
                return (await work(ctx, [value]))[0]
        except Refused as error:
            refused = error
    return _refusal(refused)


def _refusal(refused: Refused) -> Errors:
    if refused.constraint == "uq_variants_sku":
        return {"base": ["has a sku that is taken"]}
    return {"base": ["is not possible beside what is there: a name in it is taken, or gone meanwhile"]}
