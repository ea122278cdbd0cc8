"""What is done with records of any declared resource: listed, shown, made, changed, removed; each change audited."""

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
from shop.base.listing import Page, Wishes
from shop.base.loaded import Link, Loaded, Named
from shop.base.money import major_units, plain_decimal
from shop.db.pool import Refused
from shop.queries import records, writes
from shop.queries.records import Kin, Records

Values = Mapping[str, Any]
Create = Callable[[Context, Values], Awaitable[UUID]]
Update = Callable[[Context, UUID, Values], Awaitable[None]]
Delete = Callable[[Context, UUID], Awaitable[None]]
Present = Callable[[Context, Any, Values], Awaitable[Values]]
Tree = Mapping[str, "Tree"]
_SECRET = frozenset({"hash", "password_hash"})
_LONGEST_AUDITED = 5_000


class Listed(msgspec.Struct, frozen=True):
    """One page of records: how many there are in all, or where the next page begins."""

    records: Sequence[Loaded]
    total: int = 0
    is_estimate: bool = False
    next_place: tuple[Any, UUID] | None = None


class Noun(msgspec.Struct, frozen=True, eq=False):
    """A kind of record with what can be done to it; `name` is its word in the audit."""

    name: str
    records: Records
    create: Create | None = None
    update: Update | None = None
    delete: Delete | None = None
    hold: Delete | None = None
    """Locks what is locked before a record of it, where others who change both begin there."""
    present: Present | None = None
    """What a record has of values that do not stand in its own row."""


def plain(table_records: Records) -> dict[str, Any]:
    """The verbs of a record that no rule guards but the database's own."""
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
    ctx: Context, noun: Noun, wishes: Wishes, include: Tree, relations: Collection[str] | None = None
) -> Listed:
    """With all their relations, or with those that are named."""
    rows = await records.list_records(ctx.db, noun.records, wishes)
    loaded = await _load(ctx, noun.records, rows[: wishes.page.size], include, relations)
    if isinstance(wishes.page, Page):
        return Listed(loaded, *await records.count_records(ctx.db, noun.records, wishes))
    next_place = None
    if len(rows) > wishes.page.size:
        last = loaded[-1].row
        next_place = (getattr(last, wishes.sort.name), last.id)
    return Listed(loaded, next_place=next_place)


async def get(ctx: Context, noun: Noun, by: str, value: Any, include: Tree) -> Loaded:
    row = await records.find_record(ctx.db, noun.records, by, value)
    if row is None:
        raise NotFound()
    return (await _load(ctx, noun.records, [row], include))[0]


async def create(ctx: Context, noun: Noun, values: Values) -> UUID:
    async with ctx.transaction() as once:
        if once.done:
            return once.done
        record_id = await make(ctx, noun, values)
        once.made(record_id)
    return record_id


async def update(ctx: Context, noun: Noun, record_id: UUID, values: Values) -> None:
    async with ctx.transaction() as once:
        if once.done:
            return
        await change(ctx, noun, record_id, values)
        once.made(record_id)


async def delete(ctx: Context, noun: Noun, record_id: UUID) -> None:
    async with ctx.db.transaction():
        await remove(ctx, noun, record_id)


async def make(ctx: Context, noun: Noun, values: Values) -> UUID:
    """Like `change` and `remove` a part of the caller's transaction, for work on several records at once."""
    if noun.create is None:
        raise NotFound()
    record_id: UUID = await _allowed(noun, noun.create(ctx, values))
    await audit(ctx, f"{noun.name}_created", "done", subject_id=record_id, detail={"values": _kept(values)})
    return record_id


async def change(ctx: Context, noun: Noun, record_id: UUID, values: Values) -> bool:
    """Says whether anything was to be changed."""
    if noun.update is None:
        raise NotFound()
    was = await _present(ctx, noun, await _locked(ctx, noun, record_id), values)
    changed = {name: value for name, value in values.items() if was[name] != value}
    if changed.keys() & noun.records.amounts and "currency" in values:
        changed["currency"] = values["currency"]
    if changed:
        await _allowed(noun, noun.update(ctx, record_id, changed))
        was = {name: was[name] for name in changed}
        detail = {"before": _kept(was), "after": _kept(changed)}
        await audit(ctx, f"{noun.name}_updated", "done", subject_id=record_id, detail=detail)
    return bool(changed)


async def remove(ctx: Context, noun: Noun, record_id: UUID) -> None:
    if noun.delete is None:
        raise NotFound()
    await _locked(ctx, noun, record_id)
    try:
        await noun.delete(ctx, record_id)
    except Refused:
        raise Invalid({"base": ["is still in use; take it away from the records that name it first"]}) from None
    await audit(ctx, f"{noun.name}_deleted", "done", subject_id=record_id)


async def _locked(ctx: Context, noun: Noun, record_id: UUID) -> Any:
    if noun.hold:
        await noun.hold(ctx, record_id)
    row = await records.lock_record(ctx.db, noun.records, record_id)
    if row is None:
        raise NotFound()
    return row


async def _allowed(noun: Noun, change: Awaitable[Any]) -> Any:
    """What the database refuses, told of the field it refused."""
    try:
        return await change
    except Refused as refused:
        names = writes.fields_of(noun.records.table, refused.constraint)
        # An e-mail is unique by its key; the caller knows it as the e-mail.
        name = names[-1].removesuffix("_key") if names else "base"
        raise Invalid({name: [_REFUSALS[refused.why]]}) from None


_REFUSALS = {"unique": "is taken", "reference": "names a record that is not there", "check": "is not acceptable"}


async def _present(ctx: Context, noun: Noun, before: Any, values: Values) -> dict[str, Any]:
    """What a record has of these values, as the caller would say it: an amount is sent as a decimal and kept in minor
    units, and links are sent as a list of ids.
    """
    was = {name: _said(before, name, value) for name, value in values.items()}
    for name in values.keys() & {f"{kin.removesuffix('s')}_ids" for kin in noun.records.kin}:
        kin = noun.records.kin[f"{name.removesuffix('_ids')}s"]
        (theirs,) = await records.list_kin_ids(ctx.db, [kin], [before.id])
        was[name] = theirs[before.id]
    return was | ({} if noun.present is None else dict(await noun.present(ctx, before, values)))


def _said(before: Any, name: str, wanted: Any) -> Any:
    was = getattr(before, name, None)
    if isinstance(wanted, Decimal) and isinstance(was, int):
        return major_units(was, before.currency)
    return was


def _kept(values: Values) -> dict[str, Any]:
    """What of a change stands in the audit."""
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
) -> list[Loaded]:
    """Rows with their relations: links alone, or the related records too where they are asked for."""
    links: list[dict[str, Link]] = [dict(of.nothing) for _ in rows]
    wanted = {name: kin for name, kin in of.kin.items() if relations is None or name in relations}
    # Their own rows say whom they belong to, where these are read and nothing stands between.
    linked = {
        name: kin
        for name, kin in wanted.items()
        if kin.is_many and (kin.between is not None or kin.most is not None or name not in include)
    }
    ids = await records.list_kin_ids(ctx.db, list(linked.values()), [row.id for row in rows])
    ids_of = dict(zip(linked, ids, strict=True))
    for name, kin in wanted.items():
        found = await _load_kin(ctx, kin, rows, include.get(name), ids_of.get(name))
        for place, row in enumerate(rows):
            links[place][name] = found.get(row.id, []) if kin.is_many else found.get(_named_by(kin, row))
    return [Loaded(row, links[place]) for place, row in enumerate(rows)]


def _named_by(kin: Kin, row: Any) -> Any:
    """The id of the one record that it is related to."""
    if kin.by_type:
        each = kin.by_type.get(getattr(row, kin.type_column))
        return getattr(row, each.column) if each else None
    return getattr(row, kin.column)


async def _load_kin(
    ctx: Context, kin: Kin, rows: Sequence[Any], include: Tree | None, ids_of: dict[UUID, list[UUID]] | None
) -> Mapping[Any, Link]:
    if not kin.is_many:
        return await _load_one(ctx, kin, rows, include)
    if ids_of is None:
        return await _load_theirs(ctx, kin, rows, include or {})
    loaded: Mapping[UUID, Loaded] = {}
    if include is not None:
        theirs = await records.list_kin(ctx.db, kin, {one for ids in ids_of.values() for one in ids})
        loaded = {record.row.id: record for record in await _load(ctx, kin.records, theirs, include)}
    return {ours: [loaded.get(one) or Loaded(Named(one)) for one in ids] for ours, ids in ids_of.items()}


async def _load_any(ctx: Context, kin: Kin, rows: Sequence[Any], include: Tree | None) -> dict[Any, Link]:
    """Of a relation to one of several types: those of each at once."""
    found: dict[Any, Link] = {}
    for type_, each in kin.by_type.items():
        theirs = await _load_one(ctx, each, [row for row in rows if getattr(row, kin.type_column) == type_], include)
        found |= {key: replace(record, type=type_) for key, record in theirs.items() if isinstance(record, Loaded)}
    return found


async def _load_one(ctx: Context, kin: Kin, rows: Sequence[Any], include: Tree | None) -> dict[Any, Link]:
    if kin.by_type:
        return await _load_any(ctx, kin, rows, include)
    ids = {named for row in rows if (named := getattr(row, kin.column))}
    if include is None:
        return {named: Loaded(Named(named)) for named in ids}
    theirs = await _load(ctx, kin.records, await records.list_kin(ctx.db, kin, ids), include)
    return {record.row.id: record for record in theirs}


async def _load_theirs(ctx: Context, kin: Kin, rows: Sequence[Any], include: Tree) -> Mapping[Any, Link]:
    found: dict[Any, list[Loaded]] = {}
    theirs = await records.list_kin(ctx.db, kin, [row.id for row in rows])
    for record in await _load(ctx, kin.records, theirs, include):
        found.setdefault(getattr(record.row, kin.column), []).append(record)
    return dict(found)
