"""Keeps the daily figures of reports.

    lock the progress  ->  read the events after it, and find the days of their orders
                       ->  calculate stale days from the orders, newest first  ->  save the progress     one transaction

A day is always calculated as a whole, so that repeating it changes nothing: after a crash, the next process reads the
same events again. At the first start, after a change of the shop's time zone, or if events have expired that were not
read, all days are stale. Days of archived orders are never calculated again.
"""

from datetime import date, datetime, timedelta, tzinfo

from shop.actions.context import Shared
from shop.base.times import bounds_of, day_of, find_zone
from shop.db.pool import DatabaseSession
from shop.queries.operations import report_days as queries
from shop.queries.operations.report_days import RECENT_DAYS, ReportProgress

EVENT_BATCH = 1000
DAY_BATCH = 5
"""The days that one transaction calculates."""


async def refresh_days(shared: Shared) -> bool:
    """Calculates some stale days; returns whether there may be more. Only one process at a time does so."""
    db = shared.database.session()
    if not (await queries.find_progress(db)).has_work:
        return False
    async with db.transaction():
        progress = await queries.lock_progress(db)
        if progress is None or not progress.has_work:
            return False
        return await _refresh(db, progress)


async def mark_times_stale(db: DatabaseSession, zone_name: str, times: list[datetime]) -> None:
    """Marks the days of orders that the caller's transaction changes without events."""
    await _mark_stale(db, find_zone(zone_name), times)


async def _mark_stale(db: DatabaseSession, zone: tzinfo, times: list[datetime]) -> None:
    await queries.mark_stale(db, sorted({day_of(each, zone) for each in times}))


async def _refresh(db: DatabaseSession, progress: ReportProgress) -> bool:
    zone, rebuild_days = find_zone(progress.shop_zone), progress.rebuild_days
    today = day_of(progress.now, zone)
    if progress.must_rebuild:
        position = progress.last_position
        days = await list_all_days(db, today, zone)
        await queries.mark_stale(db, days)
        rebuild_days = len(days)
    else:
        position = min(progress.last_position, progress.position + EVENT_BATCH)
        await _mark_stale(db, zone, await queries.list_event_times(db, after=progress.position, until=position))
    if progress.are_carts_due:
        await queries.mark_stale(db, [today - timedelta(days=1), today])
    taken_days = await queries.take_stale(db, most=DAY_BATCH)
    frozen_days = set(await queries.list_frozen(db))
    for day in (each for each in taken_days if each not in frozen_days):
        is_recent = day > today - timedelta(days=RECENT_DAYS)
        await queries.calculate_day(db, day, bounds_of(day, zone), is_recent=is_recent)
    has_more = len(taken_days) == DAY_BATCH
    await queries.save_progress(
        db,
        position=position,
        zone=progress.shop_zone,
        rebuild_days=rebuild_days,
        are_carts_counted=progress.are_carts_due,
    )
    return has_more or position < progress.last_position


async def list_all_days(db: DatabaseSession, today: date, zone: tzinfo) -> list[date]:
    """Returns all days from the first cart, order or payment until today."""
    first_time = await queries.find_first_time(db)
    first = min(today, day_of(first_time, zone)) if first_time else today
    return [first + timedelta(days=number) for number in range((today - first).days + 1)]
