"""Statements of the event log: insert, number, read, and create or drop its partitions."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import (
    BigInteger,
    Integer,
    Table,
    Text,
    and_,
    bindparam,
    column,
    delete,
    exists,
    func,
    literal_column,
    or_,
    select,
    update,
)
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, insert

from shop.db.pool import DatabaseSession
from shop.db.statements import into, opaque_param, statement
from shop.models.cart.timeline import timeline_entries
from shop.models.events import Event, event_counters, events
from shop.models.journal import audit_events
from shop.queries.event_mails import INSERT_MAILS, describe_mails
from shop.rules.mail_events import MailRequest

STOCK_CHANGED = "stock.changed"
_LOCK_KEY = 7_426_733
_SECOND = timedelta(seconds=1)
_COLUMNS = ("id", "type", "ordinal", "actor_kind", "actor_id", "subject_type", "subject_id", "row", "links", "before")
_AUDIT_COLUMNS = (
    *("id", "actor_kind", "actor_id", "action", "outcome", "subject_id", "subject_type", "source", "request_id"),
    *("detail", "changes"),
)
_TIMELINE_COLUMNS = ("id", "order_id", "user_id", "type", "ordinal", "actor_kind", "actor_id", "facts")


class SequencerStart(msgspec.Struct, frozen=True):
    """Whether this process may number events, and what there is to do."""

    is_locked: bool
    has_events: bool
    has_due_stock: bool
    """Whether there are stock changes to be merged and numbered."""


def _rows_of(table: Table, parameter: str, names: Sequence[str]) -> Any:
    """Returns the rows of a table that a parameter contains as JSON."""
    return func.jsonb_populate_recordset(
        literal_column(f"null::{table.name}"), bindparam(parameter, type_=JSONB)
    ).table_valued(*(column(name, table.c[name].type) for name in names), name=parameter)


_new = _rows_of(events, "rows", _COLUMNS)
_new_audit = _rows_of(audit_events, "audit_rows", _AUDIT_COLUMNS)
_new_entries = _rows_of(timeline_entries, "entries", _TIMELINE_COLUMNS)
# Not `now()`, which is the start of the transaction: two transactions that change one record would then have their
# events in the wrong order if the second one started first.
_insert = (
    insert(events)
    .from_select([*_COLUMNS, "occurred_at"], select(*(_new.c[name] for name in _COLUMNS), func.statement_timestamp()))
    .add_cte(
        insert(audit_events)
        .from_select([*_AUDIT_COLUMNS, "at"], select(*(_new_audit.c[name] for name in _AUDIT_COLUMNS), func.now()))
        .cte("new_audit_events"),
        insert(timeline_entries)
        .from_select(
            [*_TIMELINE_COLUMNS, "at"],
            select(*(_new_entries.c[name] for name in _TIMELINE_COLUMNS), func.statement_timestamp()),
        )
        .cte("new_timeline_entries"),
    )
    .returning(events.c.id)
)
_INSERT = statement(_insert, lambda record: cast(UUID, record[0]))
_INSERT_WITH_MAILS = statement(_insert.add_cte(INSERT_MAILS.cte("new_mails")), lambda record: cast(UUID, record[0]))
_is_new = events.c.position.is_(None)
_is_stock = events.c.type == literal_column(f"'{STOCK_CHANGED}'")
# A stock change waits until a second after its own has ended: a later one of that second replaces it, and may still be
# being committed. All of one second become due together, so that they are merged once. `now()` is the same for all
# statements of a transaction.
_merged_until = func.date_trunc("second", func.now() - _SECOND)
_is_due = or_(~_is_stock, events.c.occurred_at < _merged_until)
_later = events.alias("later")
_MERGE_STOCK = statement(
    delete(events)
    .where(
        _is_new,
        _is_stock,
        exists().where(
            _later.c.position.is_(None),
            _later.c.type == events.c.type,
            _later.c.subject_id == events.c.subject_id,
            _later.c.occurred_at < func.date_trunc("second", events.c.occurred_at) + _SECOND,
            or_(
                _later.c.occurred_at > events.c.occurred_at,
                and_(_later.c.occurred_at == events.c.occurred_at, _later.c.ordinal > events.c.ordinal),
            ),
        ),
    )
    .returning(events.c.id),
    lambda record: cast(UUID, record[0]),
)
_order = (events.c.occurred_at, events.c.ordinal, events.c.id)
_batch = (
    select(events.c.id, events.c.occurred_at, func.row_number().over(order_by=_order).label("number"))
    .where(_is_new, _is_due)
    .order_by(*_order)
    .limit(opaque_param("most", BigInteger))
    .cte("batch")
)
_size = select(func.count()).select_from(_batch).scalar_subquery()
_counter = (
    update(event_counters)
    .values(last_position=event_counters.c.last_position + _size)
    .returning(event_counters.c.last_position)
    .cte("counter")
)
_NUMBER = statement(
    update(events)
    .where(events.c.id == _batch.c.id, events.c.occurred_at == _batch.c.occurred_at)
    .values(position=select(_counter.c.last_position).scalar_subquery() - _size + _batch.c.number)
    .returning(events.c.position),
    lambda record: cast(int, record[0]),
)
_START = statement(
    select(
        func.pg_try_advisory_xact_lock(literal_column(str(_LOCK_KEY))),
        exists().where(_is_new),
        exists().where(_is_new, _is_stock, _is_due),
    ),
    lambda record: SequencerStart(*record),
)
_LAST_POSITION = statement(select(event_counters.c.last_position), lambda record: cast(int, record[0]))
_after = events.c.position > opaque_param("after", BigInteger)
_until = events.c.position <= opaque_param("until", BigInteger)
_most = bindparam("most", type_=BigInteger)
_LIST = statement(
    select(events).where(_after, _until).order_by(events.c.position).limit(_most),
    into(Event),
)
_patterns = opaque_param("patterns", ARRAY(Text()))
_LIST_BY_TYPE = statement(
    select(events)
    .where(_after, _until, events.c.type.like(func.any(_patterns)))
    .order_by(events.c.position)
    .limit(_most),
    into(Event),
)
_FIND = statement(select(events).where(events.c.id == bindparam("id")), into(Event))
_CREATE_PARTITIONS = statement(
    select(func.create_event_partitions(sql_cast(bindparam("days"), Integer))), lambda record: cast(int, record[0])
)
_DROP_PARTITIONS = statement(
    select(func.drop_event_partitions(sql_cast(bindparam("days"), Integer))), lambda record: cast(int, record[0])
)
_FIRST_POSITION = statement(select(func.min(events.c.position)), lambda record: cast(int | None, record[0]))


async def insert_events(
    db: DatabaseSession,
    rows: Sequence[Mapping[str, Any]],
    audit_rows: Sequence[Mapping[str, Any]],
    entries: Sequence[Mapping[str, Any]],
    mails: Sequence[MailRequest] = (),
    source: str | None = None,
) -> None:
    """Inserts events, audit events, timeline entries and e-mails in one statement; see `insert_mails`."""
    values = {"rows": rows, "audit_rows": audit_rows, "entries": entries}
    if mails:
        await db.all(_INSERT_WITH_MAILS, **values, **describe_mails(mails, source))
    else:
        await db.all(_INSERT, **values)


async def number_events(db: DatabaseSession, most: int) -> int | None:
    """Numbers a batch of committed events in the caller's transaction; returns their count, or None if another process
    is doing so.
    """
    start = await db.one(_START)
    if start is None or not start.is_locked:
        return None
    if not start.has_events:
        return 0
    if start.has_due_stock:
        await db.all(_MERGE_STOCK)
    return len(await db.all(_NUMBER, most=most))


async def last_position(db: DatabaseSession) -> int:
    return await db.one(_LAST_POSITION) or 0


async def first_position(db: DatabaseSession) -> int | None:
    """Returns the position of the oldest event that is kept."""
    return await db.one(_FIRST_POSITION)


async def list_events(
    db: DatabaseSession, *, after: int, until: int, most: int, patterns: Sequence[str] = ()
) -> list[Event]:
    """Returns events by position, only those whose type matches one of the LIKE patterns if there are any."""
    if patterns:
        return await db.all(_LIST_BY_TYPE, after=after, until=until, most=most, patterns=list(patterns))
    return await db.all(_LIST, after=after, until=until, most=most)


async def find_event(db: DatabaseSession, event_id: UUID) -> Event | None:
    return await db.one(_FIND, id=event_id)


async def create_partitions(db: DatabaseSession, days: int) -> int:
    return await db.one(_CREATE_PARTITIONS, days=days) or 0


async def drop_partitions(db: DatabaseSession, days: int) -> int:
    """Drops the partitions of days that are more than `days` ago; returns their number."""
    return await db.one(_DROP_PARTITIONS, days=days) or 0
