"""Declares platform resources, from which routes, filters, access rights and the OpenAPI description are derived."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, get_type_hints

import msgspec

from shop.actions.context import Context
from shop.actions.records import ResourceActions
from shop.base.input_types import split_kind
from shop.base.listing import Path
from shop.base.record import Record
from shop.jsonapi.filtering import Filterable
from shop.jsonapi.resource import Money, Resource

_STAMPS = ("id", "created_at", "updated_at")


class Collection(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """A resource under `/api/v2/platform`. Only what `actions` supports has a route."""

    path: str
    access: str = ""
    """The resource of the permissions that its routes need (`rules/access/permissions.py`)."""
    resource: Resource
    actions: ResourceActions
    writable: Mapping[str, Any] = {}
    """Writable members and their types. Any other member of a body is rejected, unless it has its current value."""
    nested: Mapping[str, str] = {}
    """Members of `writable` that contain related records; the value is the name of the relation."""
    longest: Mapping[str, int] = {}
    """The size limits, in bytes, of texts that may exceed the default limit."""
    aliases: Mapping[str, str] = {}
    """Alternative names of members of `writable`."""
    translate: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """Translates Spree type names and their preferences; raises `Invalid` for unknown ones."""
    required: Sequence[str] = ()
    """Members that are required on creation."""
    create_only: Sequence[str] = ()
    """Writable members that can be set only on creation."""
    filters: Sequence[str] = ()
    """Columns to filter by, in addition to the id and timestamps."""
    via: Mapping[str, Sequence[Path]] = {}
    """Filter prefixes in addition to the relations: an alias, several relations at once, or a nested relation."""
    filtered_as: Mapping[str, str] = {}
    """Additional filter names with their columns."""
    sorted_as: Mapping[str, str] = {}
    """Additional sort names with their fields."""
    sorts: Sequence[str] = ()
    order: str = "-id"
    """The default order; newest first, because ids increase with time."""
    find_by: Sequence[str] = ("id",)
    alone: Sequence[str] = ()
    """Potentially long relations: shown for a single record; in a list, shown only if included."""
    codes: Mapping[int, tuple[str, ...]] = {}
    """Additional error codes of write operations by status."""
    reveal: Callable[[Context, Record], Awaitable[Record]] | None = None
    """Adds to a record what is shown only once, such as a secret."""
    is_lenient: bool = False
    """Whether an update without its object is a no-op instead of an error, as for orders in Spree."""

    @property
    def listed(self) -> Resource:
        """The resource as shown in a list without `include`."""
        relations = {name: relation for name, relation in self.resource.relations.items() if name not in self.alone}
        return msgspec.structs.replace(self.resource, relations=relations)

    @property
    def columns(self) -> Mapping[str, Any]:
        """The type of each column, and of the other sortable fields, by name."""
        amounts = self.actions.records.amounts
        hints = get_type_hints(self.actions.records.row)
        table = self.actions.records.table
        names = dict.fromkeys((*table.c.keys(), *self.sorts, *self.filters))
        column_kinds = {
            name: _amount(hints[name]) if name in amounts else hints[name] for name in names if name in hints
        }
        return column_kinds | {name: column_kinds[field] for name, field in self.sorted_as.items()}

    @property
    def own_filters(self) -> dict[str, Filterable]:
        columns, records = self.columns, self.actions.records
        field_names = {*records.table.c.keys(), *records.extras, *records.searches}
        own = {name: name for name in (*_STAMPS, *self.filters) if name in field_names}
        # A searchable field without a column is text.
        return {
            name: Filterable((field,), columns.get(field, str)) for name, field in {**own, **self.filtered_as}.items()
        }

    @property
    def all_sorts(self) -> tuple[str, ...]:
        columns = self.columns
        names = (*_STAMPS, "deleted_at", *self.sorts, *self.writable)
        own = [name for name in names if name in columns and _is_sortable(columns[name])]
        return tuple(dict.fromkeys((*own, *self.sorted_as)))


def _amount(kind: Any) -> Any:
    return Money | None if split_kind(kind)[1] else Money


def kinds(row: Any, *names: str) -> dict[str, Any]:
    """Returns the types of the named fields, or of all fields, of a row or typed dictionary."""
    hints = get_type_hints(row, include_extras=True)
    return {name: hints[name] for name in names or hints}


def all_filters(collection: Collection, collections: Mapping[str, Collection]) -> dict[str, Filterable]:
    """Returns the filters of a collection: its own fields, and those of its relations as `relation_field`."""
    filters = collection.own_filters
    relations = {
        name: ((name,),)
        for name, link in collection.actions.records.relation_links.items()
        if not link.by_type and collection.resource.relations[name].type in collections
    }
    for name, (path, *others) in {**relations, **collection.via}.items():
        for field, filterable in _at(path, collection, collections).own_filters.items():
            also = tuple((*other, *filterable.path) for other in others)
            filters.setdefault(f"{name}_{field}", Filterable((*path, *filterable.path), filterable.kind, also))
    return filters


def _at(path: Path, collection: Collection, collections: Mapping[str, Collection]) -> Collection:
    """Returns the collection at the end of a path of relations."""
    for name in path:
        collection = collections[collection.resource.relations[name].type]
    return collection


def _is_sortable(kind: Any) -> bool:
    return kind not in (dict[str, Any], list[str])
