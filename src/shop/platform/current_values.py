"""Current values of records. A client may send back a record that it read: read-only members are accepted if they
have their current value, in the record and in its nested records.
"""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

import msgspec

from shop.actions import records
from shop.actions.context import Context
from shop.base.record import Record
from shop.jsonapi.encoder import encoder, related_records
from shop.jsonapi.resource import Relation, RenderContext, Resource
from shop.platform.collection import Collection
from shop.platform.resources.registry import RESOURCES


async def current_values(
    ctx: Context, collection: Collection, render_context: RenderContext, record_id: UUID, nested: Iterable[str] = ()
) -> dict[str, Any]:
    """Returns the members of a record by the names under which a client may send them back; those of its nested records
    are under the names in `nested`.
    """
    relations = {name: collection.resource.relations[collection.nested[name]] for name in nested}
    include: dict[str, Any] = {relation.name: {} for relation in relations.values()}
    record = await records.get(ctx, collection.actions, "id", record_id, include)
    create_only_values = {
        name: getattr(record.row, name) for name in collection.create_only if hasattr(record.row, name)
    }
    return {
        **msgspec.to_builtins(create_only_values),
        **_record_members(record, collection.resource, render_context),
        **{name: _nested_members(record, relation, render_context) for name, relation in relations.items()},
    }


def _nested_members(record: Record, relation: Relation, render_context: RenderContext) -> dict[str, Any]:
    """Returns the members of the one related record, or of many by id."""
    members_by_id = {
        str(each.row.id): _record_members(each, RESOURCES[each.type or relation.type], render_context)
        for each in related_records(record, relation)
    }
    return members_by_id if relation.is_many else next(iter(members_by_id.values()), {})


def _record_members(record: Record, resource: Resource, render_context: RenderContext) -> dict[str, Any]:
    """Returns the attributes by name and the relations by id."""
    relations = resource.relations
    ids = {name: [str(each.row.id) for each in related_records(record, link)] for name, link in relations.items()}
    many = {f"{link.type}_ids": ids[name] for name, link in relations.items() if link.is_many}
    one = {f"{name}_id": next(iter(ids[name]), None) for name, link in relations.items() if not link.is_many}
    attributes = msgspec.to_builtins(encoder(resource, None)(record, render_context).attributes)
    return {"id": str(record.row.id), "type": resource.type, **many, **one, **attributes}
