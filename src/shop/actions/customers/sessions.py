"""Operator actions on customer access: end sessions, disable and enable customers."""

from uuid import UUID

from shop.actions.audit import audit
from shop.actions.context import Context
from shop.actions.customers.account import lock_account
from shop.actions.event_subjects import CUSTOMER
from shop.actions.events import note_locked
from shop.base.errors import NotFound
from shop.queries.access import sessions as session_queries
from shop.queries.customers import customers

_REASON = "ended by an operator"


async def end_session(ctx: Context, user_id: UUID, session_id: UUID) -> None:
    async with ctx.db.transaction():
        if not await session_queries.end_users_session(ctx.db, session_id=session_id, user_id=user_id, reason=_REASON):
            raise NotFound()
        await audit(ctx, "session_end", "done", subject_id=user_id, detail={"session_id": str(session_id)})


async def end_all_sessions(ctx: Context, user_id: UUID) -> None:
    async with ctx.db.transaction():
        count = await customers.end_sessions(ctx.db, user_id, _REASON)
        await audit(ctx, "sessions_end", "done", subject_id=user_id, detail={"count": count})


async def disable_customer(ctx: Context, user_id: UUID) -> None:
    """Disables a customer and ends their sessions, which would otherwise work again once the customer is enabled."""
    async with ctx.db.transaction():
        await note_locked(ctx, CUSTOMER, user_id)
        if await customers.set_disabled(ctx.db, user_id, is_disabled=True):
            count = await customers.end_sessions(ctx.db, user_id, "the user was disabled")
            await audit(ctx, "user_disabled", "done", subject_id=user_id, detail={"sessions_ended": count})


async def enable_customer(ctx: Context, user_id: UUID) -> None:
    async with ctx.db.transaction():
        await lock_account(ctx, user_id)
        await note_locked(ctx, CUSTOMER, user_id)
        if await customers.set_disabled(ctx.db, user_id, is_disabled=False):
            await audit(ctx, "user_enabled", "done", subject_id=user_id)
