"""What is thrown away, and when: in small batches, by one process at a time, while the shop serves."""

import asyncio
from time import monotonic

import msgspec
import structlog

from shop.actions.catalog.images import remove_loose
from shop.actions.context import Shared
from shop.base.errors import Lost, ShopError
from shop.db.pool import Refused
from shop.queries.operations import housekeeping
from shop.queries.operations.housekeeping import PURGES, Purge

BATCH = 1000
BUDGET_SECONDS = 20.0
"""How long one run goes on deleting; the rest waits for the next run, which follows soon."""
LONGEST_PAUSE = 1.0
_log = structlog.get_logger("shop.worker")


class Run(msgspec.Struct):
    """What one run has deleted of each kind, and the kinds that it did not come to the end of."""

    removed: dict[str, int]
    unfinished: list[str]


async def keep_house(shared: Shared, budget: float = BUDGET_SECONDS) -> Run:
    """Deletes batches of every kind in turn until nothing is left or the time is up. Nothing is done while another
    process is at it.
    """
    removed: dict[str, int] = {}
    unfinished, failed, end = list(PURGES), list[str](), monotonic() + budget
    while unfinished and (not removed or monotonic() < end):
        for kind in list(unfinished):
            started = monotonic()
            try:
                count = await _delete_batch(shared, kind)
            except (Lost, Refused, ShopError) as error:
                # One kind that cannot be deleted now must not keep the others from it.
                _log.warning("housekeeping left out a batch", kind=kind, reason=type(error).__name__)
                unfinished.remove(kind)
                failed.append(kind)
                continue
            if count is None:
                return Run(_some(removed), [])
            removed[kind] = removed.get(kind, 0) + count
            if count < BATCH:
                unfinished.remove(kind)
                continue
            # As long as the batch took: deleting never takes more than half of a connection's time.
            await asyncio.sleep(min(monotonic() - started, LONGEST_PAUSE))
    removed["loose pictures"] = await remove_loose(shared, BATCH)
    await _note_backlog(shared, [*unfinished, *failed])
    return Run(_some(removed), unfinished)


async def _delete_batch(shared: Shared, kind: str) -> int | None:
    """How many were deleted; none when another process keeps house."""
    db, purge = shared.database.session(), PURGES[kind]
    async with db.transaction():
        if not await housekeeping.take_broom(db):
            return None
        return len(await db.all(purge.delete, most=BATCH, **_lifetimes(shared, purge)))


async def _note_backlog(shared: Shared, kinds: list[str]) -> None:
    db = shared.database.session()
    backlog = {kind: await db.one(PURGES[kind].count, **_lifetimes(shared, PURGES[kind])) or 0 for kind in kinds}
    await housekeeping.note_run(db, backlog)


def _lifetimes(shared: Shared, purge: Purge) -> dict[str, int]:
    return {"cart_idle": shared.settings.cart_idle_ttl} if "cart_idle" in purge.delete.parameters else {}


def _some(removed: dict[str, int]) -> dict[str, int]:
    return {kind: count for kind, count in removed.items() if count}
