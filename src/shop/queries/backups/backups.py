"""Statements for the list of backups and the lease of a scheduled one."""

from datetime import datetime
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import (
    BigInteger,
    Boolean,
    Float,
    Text,
    and_,
    bindparam,
    delete,
    func,
    insert,
    literal_column,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.base.listing import CursorPosition
from shop.db.pool import DatabaseSession
from shop.db.statements import into, seconds, statement
from shop.models.backups.backups import Backup, backups

LOCK = 7_426_732
"""Key of the advisory lock of the process that looks whether a backup is due."""
_LEASE: Any = literal_column("interval '1 minute'")
_id = bindparam("id", type_=PG_UUID(as_uuid=True))
_place = bindparam("place", type_=Text())
_is_complete = backups.c.state == literal_column("'complete'")
_is_running = backups.c.state == literal_column("'running'")
_is_failed = backups.c.state == literal_column("'failed'")


class PlaceState(msgspec.Struct, frozen=True):
    """The backups of one place: ages in seconds, and the failures since the last complete one."""

    now: datetime
    seconds_since_complete: float | None
    """Since the start of the newest complete backup, whose snapshot was taken then."""
    failure_count: int
    seconds_since_failure: float | None
    last_error: str | None
    is_running: bool
    """Whether a process has the lease of a scheduled backup."""


def _age(time: Any) -> Any:
    return sql_cast(func.extract("epoch", func.now() - time), Float)


_of_place = backups.c.place == _place
_last_complete = select(func.max(backups.c.started_at)).where(_of_place, _is_complete).scalar_subquery()
_is_recent_failure = and_(_of_place, _is_failed, or_(_last_complete.is_(None), backups.c.started_at > _last_complete))
_STATE = statement(
    select(
        func.now().label("now"),
        _age(_last_complete).label("seconds_since_complete"),
        select(func.count()).select_from(backups).where(_is_recent_failure).scalar_subquery().label("failure_count"),
        select(_age(func.max(backups.c.ended_at)))
        .where(_is_recent_failure)
        .scalar_subquery()
        .label("seconds_since_failure"),
        select(backups.c.error)
        .where(_is_recent_failure)
        .order_by(backups.c.started_at.desc())
        .limit(literal_column("1"))
        .scalar_subquery()
        .label("last_error"),
        select(func.count() > literal_column("0"))
        .select_from(backups)
        .where(_is_running, backups.c.is_scheduled, backups.c.leased_until > func.now())
        .scalar_subquery()
        .label("is_running"),
    ),
    into(PlaceState),
)
_TRY_LOCK = statement(
    select(func.pg_try_advisory_xact_lock(literal_column(str(LOCK)))), lambda record: cast(bool, record[0])
)
_FAIL_EXPIRED = statement(
    update(backups)
    .where(_is_running, backups.c.is_scheduled, backups.c.leased_until <= func.now())
    .values(state=literal_column("'failed'"), ended_at=func.now(), error=bindparam("new_error", type_=Text()))
    .returning(backups),
    into(Backup),
)
_START = statement(
    insert(backups)
    .values(
        id=_id,
        place=_place,
        folder=bindparam("folder", type_=Text()),
        is_scheduled=literal_column("true"),
        started_at=func.now(),
        leased_until=func.now() + _LEASE,
    )
    .returning(backups),
    into(Backup),
)
_EXTEND = statement(
    update(backups)
    .where(backups.c.id == _id, _is_running)
    .values(leased_until=func.now() + _LEASE)
    .returning(backups.c.id),
    lambda record: cast(UUID, record[0]),
)
_results = {
    "size": bindparam("new_size", type_=BigInteger()),
    "image_count": bindparam("new_image_count", type_=BigInteger()),
    "missing_count": bindparam("new_missing_count", type_=BigInteger()),
    "has_keys": bindparam("new_has_keys", type_=Boolean()),
}
_FINISH = statement(
    update(backups)
    .where(backups.c.id == _id, _is_running)
    .values(state=literal_column("'complete'"), ended_at=func.now(), leased_until=None, **_results)
    .returning(backups.c.id),
    lambda record: cast(UUID, record[0]),
)
_FAIL = statement(
    update(backups)
    .where(backups.c.id == _id, _is_running)
    .values(
        state=literal_column("'failed'"),
        ended_at=func.now(),
        leased_until=None,
        error=bindparam("new_error", type_=Text()),
    )
    .returning(backups.c.id),
    lambda record: cast(UUID, record[0]),
)
_FORGET = statement(
    delete(backups).where(backups.c.id == _id, _is_running).returning(backups.c.id),
    lambda record: cast(UUID, record[0]),
)
_RECORD = statement(
    insert(backups)
    .values(
        id=_id,
        place=_place,
        folder=bindparam("folder", type_=Text()),
        state=literal_column("'complete'"),
        started_at=bindparam("started_at", type_=backups.c.started_at.type),
        ended_at=func.now(),
        **_results,
    )
    .returning(backups.c.id),
    lambda record: cast(UUID, record[0]),
)
_is_expired = and_(
    _of_place,
    backups.c.started_at < func.now() - seconds("most_seconds"),
    backups.c.started_at != func.coalesce(_last_complete, literal_column("'-infinity'")),
)
_DELETE_EXPIRED = statement(
    delete(backups).where(_is_expired, ~_is_running).returning(backups.c.id), lambda record: cast(UUID, record[0])
)
_HAS_TABLE = statement(
    select(func.to_regclass(literal_column("'backups'")).is_not(None)), lambda record: cast(bool, record[0])
)
_position = tuple_(backups.c.started_at, backups.c.id)
_cursor = tuple_(bindparam("at", type_=backups.c.started_at.type), _id)
_most = bindparam("most", type_=BigInteger())
_newest_first = select(backups).order_by(backups.c.started_at.desc(), backups.c.id.desc()).limit(_most)
_oldest_first = select(backups).order_by(backups.c.started_at, backups.c.id).limit(_most)
_LIST = statement(_newest_first, into(Backup))
_LIST_BEFORE = statement(_newest_first.where(_position < _cursor), into(Backup))
_LIST_AFTER = statement(_oldest_first.where(_position > _cursor), into(Backup))
_COUNT = statement(select(func.count()).select_from(backups), lambda record: cast(int, record[0]))


async def try_lock(db: DatabaseSession) -> bool:
    return await db.one(_TRY_LOCK) or False


async def find_place_state(db: DatabaseSession, place: str) -> PlaceState:
    return cast(PlaceState, await db.one(_STATE, place=place))


async def fail_interrupted(db: DatabaseSession, error: str) -> list[Backup]:
    """Ends scheduled backups whose lease has ended, because their process did; returns them."""
    return await db.all(_FAIL_EXPIRED, new_error=error)


async def start_backup(db: DatabaseSession, backup_id: UUID, place: str, folder: str) -> Backup:
    """Leases a new scheduled backup for a minute."""
    return cast(Backup, await db.one(_START, id=backup_id, place=place, folder=folder))


async def extend_lease(db: DatabaseSession, backup_id: UUID) -> bool:
    """Returns whether the backup still has its lease."""
    return await db.one(_EXTEND, id=backup_id) is not None


async def finish_backup(db: DatabaseSession, backup_id: UUID, **results: Any) -> None:
    await db.one(_FINISH, id=backup_id, **results)


async def fail_backup(db: DatabaseSession, backup_id: UUID, error: str) -> None:
    await db.one(_FAIL, id=backup_id, new_error=error)


async def forget_backup(db: DatabaseSession, backup_id: UUID) -> None:
    """Deletes an attempt that was canceled, so that another process starts again at once."""
    await db.one(_FORGET, id=backup_id)


async def record_backup(db: DatabaseSession, backup_id: UUID, **values: Any) -> None:
    """Adds a complete backup."""
    await db.one(_RECORD, id=backup_id, **values)


async def delete_expired(db: DatabaseSession, place: str, *, most_seconds: int) -> None:
    """Deletes the entries of a place that are older; never that of the newest complete backup."""
    await db.all(_DELETE_EXPIRED, place=place, most_seconds=most_seconds)


async def has_table(db: DatabaseSession) -> bool:
    """Returns whether the database is migrated so far that it lists backups."""
    return await db.one(_HAS_TABLE) or False


async def list_backups(db: DatabaseSession, cursor: CursorPosition | None, *, most: int) -> list[Backup]:
    """Returns a page of backups, newest first."""
    if cursor is None:
        return await db.all(_LIST, most=most)
    if cursor.side == "before":
        return await db.all(_LIST_BEFORE, at=cursor.at, id=cursor.id, most=most)
    return (await db.all(_LIST_AFTER, at=cursor.at, id=cursor.id, most=most))[::-1]


async def count_backups(db: DatabaseSession) -> int:
    return await db.one(_COUNT) or 0
