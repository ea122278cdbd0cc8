"""The permission of each platform route, and of what a request includes, filters by, shows and sets."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from shop.actions.access import oauth
from shop.actions.context import Context
from shop.base.listing import Condition, Path, Sort
from shop.jsonapi.query import DocumentQuery, Tree
from shop.jsonapi.resource import Resource
from shop.platform.collection import Collection
from shop.platform.resources.registry import ACCESS, COLLECTIONS, COST_ATTRIBUTES, RESOURCES
from shop.rules.access.permissions import Act, resource_permission
from shop.web.endpoint import Route

_BASE = "/api/v2/platform/"
_READ = "application: read"
_SPECIAL = {
    ("POST", "refunds"): "refunds:write",
    ("PATCH", "payments/{id}/void"): "refunds:write",
    # Canceling an order refunds its payments.
    ("PATCH", "orders/{id}/cancel"): "refunds:write",
    # Deleting an account erases its personal data for good.
    ("DELETE", "users/{id}"): "customers:erase",
}
"""Routes whose permission is not the one to read or write their collection."""
_OTHERS = {"imports/products": "products", "imports/prices": "products", "exports/products": "products"} | {
    "exports/prices": "products",
    "events": "events",
    "event_types": "events",
}
"""The resources of routes that belong to no collection."""
_ACCESS_BY_PATH = {collection.path: collection.access for collection in COLLECTIONS.values()} | _OTHERS


def with_permission(route: Route) -> Route:
    """Returns the route with its permission; routes of other parts of the shop have none."""
    if not route.path.startswith(_BASE):
        return route
    path = route.path.removeprefix(_BASE)
    act: Act = "read" if route.who == _READ else "write"
    permission = _SPECIAL.get((route.method, path)) or _collection_permission(path, act)
    return msgspec.structs.replace(route, permission=permission)


def _collection_permission(path: str, act: Act) -> str:
    first, _, rest = path.partition("/")
    access = _ACCESS_BY_PATH.get(f"{first}/{rest.partition('/')[0]}") or _ACCESS_BY_PATH.get(first)
    if first == "store_credits" and act == "write":
        return "credit:write"
    return resource_permission(access, act) if access else ""


def limit_query(ctx: Context, collection: Collection, query: DocumentQuery) -> DocumentQuery:
    """Checks what the request includes, and leaves out cost prices that the token may not read."""
    oauth.check_reading(ctx, _included_access(query.include or {}, [collection.resource]))
    if oauth.can_read(ctx, "costs"):
        return query
    types = [type_ for type_, each in RESOURCES.items() if COST_ATTRIBUTES & _names_of(each)]
    fields = {type_: query.fields.get(type_, _names_of(RESOURCES[type_])) - COST_ATTRIBUTES for type_ in types}
    return msgspec.structs.replace(query, fields={**query.fields, **fields})


def check_list(ctx: Context, collection: Collection, conditions: Iterable[Condition], sorts: Sequence[Sort]) -> None:
    """Checks that the token reads everything that a list is filtered and sorted by."""
    paths = [path for condition in conditions for path in condition.paths]
    oauth.check_reading(ctx, {access for path in paths for access in _path_access(path, collection)})
    if COST_ATTRIBUTES & {path[-1] for path in paths} or COST_ATTRIBUTES & {sort.name for sort in sorts}:
        oauth.check_reading(ctx, ["costs"])


def check_settable(ctx: Context, collection: Collection, params: Mapping[str, Any]) -> None:
    """Checks that the token may set the members of a body that need another permission than their resource.

    Members with costs are refused even if they cannot be set: whether they have their current value would tell it.
    """
    inner = params.get(collection.resource.type)
    members = inner if isinstance(inner, dict) else params
    names = {*members, *(name for nested in collection.nested for name in _nested_names(members.get(nested)))}
    if COST_ATTRIBUTES & names:
        oauth.check_reading(ctx, ["costs"])
    if collection.resource.type == "order" and members.get("user_id"):
        # The order gets the e-mail address of its customer.
        oauth.check_reading(ctx, ["customers"])


def _nested_names(value: Any) -> Iterator[str]:
    for item in value if isinstance(value, list) else [value]:
        yield from item if isinstance(item, dict) else ()


def _included_access(tree: Tree, resources: Sequence[Resource]) -> Iterator[str]:
    for name, deeper in tree.items():
        types = [type_ for each in resources if name in each.relations for type_ in each.relations[name].types]
        yield from (ACCESS[type_] for type_ in types if type_ in ACCESS)
        yield from _included_access(deeper, [RESOURCES[type_] for type_ in types if type_ in RESOURCES])


def _path_access(path: Path, collection: Collection) -> Iterator[str]:
    resource = collection.resource
    for name in path[:-1]:
        type_ = resource.relations[name].type
        yield ACCESS[type_]
        resource = RESOURCES[type_]


def _names_of(resource: Resource) -> frozenset[str]:
    return frozenset([*resource.kinds(), *resource.relations])
