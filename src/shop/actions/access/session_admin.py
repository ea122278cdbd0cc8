"""Ends sessions from the command line: of one person, or of everyone."""

from collections.abc import Callable
from uuid import UUID

import msgspec

from shop.actions.audit import audit
from shop.actions.context import Context
from shop.base.email import read_email
from shop.base.errors import Invalid, NotFound
from shop.queries.access import operator_links, operators, session_admin
from shop.queries.access.sessions import end_users_sessions
from shop.queries.customers import customers

_BATCH = 1000
_FIRST = UUID(int=0)
_REASON = "ended from the command line"


class EndedSessions(msgspec.Struct, frozen=True):
    """The number of ended sessions by kind of owner."""

    customers: int = 0
    applications: int = 0
    operators: int = 0


async def end_sessions_of(ctx: Context, typed_email: str) -> EndedSessions:
    """Ends the sessions of the customer and of the operator with this address."""
    email = read_email(typed_email.strip())
    if email is None:
        raise Invalid({"email": ["Give an e-mail address like ada@example.com."]})
    user_id = (await customers.find_by_keys(ctx.db, [email.key])).get(email.key)
    operator = await operators.find_by_key(ctx.db, email.key)
    if user_id is None and operator is None:
        raise NotFound(f"There is no customer and no operator with the address {email.address}.")
    of_user, of_operator = 0, 0
    async with ctx.db.transaction():
        if user_id:
            of_user = await end_users_sessions(ctx.db, user_id, _REASON)
            await audit(ctx, "sessions_end", "done", subject_id=user_id, detail={"count": of_user})
        if operator:
            of_operator = await operators.end_other_sessions(ctx.db, operator.id, kept_id=None)
            await operator_links.end_links(ctx.db, operator.id)
            await audit(ctx, "sessions_end", "done", subject_id=operator.id, detail={"count": of_operator})
    return EndedSessions(customers=of_user, operators=of_operator)


async def end_all_sessions(ctx: Context, advance: Callable[[int], None]) -> EndedSessions:
    """Ends all sessions that began before now, in batches; calls `advance` with each number ended."""
    moment, after, users, applications = await session_admin.read_clock(ctx.db), _FIRST, 0, 0
    while batch := await session_admin.list_live_sessions(ctx.db, after=after, before=moment, most=_BATCH):
        after = batch[-1]
        async with ctx.db.transaction():
            user_flags = await session_admin.end_sessions(ctx.db, batch, _REASON)
        users += sum(1 for is_users in user_flags if is_users)
        applications += sum(1 for is_users in user_flags if not is_users)
        advance(len(user_flags))
    async with ctx.db.transaction():
        of_operators = await session_admin.end_operator_sessions(ctx.db, before=moment)
        result = EndedSessions(customers=users, applications=applications, operators=of_operators)
        await audit(ctx, "sessions_end", "done", detail={"all": True, **msgspec.structs.asdict(result)})
    advance(of_operators)
    return result
