"""Deletes expired data in small batches, in one process at a time, while the shop serves requests."""

import asyncio
from time import monotonic

import msgspec
import structlog

from shop.actions.catalog.images import delete_loose_files
from shop.actions.context import Shared
from shop.actions.operations.abandoned_carts import BATCH as ABANDONED_BATCH
from shop.actions.operations.abandoned_carts import note_abandoned_carts
from shop.actions.operations.event_log import maintain_partitions
from shop.base.errors import ShopError, TransactionConflict
from shop.db.pool import ConstraintViolation
from shop.queries.operations import housekeeping
from shop.queries.operations.housekeeping import PURGES, Purge

BATCH = 1000
BUDGET_SECONDS = 20.0
"""The time limit of one run; the next run, which follows soon, continues."""
MAX_PAUSE_SECONDS = 1.0
_log = structlog.get_logger("shop.worker")


class HousekeepingResult(msgspec.Struct):
    """The number of rows that one run deleted by kind, and the kinds that it did not finish."""

    removed: dict[str, int]
    unfinished: list[str]


async def run_housekeeping(shared: Shared, budget: float = BUDGET_SECONDS) -> HousekeepingResult:
    """Deletes batches of each kind until nothing is left or the time is up, unless another process is doing so."""
    counts: dict[str, int] = {}
    pending_kinds, failed_kinds, end = list(PURGES), list[str](), monotonic() + budget
    while pending_kinds and (not counts or monotonic() < end):
        for kind in list(pending_kinds):
            start = monotonic()
            try:
                count = await _delete_batch(shared, kind)
            except (TransactionConflict, ConstraintViolation, ShopError) as error:
                # One kind that cannot be deleted now must not block the others.
                _log.warning("housekeeping batch failed", kind=kind, reason=type(error).__name__)
                pending_kinds.remove(kind)
                failed_kinds.append(kind)
                continue
            if count is None:
                return HousekeepingResult(_nonzero(counts), [])
            counts[kind] = counts.get(kind, 0) + count
            if count < BATCH:
                pending_kinds.remove(kind)
                continue
            # Sleep as long as the batch took, so that deleting uses at most half of a connection's time.
            await asyncio.sleep(min(monotonic() - start, MAX_PAUSE_SECONDS))
    counts["loose pictures"] = await delete_loose_files(shared, BATCH)
    counts["days of events"] = await maintain_partitions(shared)
    while await note_abandoned_carts(shared) == ABANDONED_BATCH and monotonic() < end:
        pass
    await _note_backlog(shared, [*pending_kinds, *failed_kinds])
    return HousekeepingResult(_nonzero(counts), pending_kinds)


async def _delete_batch(shared: Shared, kind: str) -> int | None:
    """Returns the number of deleted rows, or None if another process runs housekeeping."""
    db, purge = shared.database.session(), PURGES[kind]
    async with db.transaction():
        if not await housekeeping.try_housekeeping_lock(db):
            return None
        return len(await db.all(purge.delete, most=BATCH, **_lifetimes(shared, purge)))


async def _note_backlog(shared: Shared, kinds: list[str]) -> None:
    db = shared.database.session()
    backlog = {kind: await db.one(PURGES[kind].count, **_lifetimes(shared, PURGES[kind])) or 0 for kind in kinds}
    await housekeeping.record_run(db, backlog)


def _lifetimes(shared: Shared, purge: Purge) -> dict[str, int]:
    return {"cart_idle": shared.settings.cart_idle_ttl} if "cart_idle" in purge.delete.parameters else {}


def _nonzero(counts: dict[str, int]) -> dict[str, int]:
    return {kind: count for kind, count in counts.items() if count}
