"""Recent audit events of an actor, to find out whether a replica has the actor's changes."""

from datetime import datetime, timedelta
from typing import cast
from uuid import UUID

import msgspec
from sqlalchemy import DateTime, Interval, Uuid, bindparam, func, select

from shop.db.pool import DatabaseSession
from shop.db.statements import into, statement
from shop.models.journal import audit_events


class RecentAudits(msgspec.Struct, frozen=True):
    """The number of audit events since a time of the database."""

    since: datetime
    count: int


_actor = audit_events.c.actor_id == bindparam("actor_id", type_=Uuid)
_since = func.now() - bindparam("window", type_=Interval)
_COUNT_RECENT = statement(
    select(
        _since.label("since"),
        select(func.count()).where(_actor, audit_events.c.at > _since).scalar_subquery().label("count"),
    ),
    into(RecentAudits),
)
_COUNT_SINCE = statement(
    select(func.count()).where(_actor, audit_events.c.at > bindparam("since", type_=DateTime(timezone=True))),
    lambda record: cast(int, record[0]),
)


async def count_recent_audits(db: DatabaseSession, actor_id: UUID, seconds: int) -> RecentAudits:
    (counts,) = await db.all(_COUNT_RECENT, actor_id=actor_id, window=timedelta(seconds=seconds))
    return counts


async def count_audits_since(db: DatabaseSession, actor_id: UUID, since: datetime) -> int:
    return await db.one(_COUNT_SINCE, actor_id=actor_id, since=since) or 0
