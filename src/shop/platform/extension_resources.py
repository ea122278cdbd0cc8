"""Platform resources of extensions: how they are declared, and how they join those of the shop."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from shop.actions.records import ResourceActions, default_actions
from shop.jsonapi.resource import Relation, resource
from shop.platform.collection import Collection, kinds
from shop.platform.crud import build_routes
from shop.platform.events.bodies import add_subject
from shop.platform.events.types import add_types
from shop.platform.resources.registry import COLLECTIONS, RESOURCES, add_collection
from shop.queries.records import Records
from shop.rules.access.permissions import Act, resource_permission
from shop.web.endpoint import Route


def platform_resource(  # noqa: PLR0913  Each argument is a part of the declaration.
    type: str,  # noqa: A002  JSON:API calls it `type`.
    *,
    path: str,
    access: str,
    table: Any,
    row: type[msgspec.Struct],
    attributes: Sequence[Any],
    relations: Sequence[Relation] = (),
    writable: Sequence[str] = (),
    required: Sequence[str] = (),
    filters: Sequence[str] = (),
) -> Collection:
    """Declares a resource at `/api/v2/platform/<path>`. If nothing of it is writable, only the extension changes it.

    `access` is the resource of the permissions that it needs, such as `customers`.
    """
    rows = Records(table=table, row=row, relation_links={}, nothing={})
    return Collection(
        path=path,
        access=access,
        resource=resource(type, row, attributes=list(attributes), relations=list(relations)),
        actions=ResourceActions(type, rows, **default_actions(rows)),
        writable=kinds(row, *writable) if writable else {},
        required=required,
        filters=filters,
    )


def find_collision(collection: Collection) -> str | None:
    """Returns the type or path of a collection that exists already."""
    if collection.resource.type in RESOURCES:
        return f"type {collection.resource.type}"
    paths = {each.path for each in COLLECTIONS.values()}
    return f"path {collection.path}" if collection.path in paths else None


def add_resource(collection: Collection) -> tuple[Route, ...]:
    """Adds a resource to the Platform API, its events to the log; returns its routes."""
    add_collection(collection)
    add_types(collection)
    add_subject(collection)
    routes = build_routes(collection)
    reads = [route for route in routes if route.method == "GET"]
    writes = [route for route in routes if route.method != "GET" and collection.writable]
    return (*_permit(reads, collection, "read"), *_permit(writes, collection, "write"))


def _permit(routes: Iterable[Route], collection: Collection, act: Act) -> list[Route]:
    permission = resource_permission(collection.access, act)
    return [msgspec.structs.replace(route, permission=permission) for route in routes]
