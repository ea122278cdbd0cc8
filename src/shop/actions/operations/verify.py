"""Verifies the consistency of stored totals, counts and payments."""

from collections.abc import AsyncIterator
from uuid import UUID

from shop.db.pool import DatabaseSession
from shop.queries.operations import verify as queries
from shop.queries.operations.verify_promotions import Finding
from shop.rules.checkout.payments import balance_of

_PAYMENT_STATES = "payment states of orders"
_BATCH = 5_000
NAMES = (*queries.NAMES, _PAYMENT_STATES)
"""The names of the checks."""


async def find_inconsistencies(db: DatabaseSession) -> AsyncIterator[tuple[str, list[Finding]]]:
    """Yields each check with its findings, all from one snapshot."""
    async with db.transaction(is_snapshot=True):
        for name in queries.NAMES:
            yield name, await queries.list_findings(db, name)
        yield _PAYMENT_STATES, await _payment_state_findings(db)


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
