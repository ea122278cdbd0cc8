"""Loads the relations of records: the ids of related records, or the records themselves."""

from collections.abc import Collection, Mapping, Sequence
from operator import attrgetter
from typing import Any, Protocol
from uuid import UUID

import msgspec
from msgspec.structs import replace

from shop.actions.context import Context
from shop.base.record import Link, Record, Reference
from shop.queries import relations as queries
from shop.queries.records import Records, RelationLink

Tree = Mapping[str, "Tree"]
_Links = Mapping[UUID | None, Link]
"""Related records: of a to-many relation by the id of the owner, of a to-one relation by their own id."""


class RecordRow(Protocol):
    """A row of any resource."""

    @property
    def id(self) -> UUID: ...


def links_by_id(of: Records, include: Tree, relations: Collection[str] | None) -> dict[str, RelationLink]:
    """Returns the to-many relations whose ids are read. No ids are needed where the related rows are loaded and hold
    the foreign key themselves.
    """
    return {
        name: link
        for name, link in of.relation_links.items()
        if link.is_many
        and (relations is None or name in relations)
        and (link.between is not None or link.most is not None or name not in include)
    }


async def load_relations(
    ctx: Context,
    of: Records,
    rows: Sequence[RecordRow],
    include: Tree,
    relations: Collection[str] | None = None,
    ids: Sequence[Mapping[UUID, Sequence[UUID]]] | None = None,
) -> list[Record]:
    """Loads the relations of rows: the ids only, or the related records where `include` names them. `ids` are those of
    `links_by_id`, if they were read with the rows.
    """
    links: list[dict[str, Link]] = [dict(of.nothing) for _ in rows]
    by_name = {name: link for name, link in of.relation_links.items() if relations is None or name in relations}
    id_links = links_by_id(of, include, relations)
    if ids is None:
        ids = await queries.list_related_ids(ctx.db, list(id_links.values()), [row.id for row in rows])
    ids_of = dict(zip(id_links, ids, strict=True))
    for name, link in by_name.items():
        if name not in include and not link.by_type:
            _add_references(name, link, rows, links, ids_of.get(name, {}))
            continue
        targets = await _load_relation(ctx, link, rows, include.get(name), ids_of.get(name))
        for index, row in enumerate(rows):
            links[index][name] = targets.get(row.id, []) if link.is_many else targets.get(_target_id(link, row))
    return [Record(row, links[index]) for index, row in enumerate(rows)]


def _add_references(
    name: str,
    link: RelationLink,
    rows: Sequence[RecordRow],
    links: Sequence[dict[str, Link]],
    ids_of: Mapping[UUID, Sequence[UUID]],
) -> None:
    """Adds a relation of ids to the links of each row. Most relations of most rows are empty."""
    if link.is_many:
        for row, own_links in zip(rows, links, strict=True):
            ids = ids_of.get(row.id)
            own_links[name] = [Record(Reference(one)) for one in ids] if ids else []
        return
    read_target = attrgetter(link.column)
    for row, own_links in zip(rows, links, strict=True):
        target_id = read_target(row)
        own_links[name] = Record(Reference(target_id)) if target_id else None


def _target_id(link: RelationLink, row: RecordRow) -> UUID | None:
    """Returns the id of the related record of a to-one relation."""
    target = link.by_type.get(getattr(row, link.type_column)) if link.by_type else link
    target_id: UUID | None = getattr(row, target.column) if target else None
    return target_id


async def _load_relation(
    ctx: Context,
    link: RelationLink,
    rows: Sequence[RecordRow],
    include: Tree | None,
    ids_of: Mapping[UUID, Sequence[UUID]] | None,
) -> _Links:
    if not link.is_many:
        return await _load_one(ctx, link, rows, include)
    if ids_of is None:
        return await _load_children(ctx, link, rows, include or {})
    records_by_id: Mapping[UUID, Record] = {}
    if include is not None:
        related_rows = await queries.list_related_records(ctx.db, link, {one for ids in ids_of.values() for one in ids})
        records_by_id = {
            record.row.id: record for record in await load_relations(ctx, link.records, related_rows, include)
        }
    return {
        owner_id: [records_by_id.get(one) or Record(Reference(one)) for one in ids] for owner_id, ids in ids_of.items()
    }


async def _load_any(ctx: Context, link: RelationLink, rows: Sequence[RecordRow], include: Tree | None) -> _Links:
    """Loads a to-one relation with several target types, one query per type."""
    result: dict[UUID | None, Link] = {}
    for type_, each in link.by_type.items():
        links = await _load_one(ctx, each, [row for row in rows if getattr(row, link.type_column) == type_], include)
        result |= {key: replace(record, type=type_) for key, record in links.items() if isinstance(record, Record)}
    return result


async def _load_one(ctx: Context, link: RelationLink, rows: Sequence[RecordRow], include: Tree | None) -> _Links:
    if link.by_type:
        return await _load_any(ctx, link, rows, include)
    ids = {target_id for row in rows if (target_id := getattr(row, link.column))}
    if include is None:
        return {target_id: Record(Reference(target_id)) for target_id in ids}
    targets = await load_relations(ctx, link.records, await queries.list_related_records(ctx.db, link, ids), include)
    return {record.row.id: record for record in targets}


async def _load_children(ctx: Context, link: RelationLink, rows: Sequence[RecordRow], include: Tree) -> _Links:
    by_owner: dict[UUID | None, list[Record]] = {}
    child_rows = await queries.list_related_records(ctx.db, link, [row.id for row in rows])
    for record in await load_relations(ctx, link.records, child_rows, include):
        by_owner.setdefault(getattr(record.row, link.column), []).append(record)
    return by_owner


def rebuild(of: Records, values: Mapping[str, Any], ids_by_link: Mapping[str, Sequence[Any]]) -> Record:
    """Rebuilds a record from the values of its row and the ids of its related records, as an event stores them."""
    row = msgspec.convert(values, of.row, strict=False)
    links: dict[str, Link] = dict(of.nothing)
    for name, link in of.relation_links.items():
        if link.is_many:
            links[name] = [Record(Reference(UUID(str(each)))) for each in ids_by_link.get(name, ())]
            continue
        target_id = _target_id(link, row)
        type_ = getattr(row, link.type_column) if link.by_type else ""
        links[name] = Record(Reference(target_id), type=type_ or "") if target_id else None
    return Record(row, links)
