"""Writes the event log, the audit and the timelines: `note_change` notes that a record changes, and the end of the
transaction stores its events and queues their e-mails.

The events follow from the row before the change and the row at the commit, so that nothing is written for a change that
has no effect, and every reader sees the state after the change, however late it reads.
"""

from collections.abc import Mapping, Sequence, Set
from typing import Any
from uuid import UUID

import msgspec

from shop.actions.context import Context
from shop.actions.mail_events import mail_source, select_mails
from shop.base.actor import Actor
from shop.base.ids import new_id
from shop.base.money import major_units, plain_decimal
from shop.queries import events, journal, records, snapshots
from shop.queries.customers import restocks
from shop.queries.records import Records
from shop.queries.snapshots import RecordSnapshot
from shop.rules.audit import AUDITED_ACTORS, Change, compare_values, name_action
from shop.rules.events import changed_fields, list_event_types
from shop.rules.mail_events import MailRequest, list_mails
from shop.rules.personal_data import SECRETS
from shop.rules.timeline import collect_facts, find_owner

MAX_ROW_BYTES = 64 * 1024
"""The size of the largest row that is stored with an event."""
STOCK_BACK = "stock.back"


class Subject(msgspec.Struct, frozen=True, eq=False):
    """A kind of record that events are about: its type in the Platform API and how to read it."""

    type: str
    records: Records


class NotedChange(msgspec.Struct, frozen=True, kw_only=True):
    """A record that the current transaction changes."""

    subject: Subject
    record_id: UUID
    before: Any = None
    """The row before the change; None for a new record."""
    after: Any = None
    """The row after the change, if it is known already, or the last row of a deleted record; otherwise it is read at
    the end of the transaction.
    """
    is_deleted: bool = False
    has_other_changes: bool = False
    """Whether something changes that is not a column of the row, such as the ids of related records."""
    type: str | None = None
    """The type of its event, if it does not follow from the rows."""


class NotedAction(msgspec.Struct, frozen=True, kw_only=True):
    """An audit event that the end of the transaction writes, with the changes of its record."""

    id: UUID
    actor: Actor
    action: str
    outcome: str = "done"
    subject_id: UUID | None = None
    subject_type: str | None = None
    detail: Mapping[str, object] = {}
    changes: Mapping[str, Change] | None = None
    """The changes, if they are not those of a row."""
    record_id: UUID | None = None
    """The record whose changes it has."""


class RecordChange(msgspec.Struct, frozen=True):
    """What a transaction did to a record: its row before and after, and the types of its events."""

    subject: Subject
    before: Any
    after: Any
    types: Sequence[str]


def note_action(ctx: Context, action: NotedAction) -> None:
    """Notes an audit event of the current transaction."""
    ctx.db.pending["audit", action.id, None] = action
    ctx.db.before_commit = lambda: _write(ctx)


def note_change(
    ctx: Context, subject: Subject, record_id: UUID, before: Any = None, *, has_other_changes: bool = False
) -> None:
    """Notes that the transaction creates a record, or changes one whose row was `before`."""
    _note(
        ctx,
        NotedChange(subject=subject, record_id=record_id, before=before, has_other_changes=has_other_changes),
    )


async def note_locked(ctx: Context, subject: Subject, *record_ids: UUID) -> None:
    """Notes that the transaction may change existing records; locks them and reads their rows."""
    for record_id in sorted(record_ids):
        if row := await records.lock_record(ctx.db, subject.records, record_id):
            note_change(ctx, subject, record_id, row)


async def note_rows(ctx: Context, subject: Subject, record_ids: Sequence[UUID], *, is_deleted: bool = False) -> None:
    """Notes that the transaction may change or deletes records that the caller has locked; reads their rows."""
    if record_ids:
        for snapshot in await snapshots.list_snapshots(ctx.db, {subject.records: record_ids}):
            if is_deleted:
                note_deletion(ctx, subject, snapshot.row)
            else:
                note_change(ctx, subject, snapshot.row.id, snapshot.row)


def note_replacement(ctx: Context, subject: Subject, before: Any, after: Any) -> None:
    """Notes that the transaction changes a record from one row to another."""
    _note(ctx, NotedChange(subject=subject, record_id=after.id, before=before, after=after))


def note_deletion(ctx: Context, subject: Subject, before: Any) -> None:
    """Notes that the transaction deletes a record whose whole row, as the Platform API shows it, was `before`."""
    _note(ctx, NotedChange(subject=subject, record_id=before.id, before=before, after=before, is_deleted=True))


def note_event(ctx: Context, type_: str, subject: Subject, record_id: UUID) -> None:
    """Notes something that happened to a record without changing its row."""
    _note(ctx, NotedChange(subject=subject, record_id=record_id, type=type_))


def _note(ctx: Context, change: NotedChange) -> None:
    if not ctx.logs_events:
        return
    if not ctx.db.is_in_transaction:
        raise AssertionError(f"a change of a {change.subject.type} is not part of a transaction")
    pending: dict[tuple[str, UUID, str | None], NotedChange] = ctx.db.pending
    ctx.db.before_commit = lambda: _write(ctx)
    ctx.db.wakes.add(ctx.shared.event_tail.pending)
    key = change.subject.type, change.record_id, change.type
    if earlier := pending.get(key):
        # Several steps of one change: the first one knows the row before it, the last one whether it remains.
        change = msgspec.structs.replace(
            change,
            before=earlier.before,
            has_other_changes=earlier.has_other_changes or change.has_other_changes,
        )
    pending[key] = change


async def _write(ctx: Context) -> None:
    pending = tuple(ctx.db.pending.values())
    actions = [each for each in pending if isinstance(each, NotedAction)]
    changes = [each for each in pending if isinstance(each, NotedChange)]
    latest = await _load_snapshots(ctx, changes)
    rows: list[dict[str, Any]] = []
    record_changes: dict[UUID, RecordChange] = {}
    mails: list[MailRequest] = []
    restocked_ids: list[UUID] = []
    for change in changes:
        snapshot = latest.get((change.subject.records, change.record_id))
        after = None if change.is_deleted else snapshot.row if snapshot else change.after
        types = _list_types(change, after)
        if types:
            columns = {**_describe(change, after, snapshot.links if snapshot else {}), **_actor(ctx)}
            rows += [
                {"id": new_id(), "type": type_, "ordinal": len(rows) + n, **columns} for n, type_ in enumerate(types)
            ]
        mails += list_mails(types, change.before, after, actor_kind=ctx.actor.kind, actor_id=ctx.actor.id)
        restocked_ids += [after.variant_id] if after is not None and STOCK_BACK in types else []
        other = record_changes.get(change.record_id)
        before = after if change.type else change.before
        record_changes[change.record_id] = (
            RecordChange(change.subject, other.before if change.type else before, other.after, [*other.types, *types])
            if other
            else RecordChange(change.subject, before, after, types)
        )
    audit_rows = _build_audit_rows(ctx, actions, record_changes)
    if rows or len(audit_rows) > 1:
        deleted_ids = {str(change.record_id) for change in changes if change.is_deleted}
        entries = _build_entries(rows, deleted_ids)
        # Without events there are no e-mails.
        await events.insert_events(ctx.db, rows, audit_rows, entries, select_mails(ctx, mails), mail_source(ctx))
    elif audit_rows:
        await journal.insert_audit(ctx.db, **audit_rows[0])
    if restocked_ids:
        await restocks.insert_restocked(ctx.db, restocked_ids)
        ctx.wake("tasks")


def _build_audit_rows(
    ctx: Context, actions: Sequence[NotedAction], record_changes: dict[UUID, RecordChange]
) -> list[dict[str, Any]]:
    """Returns the audit events that actions noted, each with the changes of its record, and one for every other record
    that an operator or application changed. Of several about one record, the last one has its changes.
    """
    types = {record_id: change.subject.type for record_id, change in record_changes.items()}
    rows = []
    for action in reversed(actions):
        change = record_changes.pop(action.record_id, None) if action.record_id else None
        changes = action.changes if action.changes is not None else _list_changes(change) if change else {}
        subject_type = action.subject_type or (types.get(action.subject_id) if action.subject_id else None)
        rows.append(build_audit_row(ctx, action, subject_type, changes))
    rows.reverse()
    if ctx.actor.kind in AUDITED_ACTORS and ctx.audits_each_record:
        for record_id, change in record_changes.items():
            if change.types:
                name = name_action(change.subject.type, change.types)
                action = NotedAction(id=new_id(), actor=ctx.actor, action=name, subject_id=record_id)
                rows.append(build_audit_row(ctx, action, change.subject.type, _list_changes(change)))
    return rows


def build_audit_row(
    ctx: Context, action: NotedAction, subject_type: str | None, changes: Mapping[str, Change]
) -> dict[str, Any]:
    """Returns the columns of an audit event."""
    return {
        "id": action.id,
        "actor_kind": action.actor.kind,
        "actor_id": action.actor.id,
        "action": action.action,
        "outcome": action.outcome,
        "subject_id": action.subject_id,
        "subject_type": subject_type,
        "source": ctx.origin.source,
        "request_id": ctx.origin.request_id,
        "detail": dict(action.detail),
        "changes": changes,
    }


def _list_changes(change: RecordChange) -> dict[str, Change]:
    # The row before the change may be without the currency, which another table has.
    currency = getattr(change.after, "currency", "") or getattr(change.before, "currency", "")
    before, after = (_readable(change.subject.records, row, currency) for row in (change.before, change.after))
    return compare_values(change.subject.type, before, after)


def _readable(of: Records, row: Any, currency: str) -> dict[str, Any] | None:
    """Returns the columns of a row with amounts as decimals."""
    if row is None:
        return None
    values = _plain(row)
    for name in of.amounts & values.keys() if currency else ():
        if isinstance(values[name], int):
            values[name] = plain_decimal(major_units(values[name], currency))
    return values


def _build_entries(rows: Sequence[Mapping[str, Any]], deleted_ids: Set[str]) -> list[dict[str, Any]]:
    """Returns the entries of timelines, without those of an owner whom the transaction deletes."""
    types = [row["type"] for row in rows]
    entries = []
    for row in rows:
        values = row["row"] or {}
        facts = collect_facts(row["subject_type"], row["type"], values, row["before"], types)
        if facts is not None:
            owner = find_owner(row["subject_type"], row["subject_id"], values)
            if deleted_ids.isdisjoint(map(str, owner.values())):
                columns = {name: row[name] for name in ("id", "type", "ordinal", "actor_kind", "actor_id")}
                entries.append({**columns, **owner, "facts": facts})
    return entries


def _list_types(change: NotedChange, after: Any) -> Sequence[str]:
    if change.type:
        return [change.type] if after is not None else []
    return list_event_types(change.subject.type, change.before, after, has_other_changes=change.has_other_changes)


async def _load_snapshots(ctx: Context, changes: Sequence[NotedChange]) -> dict[tuple[Records, UUID], RecordSnapshot]:
    ids_by_kind: dict[Records, list[UUID]] = {}
    for change in changes:
        if not change.is_deleted and change.after is None:
            ids_by_kind.setdefault(change.subject.records, []).append(change.record_id)
    return {(each.kind, each.row.id): each for each in await snapshots.list_snapshots(ctx.db, ids_by_kind)}


def _describe(change: NotedChange, after: Any, links: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the columns that all events of a change have in common."""
    before = change.before
    values = _plain(next(row for row in (after, change.after, before) if row is not None))
    names = changed_fields(before, after) if before is not None and after is not None else ()
    return {
        "subject_type": change.subject.type,
        "subject_id": change.record_id,
        "row": values if len(msgspec.json.encode(values)) <= MAX_ROW_BYTES else None,
        "links": links,
        "before": {name: value for name, value in _plain(before).items() if name in names} if names else {},
    }


def _plain(row: Any) -> dict[str, Any]:
    """Returns the columns of a row as JSON values, without secrets."""
    values: dict[str, Any] = msgspec.to_builtins(row)
    return {name: value for name, value in values.items() if name not in SECRETS}


def _actor(ctx: Context) -> Mapping[str, Any]:
    return {"actor_kind": ctx.actor.kind, "actor_id": ctx.actor.id}
