"""Current values of records. A client may send back what it read: a read-only member with its current value is
accepted, in a record and in its nested records.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import msgspec

from shop.actions import records
from shop.actions.context import Context
from shop.base.record import Record
from shop.jsonapi.encoder import encoder, related_records
from shop.jsonapi.resource import RenderContext, Resource
from shop.platform.collection import Collection, NestedRecords
from shop.platform.field_values import is_unchanged
from shop.platform.resources.registry import RESOURCES

_Values = Mapping[str, Any]


async def current_values(ctx: Context, collection: Collection, scene: RenderContext, record_id: UUID) -> dict[str, Any]:
    """Return the members of a record by the names under which a client may send them back."""
    record = await records.get(ctx, collection.noun, "id", record_id, {})
    once = {name: getattr(record.row, name) for name in collection.once if hasattr(record.row, name)}
    return {**msgspec.to_builtins(once), **_record_members(record, collection.resource, scene)}


async def drop_current_members(
    ctx: Context, collection: Collection, scene: RenderContext, record_id: UUID, values: dict[str, Any]
) -> dict[str, Any]:
    """Return the values without the read-only members of nested records that have their current value. Loads the
    nested records only if there are such members.
    """
    extra = {name: spec for name, spec in collection.nested.items() if _has_extra(values.get(name), spec)}
    if not extra:
        return values
    include: dict[str, Any] = {spec.relation: {} for spec in extra.values()}
    record = await records.get(ctx, collection.noun, "id", record_id, include)
    for name, spec in extra.items():
        relation = collection.resource.relations[spec.relation]
        current = {
            str(each.row.id): _record_members(each, RESOURCES[each.type or relation.type], scene)
            for each in related_records(record, relation)
        }
        values = values | {name: _without_current(values[name], spec, current)}
    return values


def _record_members(record: Record, resource: Resource, scene: RenderContext) -> dict[str, Any]:
    """Return the attributes by name and the relations by id."""
    relations = resource.relations
    ids = {name: [str(each.row.id) for each in related_records(record, link)] for name, link in relations.items()}
    many = {f"{link.type}_ids": ids[name] for name, link in relations.items() if link.is_many}
    one = {f"{name}_id": next(iter(ids[name]), None) for name, link in relations.items() if not link.is_many}
    attributes = msgspec.to_builtins(encoder(resource, None)(record, scene).attributes)
    return {"id": str(record.row.id), "type": resource.type, **many, **one, **attributes}


def _has_extra(value: Any, spec: NestedRecords) -> bool:
    parts = value if isinstance(value, list) else [value]
    return any(isinstance(part, dict) and part.keys() - spec.members for part in parts)


def _without_current(value: Any, spec: NestedRecords, current: Mapping[str, _Values]) -> Any:
    if isinstance(value, list):
        return [_drop(part, spec, current.get(str(part.get("id")), {})) for part in value]
    return _drop(value, spec, next(iter(current.values()), {}))


def _drop(part: _Values, spec: NestedRecords, current: _Values) -> dict[str, Any]:
    """Drop unchanged read-only members; the action that reads the part rejects any others."""
    return {
        name: value for name, value in part.items() if name in spec.members or not is_unchanged(name, value, current)
    }
