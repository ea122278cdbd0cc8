"""Provider charges during completion: limits on concurrent calls, and the work after a call, which must not be lost.

Excess requests are rejected before anything is charged. After a charge, its work waits longer for a connection than
requests do, takes precedence over them, and is retried while the database is unavailable.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from uuid import UUID

import structlog

from shop.actions.context import Context
from shop.actions.payments.saved_cards import save_card
from shop.actions.payments.settlement import PROVIDER_SECONDS, call_provider, find_outcome, settle
from shop.base.errors import PaymentInProgress, Unavailable
from shop.db.connections import URGENT_SECONDS
from shop.db.pool import LIMIT_SECONDS
from shop.gateways.payments import UNKNOWN, Call, Provider, Result
from shop.models.cart.orders import Order

CHARGES_PER_CONNECTION = 16
"""The maximum number of concurrent calls per process; it can record this many results in time if all arrive at once."""
AFTER_SECONDS = 10.0
"""Time limit for recording and returning the outcome of a call."""
PAUSE_SECONDS = 0.25
FLIGHT_SECONDS = PROVIDER_SECONDS + 5
"""After this time no request still waits for the provider's answer."""
REPEAT_SECONDS = 300
"""How long a call that never arrived may be repeated; well below the time after which the worker gives up."""
_log = structlog.get_logger("shop.payments")


@contextmanager
def reserve_charge_slot(ctx: Context) -> Iterator[None]:
    """Reserves a slot for a charge while it is prepared. Raises Unavailable if this process already has as many charges
    as it can record. Charges in preparation count too, so that a burst cannot exceed the limit.
    """
    shared = ctx.shared
    if (
        len(shared.charges_in_progress) + shared.charges_starting
        >= CHARGES_PER_CONNECTION * shared.settings.database_pool
    ):
        raise Unavailable()
    shared.charges_starting += 1
    try:
        yield
    finally:
        shared.charges_starting -= 1


@contextmanager
def lock_charge(ctx: Context, call: Call, *, was_made: bool) -> Iterator[None]:
    """Ensures that only one request of this process at a time asks the provider about a call that was made before. The
    request that is to make the call always may: another one may ask about it as soon as the attempt is committed.
    """
    if was_made and call.key in ctx.shared.charges_in_progress:
        raise PaymentInProgress()
    ctx.shared.charges_in_progress.add(call.key)
    try:
        yield
    finally:
        ctx.shared.charges_in_progress.discard(call.key)


async def query_outcome(provider: Provider, call: Call, *, may_be_in_flight: bool, may_repeat: bool) -> Result:
    """Returns the outcome of an earlier call. A call that never arrived is repeated under the same key, so that it runs
    once. While the first request may still be in flight, a refusal is not final, and nothing is repeated.
    """
    try:
        # Both calls share the time limit of one.
        async with asyncio.timeout(PROVIDER_SECONDS):
            return await _query_outcome(provider, call, may_be_in_flight=may_be_in_flight, may_repeat=may_repeat)
    except TimeoutError:
        return UNKNOWN


async def _query_outcome(provider: Provider, call: Call, *, may_be_in_flight: bool, may_repeat: bool) -> Result:
    result = await find_outcome(provider, call)
    if result is None or (may_be_in_flight and result.outcome == "declined"):
        return UNKNOWN
    if result == UNKNOWN and may_repeat:
        return await call_provider(provider, call)
    return result


async def settle_charge(ctx: Context, order_id: UUID, attempt_id: UUID, result: Result) -> Order:
    """Records the outcome of a call; the request's own session gets the remaining time to return it."""
    end = monotonic() + AFTER_SECONDS
    while True:
        try:
            order = await settle(_urgent_context(ctx, end), order_id, attempt_id, result)
            break
        except Unavailable:
            if monotonic() + PAUSE_SECONDS >= end:
                raise
            await asyncio.sleep(PAUSE_SECONDS)
    try:
        await save_card(_urgent_context(ctx, end), attempt_id, result)
    except Unavailable:
        _log.warning("a card was not saved: the database is not available", order=order.number)
    ctx.db.seconds, ctx.db.patience = max(1.0, end - monotonic()), URGENT_SECONDS
    return order


def _urgent_context(ctx: Context, end: float) -> Context:
    urgent_context = ctx.with_new_session()
    urgent_context.db.is_bounded, urgent_context.db.patience = True, URGENT_SECONDS
    urgent_context.db.seconds = min(LIMIT_SECONDS, end - monotonic())
    return urgent_context
