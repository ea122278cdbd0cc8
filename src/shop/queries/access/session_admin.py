"""Statements that end many sessions at once."""

from collections.abc import Sequence
from datetime import datetime
from typing import cast
from uuid import UUID

from sqlalchemy import ARRAY, BigInteger, DateTime, any_, bindparam, func, select, update
from sqlalchemy import UUID as SQL_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import statement
from shop.models.access.operators import operator_sessions
from shop.models.access.sessions import sessions

_now = func.now()
_before = bindparam("before", type_=DateTime(timezone=True))

_LIST_LIVE = statement(
    select(sessions.c.id)
    .where(
        sessions.c.id > bindparam("after", type_=sessions.c.id.type),
        sessions.c.revoked_at.is_(None),
        sessions.c.absolute_expires_at > _now,
        sessions.c.created_at <= _before,
    )
    .order_by(sessions.c.id)
    .limit(bindparam("most", type_=BigInteger)),
    lambda record: cast(UUID, record[0]),
)
_END = statement(
    update(sessions)
    .where(sessions.c.id == any_(bindparam("ids", type_=ARRAY(SQL_UUID))), sessions.c.revoked_at.is_(None))
    .values(revoked_at=_now, revoke_reason=bindparam("reason"))
    .returning(sessions.c.user_id.is_not(None)),
    lambda record: cast(bool, record[0]),
)
_END_OPERATORS = statement(
    update(operator_sessions)
    .where(operator_sessions.c.revoked_at.is_(None), operator_sessions.c.created_at <= _before)
    .values(revoked_at=_now)
    .returning(operator_sessions.c.created_at > _now - func.make_interval(0, 0, 0, 0, 12)),
    lambda record: cast(bool, record[0]),
)
_CLOCK = statement(select(_now), lambda record: cast(datetime, record[0]))


async def read_clock(db: DatabaseSession) -> datetime:
    return cast(datetime, await db.one(_CLOCK))


async def list_live_sessions(db: DatabaseSession, *, after: UUID, before: datetime, most: int) -> list[UUID]:
    """Returns the ids of live sessions created at or before a time, in id order."""
    return await db.all(_LIST_LIVE, after=after, before=before, most=most)


async def end_sessions(db: DatabaseSession, ids: Sequence[UUID], reason: str) -> list[bool]:
    """Ends sessions; returns for each whether it belonged to a customer, not an application."""
    return await db.all(_END, ids=list(ids), reason=reason)


async def end_operator_sessions(db: DatabaseSession, *, before: datetime) -> int:
    """Ends operator sessions; returns their number, without those that had already expired after 12 hours."""
    return sum(await db.all(_END_OPERATORS, before=before))
