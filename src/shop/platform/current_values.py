"""The values that records show now. A client may send back what it read: a read-only member with its current value is
accepted, in a record and in the records nested in it.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import msgspec

from shop.actions import records
from shop.actions.context import Context
from shop.base.loaded import Loaded
from shop.jsonapi.encoder import encoder, linked
from shop.jsonapi.resource import Resource, Scene
from shop.platform.collection import Collection, Nested
from shop.platform.resources.known import RESOURCES
from shop.platform.values import is_unchanged

_Values = Mapping[str, Any]


async def current_values(ctx: Context, collection: Collection, scene: Scene, record_id: UUID) -> dict[str, Any]:
    """What a record shows, by the names under which it may be sent back."""
    record = await records.get(ctx, collection.noun, "id", record_id, {})
    once = {name: getattr(record.row, name) for name in collection.once if hasattr(record.row, name)}
    return {**msgspec.to_builtins(once), **_shown(record, collection.resource, scene)}


async def drop_current_members(
    ctx: Context, collection: Collection, scene: Scene, record_id: UUID, values: dict[str, Any]
) -> dict[str, Any]:
    """The values without those members of nested records that cannot be set and have their current value. Reads the
    nested records only if there are such members.
    """
    extra = {name: nested for name, nested in collection.nested.items() if _has_extra(values.get(name), nested)}
    if not extra:
        return values
    include: dict[str, Any] = {nested.relation: {} for nested in extra.values()}
    record = await records.get(ctx, collection.noun, "id", record_id, include)
    for name, nested in extra.items():
        relation = collection.resource.relations[nested.relation]
        current = {
            str(each.row.id): _shown(each, RESOURCES[each.type or relation.type], scene)
            for each in linked(record, relation)
        }
        values = values | {name: _without_current(values[name], nested, current)}
    return values


def _shown(record: Loaded, resource: Resource, scene: Scene) -> dict[str, Any]:
    """Attributes by their names, and relations by their ids."""
    relations = resource.relations
    ids = {name: [str(each.row.id) for each in linked(record, link)] for name, link in relations.items()}
    many = {f"{link.type}_ids": ids[name] for name, link in relations.items() if link.is_many}
    one = {f"{name}_id": next(iter(ids[name]), None) for name, link in relations.items() if not link.is_many}
    attributes = msgspec.to_builtins(encoder(resource, None)(record, scene).attributes)
    return {"id": str(record.row.id), "type": resource.type, **many, **one, **attributes}


def _has_extra(value: Any, nested: Nested) -> bool:
    parts = value if isinstance(value, list) else [value]
    return any(isinstance(part, dict) and part.keys() - nested.members for part in parts)


def _without_current(value: Any, nested: Nested, current: Mapping[str, _Values]) -> Any:
    if isinstance(value, list):
        return [_drop(part, nested, current.get(str(part.get("id")), {})) for part in value]
    return _drop(value, nested, next(iter(current.values()), {}))


def _drop(part: _Values, nested: Nested, current: _Values) -> dict[str, Any]:
    """What is left and cannot be set is refused by whoever reads the part."""
    return {
        name: value for name, value in part.items() if name in nested.members or not is_unchanged(name, value, current)
    }
