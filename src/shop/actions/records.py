"""Lists, loads, creates, updates and deletes records of any declared resource; audits each change."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec
from msgspec.structs import replace

from shop.actions.audit import audit
from shop.actions.context import Context
from shop.base.errors import Invalid, NotFound
from shop.base.ids import new_id
from shop.base.listing import ListQuery, Page
from shop.base.money import major_units, plain_decimal
from shop.base.record import Link, Record, Reference
from shop.db.pool import ConstraintViolation
from shop.queries import records, writes
from shop.queries.records import Records, RelationLink

Values = Mapping[str, Any]
Create = Callable[[Context, Values], Awaitable[UUID]]
Update = Callable[[Context, UUID, Values], Awaitable[None]]
Delete = Callable[[Context, UUID], Awaitable[None]]
Present = Callable[[Context, Any, Values], Awaitable[Values]]
Tree = Mapping[str, "Tree"]
_SECRET = frozenset({"hash", "password_hash"})
_LONGEST_AUDITED = 5_000


class RecordPage(msgspec.Struct, frozen=True):
    """One page of records, with the total count or the cursor of the next page."""

    records: Sequence[Record]
    total: int = 0
    is_estimate: bool = False
    next_place: tuple[Any, UUID] | None = None


class ResourceActions(msgspec.Struct, frozen=True, eq=False):
    """A resource and its write actions; `name` is its name in the audit log."""

    name: str
    records: Records
    create: Create | None = None
    update: Update | None = None
    delete: Delete | None = None
    hold: Delete | None = None
    """Locks the parent row first, to keep one lock order with other actions that change both."""
    present: Present | None = None
    """Returns the current values of fields that are not columns of the record's row."""


def default_actions(table_records: Records) -> dict[str, Any]:
    """Returns create, update and delete actions without checks beyond the database constraints."""
    table = table_records.table

    async def create(ctx: Context, values: Values) -> UUID:
        record_id = new_id()
        await writes.insert_record(ctx.db, table, record_id, values)
        return record_id

    async def update(ctx: Context, record_id: UUID, values: Values) -> None:
        await writes.update_record(ctx.db, table, record_id, values)

    async def delete(ctx: Context, record_id: UUID) -> None:
        await writes.delete_record(ctx.db, table, record_id)

    return {"create": create, "update": update, "delete": delete}


async def list_page(
    ctx: Context, noun: ResourceActions, wishes: ListQuery, include: Tree, relations: Collection[str] | None = None
) -> RecordPage:
    """Returns a page of records with all their relations, or with the named ones."""
    rows = await records.list_records(ctx.db, noun.records, wishes)
    results = await _load(ctx, noun.records, rows[: wishes.page.size], include, relations)
    if isinstance(wishes.page, Page):
        return RecordPage(results, *await records.count_records(ctx.db, noun.records, wishes))
    next_place = None
    if len(rows) > wishes.page.size:
        last = results[-1].row
        next_place = (getattr(last, wishes.sort.name), last.id)
    return RecordPage(results, next_place=next_place)


async def get(ctx: Context, noun: ResourceActions, by: str, value: Any, include: Tree) -> Record:
    row = await records.find_record(ctx.db, noun.records, by, value)
    if row is None:
        raise NotFound()
    return (await _load(ctx, noun.records, [row], include))[0]


async def create(ctx: Context, noun: ResourceActions, values: Values) -> UUID:
    async with ctx.transaction() as once:
        if once.done:
            return once.done
        record_id = await make(ctx, noun, values)
        once.made(record_id)
    return record_id


async def update(ctx: Context, noun: ResourceActions, record_id: UUID, values: Values) -> None:
    async with ctx.transaction() as once:
        if once.done:
            return
        await change(ctx, noun, record_id, values)
        once.made(record_id)


async def delete(ctx: Context, noun: ResourceActions, record_id: UUID) -> None:
    async with ctx.db.transaction():
        await remove(ctx, noun, record_id)


async def make(ctx: Context, noun: ResourceActions, values: Values) -> UUID:
    """Creates a record. Like `change` and `remove`, runs in the caller's transaction."""
    if noun.create is None:
        raise NotFound()
    record_id: UUID = await _await_write(noun, noun.create(ctx, values))
    await audit(ctx, f"{noun.name}_created", "done", subject_id=record_id, detail={"values": _audit_values(values)})
    return record_id


async def change(ctx: Context, noun: ResourceActions, record_id: UUID, values: Values) -> bool:
    """Updates a record; returns whether any value differed."""
    if noun.update is None:
        raise NotFound()
    current = await _current_values(ctx, noun, await _lock_record(ctx, noun, record_id), values)
    changes = {name: value for name, value in values.items() if current[name] != value}
    if changes.keys() & noun.records.amounts and "currency" in values:
        changes["currency"] = values["currency"]
    if changes:
        await _await_write(noun, noun.update(ctx, record_id, changes))
        current = {name: current[name] for name in changes}
        detail = {"before": _audit_values(current), "after": _audit_values(changes)}
        await audit(ctx, f"{noun.name}_updated", "done", subject_id=record_id, detail=detail)
    return bool(changes)


async def remove(ctx: Context, noun: ResourceActions, record_id: UUID) -> None:
    if noun.delete is None:
        raise NotFound()
    await _lock_record(ctx, noun, record_id)
    try:
        await noun.delete(ctx, record_id)
    except ConstraintViolation:
        raise Invalid({"base": ["is still in use; remove it from the records that use it first"]}) from None
    await audit(ctx, f"{noun.name}_deleted", "done", subject_id=record_id)


async def _lock_record(ctx: Context, noun: ResourceActions, record_id: UUID) -> Any:
    if noun.hold:
        await noun.hold(ctx, record_id)
    row = await records.lock_record(ctx.db, noun.records, record_id)
    if row is None:
        raise NotFound()
    return row


async def _await_write(noun: ResourceActions, write: Awaitable[Any]) -> Any:
    """Awaits a write; converts a constraint violation into a validation error of its field."""
    try:
        return await write
    except ConstraintViolation as error:
        names = writes.fields_of(noun.records.table, error.constraint)
        # The unique constraint of an e-mail is on `email_key`; the API field is `email`.
        name = names[-1].removesuffix("_key") if names else "base"
        raise Invalid({name: [_REFUSALS[error.why]]}) from None


_REFUSALS = {"unique": "is taken", "reference": "names a record that does not exist", "check": "is not acceptable"}


async def _current_values(ctx: Context, noun: ResourceActions, record: Any, values: Values) -> dict[str, Any]:
    """Returns the current values of these fields in API form: amounts as decimals, links as lists of ids."""
    current = {name: _current_value(record, name, value) for name, value in values.items()}
    for name in values.keys() & {f"{kin.removesuffix('s')}_ids" for kin in noun.records.kin}:
        kin = noun.records.kin[f"{name.removesuffix('_ids')}s"]
        (ids_by_record,) = await records.list_related_ids(ctx.db, [kin], [record.id])
        current[name] = ids_by_record[record.id]
    return current | ({} if noun.present is None else dict(await noun.present(ctx, record, values)))


def _current_value(record: Any, name: str, value: Any) -> Any:
    current = getattr(record, name, None)
    if isinstance(value, Decimal) and isinstance(current, int):
        return major_units(current, record.currency)
    return current


def _audit_values(values: Values) -> dict[str, Any]:
    """Returns the values of a change as the audit log stores them, without secrets."""
    return {name: _plain(value) for name, value in values.items() if name not in _SECRET}


def _plain(value: Any) -> Any:
    match value:
        case datetime():
            return value.isoformat()
        case UUID():
            return str(value)
        case Decimal():
            return plain_decimal(value)
        case list():
            return [_plain(item) for item in value]
        case str() if len(value) > _LONGEST_AUDITED:
            return value[:_LONGEST_AUDITED] + "..."
    return value


async def _load(
    ctx: Context, of: Records, rows: Sequence[Any], include: Tree, relations: Collection[str] | None = None
) -> list[Record]:
    """Loads the relations of rows: the ids only, or the related records where `include` names them."""
    links: list[dict[str, Link]] = [dict(of.nothing) for _ in rows]
    by_name = {name: kin for name, kin in of.kin.items() if relations is None or name in relations}
    # No id query is needed where the related rows are loaded and hold the foreign key themselves.
    id_lookups = {
        name: kin
        for name, kin in by_name.items()
        if kin.is_many and (kin.between is not None or kin.most is not None or name not in include)
    }
    ids = await records.list_related_ids(ctx.db, list(id_lookups.values()), [row.id for row in rows])
    ids_of = dict(zip(id_lookups, ids, strict=True))
    for name, kin in by_name.items():
        targets = await _load_relation(ctx, kin, rows, include.get(name), ids_of.get(name))
        for index, row in enumerate(rows):
            links[index][name] = targets.get(row.id, []) if kin.is_many else targets.get(_target_id(kin, row))
    return [Record(row, links[index]) for index, row in enumerate(rows)]


def _target_id(kin: RelationLink, row: Any) -> Any:
    """Returns the id of the related record of a to-one relation."""
    if kin.by_type:
        each = kin.by_type.get(getattr(row, kin.type_column))
        return getattr(row, each.column) if each else None
    return getattr(row, kin.column)


async def _load_relation(
    ctx: Context, kin: RelationLink, rows: Sequence[Any], include: Tree | None, ids_of: dict[UUID, list[UUID]] | None
) -> Mapping[Any, Link]:
    if not kin.is_many:
        return await _load_one(ctx, kin, rows, include)
    if ids_of is None:
        return await _load_children(ctx, kin, rows, include or {})
    records_by_id: Mapping[UUID, Record] = {}
    if include is not None:
        related_rows = await records.list_related_records(ctx.db, kin, {one for ids in ids_of.values() for one in ids})
        records_by_id = {record.row.id: record for record in await _load(ctx, kin.records, related_rows, include)}
    return {
        owner_id: [records_by_id.get(one) or Record(Reference(one)) for one in ids] for owner_id, ids in ids_of.items()
    }


async def _load_any(ctx: Context, kin: RelationLink, rows: Sequence[Any], include: Tree | None) -> dict[Any, Link]:
    """Loads a to-one relation with several target types, one query per type."""
    result: dict[Any, Link] = {}
    for type_, each in kin.by_type.items():
        links = await _load_one(ctx, each, [row for row in rows if getattr(row, kin.type_column) == type_], include)
        result |= {key: replace(record, type=type_) for key, record in links.items() if isinstance(record, Record)}
    return result


async def _load_one(ctx: Context, kin: RelationLink, rows: Sequence[Any], include: Tree | None) -> dict[Any, Link]:
    if kin.by_type:
        return await _load_any(ctx, kin, rows, include)
    ids = {target_id for row in rows if (target_id := getattr(row, kin.column))}
    if include is None:
        return {target_id: Record(Reference(target_id)) for target_id in ids}
    targets = await _load(ctx, kin.records, await records.list_related_records(ctx.db, kin, ids), include)
    return {record.row.id: record for record in targets}


async def _load_children(ctx: Context, kin: RelationLink, rows: Sequence[Any], include: Tree) -> Mapping[Any, Link]:
    by_owner: dict[Any, list[Record]] = {}
    child_rows = await records.list_related_records(ctx.db, kin, [row.id for row in rows])
    for record in await _load(ctx, kin.records, child_rows, include):
        by_owner.setdefault(getattr(record.row, kin.column), []).append(record)
    return dict(by_owner)
