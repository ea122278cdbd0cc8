"""Moves old finished orders to the archive, shows them from there, and brings them back.

    read the rows  ->  write the object, and read it back  ->  lock the orders, compare their rows, freeze the days of
                                                               reports, insert what remains, delete     one transaction

A process that ends before the transaction does leaves the orders in the tables, and an object that nobody can read:
its keys exist only in the rows of archived orders. Objects never change and are never deleted, so that every backup of
the database finds its orders.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import TypeVar
from uuid import UUID

import structlog

from shop.actions.archive.contents import encode_rows, find_fault, load_rows, open_archive, pack_orders, write_object
from shop.actions.audit import audit
from shop.actions.context import Context, Shared
from shop.actions.event_subjects import ORDER
from shop.actions.events import note_event
from shop.base.actor import SHOP_ACTOR
from shop.base.errors import Conflict, NotFound
from shop.base.ids import new_id
from shop.base.times import day_of, find_zone
from shop.db.pool import ConstraintViolation, DatabaseSession
from shop.models.cart.archived_orders import ArchivedOrder, ArchiveState
from shop.models.cart.orders import Order
from shop.queries.accounts.archived_orders import list_archived
from shop.queries.archive import archived_orders as queries
from shop.queries.archive import order_lists
from shop.queries.archive.archived_orders import ArchivedPart
from shop.queries.archive.contents import Rows, insert_rows, list_rows
from shop.queries.operations import order_index, report_days

T = TypeVar("T")
BATCH = 50
"""How many orders an object contains, and a transaction deletes."""
EXAMINED = 200
"""How many orders are examined for a batch."""
_CONFLICT = (
    "The order cannot be restored: another order has its number now, or a record that it needs was deleted ({})."
)
_BUSY = "Another process archives orders; if it was killed, this can continue after five minutes."
_log = structlog.get_logger("shop.archive")


class _ViewEnd(Exception):
    """Rolls back the transaction of a view."""


async def archive_next(shared: Shared) -> bool:
    """Archives a batch of orders, unless another process does; returns whether there may be more."""
    if shared.settings.archive_url is None:
        return False
    ctx = Context(shared)
    ctx.actor = SHOP_ACTOR
    return await _archive_next(ctx) or False


async def archive_all(ctx: Context) -> None:
    """Archives all orders that are due."""
    has_more: bool | None = True
    while has_more:
        has_more = await _archive_next(ctx)
        if has_more is None:
            raise Conflict(_BUSY)


async def _archive_next(ctx: Context) -> bool | None:
    """Archives a batch; returns whether there may be more, or None if another process archives orders."""
    async with ctx.db.transaction():
        state = await queries.lease_run(ctx.db)
    if state is None:
        return None
    position = state.completed_at, state.order_id
    try:
        last_order = await _archive_after(ctx, state)
        position = (last_order.completed_at, last_order.id) if last_order else (None, None)
        return last_order is not None
    finally:
        async with ctx.db.transaction():
            await queries.end_run(ctx.db, *position)


async def _archive_after(ctx: Context, state: ArchiveState) -> Order | None:
    """Archives a batch of the orders after a position; returns the last one that was examined."""
    before = _find_end(ctx.shared, state)
    candidates = await queries.list_next(ctx.db, state, before, most=EXAMINED)
    if not candidates:
        return None
    finished_ids = await queries.list_finished(ctx.db, [order.id for order in candidates], before)
    batch_ids = finished_ids[:BATCH]
    if batch_ids:
        await _archive_batch(ctx, batch_ids, before)
    if len(finished_ids) > BATCH:
        return next(order for order in candidates if order.id == batch_ids[-1])
    return candidates[-1]


def _find_end(shared: Shared, state: ArchiveState) -> datetime:
    """Returns since when nothing may have happened to an order: its links must have expired too."""
    if state.leased_until is None:
        raise AssertionError("only the process with the lease archives orders")
    age = max(timedelta(days=shared.settings.archive_after), timedelta(seconds=shared.settings.order_status_ttl))
    return state.leased_until - timedelta(seconds=queries.LEASE_SECONDS) - age


async def _archive_batch(ctx: Context, order_ids: list[UUID], before: datetime) -> None:
    contents = {order_id: encode_rows(rows) for order_id, rows in (await list_rows(ctx.db, order_ids)).items()}
    name = f"orders-{new_id()}"
    data, parts = pack_orders(contents)
    await write_object(open_archive(ctx.shared), name, data)
    async with ctx.db.transaction():
        locked_ids = await queries.lock_finished(ctx.db, order_ids, before)
        latest = await list_rows(ctx.db, locked_ids)
        unchanged_ids = [each for each in locked_ids if encode_rows(latest[each]) == contents[each]]
        if not unchanged_ids or not await _freeze_days(ctx.db, unchanged_ids):
            return
        await _replace_orders(ctx, unchanged_ids, parts, name)
    _log.info("orders archived", count=len(unchanged_ids), object=name)


async def _freeze_days(db: DatabaseSession, order_ids: list[UUID]) -> bool:
    """Lets the figures of the days of orders remain as they are; returns False if they are not calculated yet."""
    progress = await report_days.lock_progress(db)
    if progress is None or progress.must_rebuild:
        return False
    zone = find_zone(progress.shop_zone)
    days = {day_of(time, zone) for time in await queries.list_times(db, order_ids)}
    if days & set(await report_days.list_stale(db)):
        return False
    await queries.freeze_days(db, sorted(days))
    return True


async def _replace_orders(ctx: Context, order_ids: list[UUID], parts: dict[UUID, ArchivedPart], name: str) -> None:
    for order_id in order_ids:
        await queries.insert_archived(ctx.db, order_id, parts[order_id], name)
    deleted_ids = await queries.delete_orders(ctx.db, order_ids)
    if len(deleted_ids) != len(order_ids):
        raise Conflict("An order disappeared while it was archived.")
    await audit(ctx, "orders_archived", "done", detail={"count": len(order_ids), "object": name})


async def get_archived(ctx: Context, key: str) -> ArchivedOrder:
    """Returns what remains of an archived order, by number or id."""
    order = await queries.find_archived(ctx.db, key)
    if order is None:
        raise NotFound()
    return order


async def read_archived(ctx: Context, old_orders: Sequence[ArchivedOrder], read: Callable[[], Awaitable[T]]) -> T:
    """Returns what `read` reads while the rows of archived orders are in the tables. Only this transaction sees them,
    and it is rolled back.
    """
    loads = (load_rows(ctx.shared, order) for order in old_orders)
    contents = dict(zip([order.id for order in old_orders], await asyncio.gather(*loads), strict=True))
    results: list[T] = []
    try:
        async with ctx.db.transaction():
            # Always in the same order, so that two readers cannot wait for each other.
            for order_id in sorted(contents):
                if await queries.lock_archived(ctx.db, order_id):
                    await _insert_rows(ctx, contents[order_id])
            results.append(await read())
            raise _ViewEnd
    except _ViewEnd:
        return results[0]


async def restore_order(ctx: Context, order: ArchivedOrder) -> None:
    """Brings an archived order back into the tables; a no-op if it is there already."""
    rows = await load_rows(ctx.shared, order)
    async with ctx.db.transaction():
        locked_order = await queries.lock_archived(ctx.db, order.id)
        if locked_order is None:
            return
        await _insert_rows(ctx, rows)
        await queries.delete_archived(ctx.db, order.id)
        await queries.touch_restored(ctx.db, locked_order)
        await order_index.refresh(ctx.db, [order.id])
        note_event(ctx, "order.updated", ORDER, order.id)
        await audit(ctx, "order_restored", "done", subject_id=order.id, detail={"number": order.number})


async def _insert_rows(ctx: Context, rows: Rows) -> None:
    try:
        await insert_rows(ctx.db, rows)
    except ConstraintViolation as error:
        raise Conflict(_CONFLICT.format(error.constraint)) from None


async def find_faults(ctx: Context) -> tuple[int, list[tuple[str, str]]]:
    """Reads every archived order. Returns how many there are, and the numbers of those that could not be restored, each
    with the reason.
    """
    count, faults, last_id = 0, [], UUID(int=0)
    while batch := await order_lists.list_next(ctx.db, last_id, most=BATCH):
        reasons = await asyncio.gather(*(find_fault(ctx.shared, order) for order in batch))
        faults += [(order.number, reason) for order, reason in zip(batch, reasons, strict=True) if reason]
        count, last_id = count + len(batch), batch[-1].id
    return count, faults


async def restore_erased(shared: Shared) -> bool:
    """Restores archived orders of customers who are being erased, so that the erasure reaches them; returns whether
    there may be more.
    """
    ctx = Context(shared)
    ctx.actor = SHOP_ACTOR
    order_ids = await list_archived(ctx.db, None)
    for order_id in order_ids:
        await restore_order(ctx, await get_archived(ctx, str(order_id)))
    return bool(order_ids)
