"""Keeps the index of completed orders: from the event log, and once from all orders that were placed before.

One process at a time does so. A row is rebuilt from the tables, so that repeated or late work changes nothing.
"""

import msgspec

from shop.actions.context import Shared
from shop.db.pool import DatabaseSession
from shop.models.cart.order_index import OrderIndexProgress
from shop.queries import events
from shop.queries.operations import order_index

EVENT_BATCH = 1000
FILL_BATCH = 500


async def update_order_index(shared: Shared) -> bool:
    """Does one batch of work; returns whether more remains."""
    db = shared.database.session()
    async with db.transaction():
        progress = await order_index.lock_progress(db)
        if progress is None:
            return False
        after, has_more = await _follow_log(db, progress)
        if not after.is_filled:
            after, has_more = await _fill(db, after), True
        if after != progress:
            await order_index.save_progress(db, after)
    return has_more


async def _follow_log(db: DatabaseSession, progress: OrderIndexProgress) -> tuple[OrderIndexProgress, bool]:
    """Rebuilds the orders of new events. Starts again if events that it has not read are no longer kept."""
    last = await events.last_position(db)
    if progress.position is None:
        return OrderIndexProgress(position=last), False
    if progress.position == last:
        return progress, False
    first = await events.first_position(db)
    if progress.position > last or (first is not None and first > progress.position + 1):
        return OrderIndexProgress(position=last), False
    until = min(last, progress.position + EVENT_BATCH)
    ids = await order_index.list_changed_orders(db, after=progress.position, until=until)
    await order_index.refresh(db, sorted(ids))
    return msgspec.structs.replace(progress, position=until), until < last


async def _fill(db: DatabaseSession, progress: OrderIndexProgress) -> OrderIndexProgress:
    """Adds the next batch of older orders, newest first."""
    batch = await order_index.list_placed_orders(db, progress, most=FILL_BATCH)
    await order_index.refresh(db, [order.id for order in batch])
    if len(batch) < FILL_BATCH:
        return msgspec.structs.replace(progress, is_filled=True)
    return msgspec.structs.replace(progress, filled_at=batch[-1].placed_at, filled_id=batch[-1].id)
