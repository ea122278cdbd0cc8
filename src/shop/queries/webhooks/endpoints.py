"""Statements for webhook endpoints: leases of their queues, positions, and their state."""

from datetime import datetime
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, Text, and_, bindparam, exists, func, literal_column, or_, select, update

from shop.db.pool import DatabaseSession
from shop.db.statements import into, seconds, statement
from shop.models.events import events
from shop.models.webhooks.deliveries import webhook_deliveries as deliveries
from shop.models.webhooks.endpoints import WebhookEndpoint
from shop.models.webhooks.endpoints import webhook_endpoints as endpoints

_now = func.now()
_epoch = func.extract("epoch", func.clock_timestamp())
_is_active = and_(endpoints.c.enabled, endpoints.c.deleted_at.is_(None))
_this = endpoints.c.id == bindparam("endpoint_id", type_=endpoints.c.id.type)
_process = bindparam("process_id", type_=endpoints.c.leased_by.type)
_is_own = and_(endpoints.c.leased_by == _process, endpoints.c.leased_until > _now)


class LeasedEndpoint(msgspec.Struct, frozen=True):
    """An endpoint whose queue belongs to this process."""

    endpoint: WebhookEndpoint
    has_due: bool
    """Whether a delivery is due."""
    pause: float
    """Seconds until the end of its pause; not positive if it has none."""
    now: float
    """The time of the database, in seconds since 1970."""


class EndpointHealth(msgspec.Struct, frozen=True):
    """What the result of an attempt changes."""

    failing_since: float | None
    now: float


def _id(record: Any) -> UUID:
    return cast(UUID, record[0])


def _read_lease(record: Any) -> LeasedEndpoint:
    values = dict(record)
    facts = {name: values.pop(name) for name in ("has_due", "pause", "now")}
    return LeasedEndpoint(WebhookEndpoint(**values), facts["has_due"], float(facts["pause"] or 0), float(facts["now"]))


_free = (
    select(endpoints.c.id)
    .where(_is_active, or_(endpoints.c.leased_until.is_(None), endpoints.c.leased_until <= _now))
    .order_by(endpoints.c.leased_until.nulls_first(), endpoints.c.id)
    .limit(bindparam("most", type_=BigInteger))
    .with_for_update(skip_locked=True)
)
_LEASE = statement(
    update(endpoints)
    .where(endpoints.c.id.in_(_free))
    .values(leased_by=_process, leased_until=_now + seconds("lease"))
    .returning(endpoints.c.id),
    _id,
)
# Only rows that need it, so that most rounds write nothing.
_RENEW = statement(
    update(endpoints)
    .where(_is_own, _is_active, endpoints.c.leased_until < _now + seconds("left"))
    .values(leased_until=_now + seconds("lease"))
    .returning(endpoints.c.id),
    _id,
)
_RELEASE = statement(
    update(endpoints)
    .where(endpoints.c.leased_by == _process)
    .values(leased_by=None, leased_until=None)
    .returning(endpoints.c.id),
    _id,
)
_LIST_OWN = statement(
    select(
        endpoints,
        exists()
        .where(
            deliveries.c.endpoint_id == endpoints.c.id,
            deliveries.c.state == literal_column("'pending'"),
            deliveries.c.next_at <= _now,
        )
        .label("has_due"),
        func.extract("epoch", endpoints.c.paused_until - _now).label("pause"),
        _epoch.label("now"),
    ).where(_is_own, _is_active),
    _read_lease,
)
_ADVANCE = statement(
    update(endpoints)
    .where(_this, _is_own, _is_active, endpoints.c.position == bindparam("before", type_=BigInteger))
    .values(position=bindparam("after", type_=BigInteger))
    .returning(endpoints.c.id),
    _id,
)
_ADVANCE_REPLAY = statement(
    update(endpoints)
    .where(_this, _is_own, _is_active, endpoints.c.replay_position == bindparam("before", type_=BigInteger))
    .values(
        replay_position=func.nullif(
            func.least(bindparam("after", type_=BigInteger), endpoints.c.replay_until), endpoints.c.replay_until
        ),
    )
    .returning(endpoints.c.id),
    _id,
)
_LOCK_OWN = statement(
    select(func.extract("epoch", endpoints.c.failing_since), _epoch)
    .where(_this, _is_own)
    .with_for_update(key_share=True),
    lambda record: EndpointHealth(None if record[0] is None else float(record[0]), float(record[1])),
)
_LOCK = statement(select(endpoints).where(_this, _is_active).with_for_update(key_share=True), into(WebhookEndpoint))
_FIND = statement(select(endpoints).where(_this, endpoints.c.deleted_at.is_(None)), into(WebhookEndpoint))
_LOCK_ANY = statement(
    select(endpoints.c.id).where(_this, endpoints.c.deleted_at.is_(None)).with_for_update(key_share=True), _id
)
_MARK_SUCCESS = statement(update(endpoints).where(_this).values(failing_since=None).returning(endpoints.c.id), _id)
_pause_end = _now + seconds("pause")
_MARK_FAILURE = statement(
    update(endpoints)
    .where(_this)
    .values(
        failing_since=func.coalesce(endpoints.c.failing_since, _now),
        # Greatest ignores null.
        paused_until=func.greatest(endpoints.c.paused_until, _pause_end),
    )
    .returning(endpoints.c.id),
    _id,
)
_DISABLE = statement(
    update(endpoints)
    .where(_this, _is_active)
    .values(
        enabled=False,
        disabled_at=_now,
        disabled_reason=bindparam("reason", type_=Text()),
        updated_at=_now,
    )
    .returning(endpoints.c.url),
    lambda record: cast(str, record[0]),
)
_ENABLE = statement(
    update(endpoints)
    .where(_this)
    .values(
        enabled=True,
        position=bindparam("end", type_=BigInteger),
        replay_position=None,
        replay_until=None,
        failing_since=None,
        paused_until=None,
        disabled_at=None,
        disabled_reason=None,
        updated_at=_now,
    )
    .returning(endpoints.c.id),
    _id,
)
_DELETE = statement(
    update(endpoints)
    .where(_this, endpoints.c.deleted_at.is_(None))
    .values(enabled=False, deleted_at=_now, updated_at=_now)
    .returning(endpoints.c.id),
    _id,
)
_START_REPLAY = statement(
    update(endpoints)
    .where(_this, _is_active, endpoints.c.replay_position.is_(None))
    .values(replay_position=bindparam("after", type_=BigInteger), replay_until=bindparam("until", type_=BigInteger))
    .returning(endpoints.c.id),
    _id,
)
_COUNT = statement(
    select(func.count()).select_from(endpoints).where(endpoints.c.deleted_at.is_(None)),
    lambda record: cast(int, record[0]),
)
_is_numbered = events.c.position.is_not(None)
_FIRST_SINCE = statement(
    select(events.c.position)
    .where(events.c.occurred_at >= bindparam("since"), _is_numbered)
    .order_by(events.c.occurred_at, events.c.position)
    .limit(literal_column("1")),
    lambda record: cast(int | None, record[0]),
)
_LAST_UNTIL = statement(
    select(events.c.position)
    .where(events.c.occurred_at <= bindparam("until"), _is_numbered)
    .order_by(events.c.occurred_at.desc(), events.c.position.desc())
    .limit(literal_column("1")),
    lambda record: cast(int | None, record[0]),
)


async def lease_free(db: DatabaseSession, process_id: UUID, *, most: int, lease: int) -> int:
    """Leases endpoints that no process delivers to; returns their number."""
    return len(await db.all(_LEASE, process_id=process_id, most=most, lease=lease))


async def renew_leases(db: DatabaseSession, process_id: UUID, *, lease: int, left: int) -> None:
    """Renews the leases of a process that end within `left` seconds."""
    await db.all(_RENEW, process_id=process_id, lease=lease, left=left)


async def release_leases(db: DatabaseSession, process_id: UUID) -> None:
    await db.all(_RELEASE, process_id=process_id)


async def list_own(db: DatabaseSession, process_id: UUID) -> list[LeasedEndpoint]:
    """Returns the endpoints that a process delivers to."""
    return await db.all(_LIST_OWN, process_id=process_id)


async def advance(
    db: DatabaseSession, endpoint_id: UUID, process_id: UUID, *, before: int, after: int, is_replay: bool
) -> bool:
    """Moves the position of an endpoint, or that of its replay; locks its row. Returns False if the lease has ended or
    the position is another one.
    """
    query = _ADVANCE_REPLAY if is_replay else _ADVANCE
    return await db.one(query, endpoint_id=endpoint_id, process_id=process_id, before=before, after=after) is not None


async def lock_own(db: DatabaseSession, endpoint_id: UUID, process_id: UUID) -> EndpointHealth | None:
    """Locks an endpoint; returns None if the lease has ended."""
    return await db.one(_LOCK_OWN, endpoint_id=endpoint_id, process_id=process_id)


async def lock_active(db: DatabaseSession, endpoint_id: UUID) -> WebhookEndpoint | None:
    """Locks an enabled endpoint."""
    return await db.one(_LOCK, endpoint_id=endpoint_id)


async def lock_endpoint(db: DatabaseSession, endpoint_id: UUID) -> bool:
    """Locks an endpoint, enabled or not; returns False if there is none."""
    return await db.one(_LOCK_ANY, endpoint_id=endpoint_id) is not None


async def find_endpoint(db: DatabaseSession, endpoint_id: UUID) -> WebhookEndpoint | None:
    return await db.one(_FIND, endpoint_id=endpoint_id)


async def mark_success(db: DatabaseSession, endpoint_id: UUID) -> None:
    await db.one(_MARK_SUCCESS, endpoint_id=endpoint_id)


async def mark_failure(db: DatabaseSession, endpoint_id: UUID, pause: int) -> None:
    await db.one(_MARK_FAILURE, endpoint_id=endpoint_id, pause=pause)


async def disable(db: DatabaseSession, endpoint_id: UUID, reason: str) -> str | None:
    """Disables an endpoint; returns its URL, or None if it is not enabled."""
    return await db.one(_DISABLE, endpoint_id=endpoint_id, reason=reason)


async def enable(db: DatabaseSession, endpoint_id: UUID, end: int) -> None:
    """Enables an endpoint; its queue starts at the end of the log."""
    await db.one(_ENABLE, endpoint_id=endpoint_id, end=end)


async def delete_endpoint(db: DatabaseSession, endpoint_id: UUID) -> bool:
    return await db.one(_DELETE, endpoint_id=endpoint_id) is not None


async def start_replay(db: DatabaseSession, endpoint_id: UUID, *, after: int, until: int) -> bool:
    """Returns False if the endpoint is not enabled or a replay is in progress."""
    return await db.one(_START_REPLAY, endpoint_id=endpoint_id, after=after, until=until) is not None


async def count_endpoints(db: DatabaseSession) -> int:
    return await db.one(_COUNT) or 0


async def find_positions(
    db: DatabaseSession, since: datetime | None, until: datetime | None
) -> tuple[int | None, int | None]:
    """Returns the positions of the first event since a time and of the last one until a time."""
    return (
        await db.one(_FIRST_SINCE, since=since) if since else None,
        await db.one(_LAST_UNTIL, until=until) if until else None,
    )
