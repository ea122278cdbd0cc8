"""Statements for the progress of extensions' listeners: leases, positions and failures."""

from collections.abc import Mapping
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import (
    BigInteger,
    Text,
    and_,
    bindparam,
    column,
    delete,
    func,
    literal_column,
    or_,
    select,
    table,
    update,
)
from sqlalchemy.dialects.postgresql import insert

from shop.base.ids import new_id
from shop.db.pool import DatabaseSession
from shop.db.statements import into, seconds, statement
from shop.models.events import event_counters
from shop.models.extensions.listeners import ExtensionListener
from shop.models.extensions.listeners import extension_listeners as listeners

_now = func.now()
_extension = bindparam("extension", type_=Text)
_name = bindparam("name", type_=Text)
_this = and_(listeners.c.extension == _extension, listeners.c.name == _name)
_by_id = listeners.c.id == bindparam("listener_id", type_=listeners.c.id.type)
_last = select(event_counters.c.last_position).scalar_subquery()


class ListenerState(msgspec.Struct, frozen=True):
    """A listener and the number of events that it has not handled yet."""

    listener: ExtensionListener
    waiting_count: int


def _id(record: Any) -> UUID:
    return cast(UUID, record[0])


def _read_state(record: Any) -> ListenerState:
    values = dict(record)
    waiting_count = values.pop("waiting_count")
    return ListenerState(ExtensionListener(**values), waiting_count)


_ADD = statement(
    insert(listeners)
    .values(
        id=bindparam("listener_id", type_=listeners.c.id.type),
        extension=_extension,
        name=_name,
        position=_last,
        created_at=_now,
        updated_at=_now,
    )
    .on_conflict_do_nothing()
    .returning(listeners.c.id),
    _id,
)
_FIND = statement(select(listeners).where(_this), into(ExtensionListener))
_FIND_BY_ID = statement(select(listeners).where(_by_id), into(ExtensionListener))
_LIST = statement(
    select(listeners, func.greatest(_last - listeners.c.position, 0).label("waiting_count")).order_by(
        listeners.c.extension, listeners.c.name
    ),
    _read_state,
)
_LEASE = statement(
    update(listeners)
    .where(
        _this,
        or_(listeners.c.leased_until.is_(None), listeners.c.leased_until <= _now),
        or_(listeners.c.next_at.is_(None), listeners.c.next_at <= _now),
    )
    .values(leased_until=_now + seconds("lease"))
    .returning(*listeners.c),
    into(ExtensionListener),
)
# Only from the position that this process read: another one that took over has moved it.
_at = listeners.c.position == bindparam("after", type_=BigInteger)
_ADVANCE = statement(
    update(listeners)
    .where(_by_id, _at)
    .values(
        position=bindparam("position", type_=BigInteger),
        failure_count=0,
        next_at=None,
        leased_until=_now + seconds("lease"),
        updated_at=_now,
    )
    .returning(listeners.c.id),
    _id,
)
_FAIL = statement(
    update(listeners)
    .where(_by_id, _at)
    .values(
        failure_count=listeners.c.failure_count + 1,
        next_at=_now + seconds("pause"),
        last_error=bindparam("error", type_=Text),
        failed_at=_now,
        failed_position=bindparam("failed_position", type_=BigInteger),
        leased_until=None,
        updated_at=_now,
    )
    .returning(listeners.c.id),
    _id,
)
_RELEASE = statement(update(listeners).where(_by_id, _at).values(leased_until=None).returning(listeners.c.id), _id)
_RETRY = statement(
    update(listeners)
    .where(_by_id, listeners.c.failure_count > 0)
    .values(next_at=None, updated_at=_now)
    .returning(listeners.c.id),
    _id,
)
_SKIP = statement(
    update(listeners)
    .where(
        _by_id,
        listeners.c.failure_count > 0,
        listeners.c.failed_position == bindparam("failed_position", type_=BigInteger),
        or_(listeners.c.leased_until.is_(None), listeners.c.leased_until <= _now),
    )
    .values(position=listeners.c.failed_position, failure_count=0, next_at=None, updated_at=_now)
    .returning(listeners.c.id),
    _id,
)
_tables = table("pg_class", column("relname", Text), column("relkind", Text), column("relnamespace", BigInteger))
_NAMES_WITH_TABLES = statement(
    select(func.substring(_tables.c.relname, "^x_([a-z][a-z0-9]*)_version$"))
    .where(
        _tables.c.relname.regexp_match("^x_[a-z][a-z0-9]*_version$"),
        _tables.c.relkind == "r",
        _tables.c.relnamespace == literal_column("current_schema()::regnamespace::oid"),
    )
    .order_by(_tables.c.relname),
    lambda record: cast(str, record[0]),
)
_DELETE = statement(delete(listeners).where(listeners.c.extension == _extension).returning(listeners.c.id), _id)


async def add_listener(db: DatabaseSession, extension: str, name: str) -> bool:
    """Adds a listener that starts with the next event; returns whether it is new."""
    return await db.one(_ADD, listener_id=new_id(), extension=extension, name=name) is not None


async def find_listener(db: DatabaseSession, extension: str, name: str) -> ExtensionListener | None:
    return await db.one(_FIND, extension=extension, name=name)


async def find_listener_by_id(db: DatabaseSession, listener_id: UUID) -> ExtensionListener | None:
    return await db.one(_FIND_BY_ID, listener_id=listener_id)


async def list_listeners(db: DatabaseSession) -> Mapping[tuple[str, str], ListenerState]:
    """Returns the state of all listeners by the names of the extension and the listener."""
    return {(each.listener.extension, each.listener.name): each for each in await db.all(_LIST)}


async def lease_listener(db: DatabaseSession, extension: str, name: str, lease: int) -> ExtensionListener | None:
    """Leases a listener; returns None if another process has it, or it waits after a failure."""
    return await db.one(_LEASE, extension=extension, name=name, lease=lease)


async def advance(db: DatabaseSession, listener_id: UUID, *, after: int, position: int, lease: int) -> bool:
    """Moves the position after a success; returns whether this process still runs the listener."""
    return await db.one(_ADVANCE, listener_id=listener_id, after=after, position=position, lease=lease) is not None


async def record_failure(
    db: DatabaseSession, listener_id: UUID, *, after: int, failed_position: int, error: str, pause: int
) -> None:
    values = {"failed_position": failed_position, "error": error, "pause": pause}
    await db.one(_FAIL, listener_id=listener_id, after=after, **values)


async def release(db: DatabaseSession, listener_id: UUID, *, after: int) -> None:
    await db.one(_RELEASE, listener_id=listener_id, after=after)


async def retry_now(db: DatabaseSession, listener_id: UUID) -> bool:
    """Ends the pause after a failure; returns whether there was one."""
    return await db.one(_RETRY, listener_id=listener_id) is not None


async def skip_event(db: DatabaseSession, listener_id: UUID, failed_position: int) -> bool:
    """Moves the position behind the event that failed; returns whether the listener still waits there."""
    return await db.one(_SKIP, listener_id=listener_id, failed_position=failed_position) is not None


async def list_names_with_tables(db: DatabaseSession) -> list[str]:
    """Returns the names of all extensions that have tables, also of those that are not installed."""
    return await db.all(_NAMES_WITH_TABLES)


async def has_listeners(db: DatabaseSession, extension: str) -> bool:
    return any(name == extension for name, _ in await list_listeners(db))


async def delete_listeners(db: DatabaseSession, extension: str) -> int:
    return len(await db.all(_DELETE, extension=extension))
