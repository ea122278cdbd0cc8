"""Verifies the consistency of stored totals, counts and payments."""

from collections.abc import AsyncIterator
from uuid import UUID

from shop.actions.operations.report_days import list_all_days
from shop.base.times import bounds_of, day_of, find_zone
from shop.db.pool import DatabaseSession
from shop.queries.operations import report_days
from shop.queries.operations import verify as queries
from shop.queries.operations.verify_promotions import Finding
from shop.queries.operations.verify_reports import list_day_findings
from shop.rules.checkout.payments import balance_of

_PAYMENT_STATES = "payment states of orders"
_BATCH = 5_000
_REPORTS = "figures of reports"
NAMES = (*queries.NAMES, _PAYMENT_STATES, _REPORTS)
"""The names of the checks."""


async def find_inconsistencies(db: DatabaseSession) -> AsyncIterator[tuple[str, list[Finding]]]:
    """Yields each check with its findings, all from one snapshot."""
    async with db.transaction(is_snapshot=True):
        for name in queries.NAMES:
            yield name, await queries.list_findings(db, name)
        yield _PAYMENT_STATES, await _payment_state_findings(db)
        yield _REPORTS, await _report_findings(db)


async def _payment_state_findings(db: DatabaseSession) -> list[Finding]:
    """Checks payment states with the business rule, which is not duplicated in SQL."""
    findings: list[Finding] = []
    last = UUID(int=0)
    while batch := await queries.list_payment_states(db, after=last, most=_BATCH):
        for order in batch:
            state = balance_of(order.payments, order.total, is_canceled=order.is_canceled).state
            if order.payment_state != state:
                findings.append(
                    (order.number, f"payment_state is {order.payment_state}, but its payments give {state}")
                )
        last = batch[-1].order_id
    return findings


async def _report_findings(db: DatabaseSession) -> list[Finding]:
    """Calculates each day again, one at a time. Days that the worker still has to calculate are left out, and those of
    archived orders.
    """
    progress = await report_days.find_progress(db)
    if progress.must_rebuild:
        return []
    zone = find_zone(progress.shop_zone)
    times = await report_days.list_event_times(db, after=progress.position, until=progress.last_position)
    times += await report_days.list_unnumbered_times(db)
    pending_days = {*(day_of(each, zone) for each in times), *await report_days.list_stale(db)}
    pending_days |= set(await report_days.list_frozen(db))
    findings: list[Finding] = []
    for day in await list_all_days(db, day_of(progress.now, zone), zone):
        if day not in pending_days:
            findings += await list_day_findings(db, day, bounds_of(day, zone))
    return findings
