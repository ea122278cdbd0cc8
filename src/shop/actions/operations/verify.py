"""Whether everything adds up: every total, every count, every payment."""

from collections.abc import AsyncIterator
from uuid import UUID

from shop.db.pool import Session
from shop.queries.operations import verify as queries
from shop.queries.operations.verify_promotions import Finding
from shop.rules.checkout.payments import balance_of

_PAYMENT_STATES = "payment states of orders"
_BATCH = 5_000
NAMES = (*queries.NAMES, _PAYMENT_STATES)
"""What is looked at."""


async def verify(db: Session) -> AsyncIterator[tuple[str, list[Finding]]]:
    """Each thing that is looked at, with what is wrong about it; all of it as of one moment."""
    async with db.transaction(is_snapshot=True):
        for name in queries.NAMES:
            yield name, await queries.list_findings(db, name)
        yield _PAYMENT_STATES, await _wrong_payment_states(db)


async def _wrong_payment_states(db: Session) -> list[Finding]:
    """By the rule itself, so that there is no second form of it in SQL."""
    findings: list[Finding] = []
    last = UUID(int=0)
    while batch := await queries.list_payment_states(db, after=last, most=_BATCH):
        for order in batch:
            state = balance_of(order.payments, order.total, is_canceled=order.is_canceled).state
            if order.payment_state != state:
                findings.append((order.number, f"payment_state is {order.payment_state}, its payments say {state}"))
        last = batch[-1].order_id
    return findings
