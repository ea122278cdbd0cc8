"""The vocabulary in which a platform resource is declared; its addresses, filters, rights and description follow."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_type_hints

import msgspec

from shop.actions.records import Noun
from shop.base.kinds import split_kind
from shop.base.listing import Path
from shop.jsonapi.filtering import Filterable
from shop.jsonapi.resource import Money, Resource

_STAMPS = ("id", "created_at", "updated_at")


class Nested(msgspec.Struct, frozen=True):
    """A member whose value is a related record, or a list of them."""

    relation: str
    members: frozenset[str]
    """The members of a record that can be set."""


class Collection(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """A resource under `/api/v2/platform`. What a noun has no verb for, has no address."""

    path: str
    resource: Resource
    noun: Noun
    writable: Mapping[str, Any] = {}
    """What may be set, by name and kind; anything else in a body is refused, unless it is what the record shows."""
    nested: Mapping[str, Nested] = {}
    """Members of `writable` that hold related records."""
    longest: Mapping[str, int] = {}
    """Texts that may be longer than others, by name, with how many bytes each may have."""
    aliases: Mapping[str, str] = {}
    """Other names under which members of `writable` are accepted."""
    translate: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """Turns the type names of Spree, and what belongs to them, into ours; `Invalid` where there is none."""
    required: Sequence[str] = ()
    """What a new record cannot be without."""
    once: Sequence[str] = ()
    """Of what may be set, what a record is made with and keeps."""
    filters: Sequence[str] = ()
    """Columns to filter by beside the id and the times."""
    via: Mapping[str, Sequence[Path]] = {}
    """Names to filter by beside those of the relations: another name of one, one for several, one of a relation's."""
    filtered_as: Mapping[str, str] = {}
    """Further names to filter by, with the column that each stands for."""
    sorted_as: Mapping[str, str] = {}
    """Further names to sort by, with the field that each stands for."""
    sorts: Sequence[str] = ()
    order: str = "-id"
    """The order of a list for which none is asked; newest first, for ids grow with time."""
    find_by: Sequence[str] = ("id",)
    alone: Sequence[str] = ()
    """Relations that a record shows alone, and in a list only where they are included: each may be long."""
    codes: Mapping[int, tuple[str, ...]] = {}
    """The error codes that writing may answer with, by status, beside the usual ones."""
    is_lenient: bool = False
    """An update without its object changes nothing and is no error, as the family has it for orders."""

    @property
    def listed(self) -> Resource:
        """As a list shows it that includes nothing."""
        relations = {name: relation for name, relation in self.resource.relations.items() if name not in self.alone}
        return msgspec.structs.replace(self.resource, relations=relations)

    @property
    def columns(self) -> Mapping[str, Any]:
        """Each column's kind by its name, with what else a list may be sorted by."""
        amounts = self.noun.records.amounts
        hints = get_type_hints(self.noun.records.row)
        table = self.noun.records.table
        names = dict.fromkeys((*table.c.keys(), *self.sorts, *self.filters))
        found = {name: _amount(hints[name]) if name in amounts else hints[name] for name in names if name in hints}
        return found | {name: found[field] for name, field in self.sorted_as.items()}

    @property
    def own_filters(self) -> dict[str, Filterable]:
        columns, records = self.columns, self.noun.records
        known = {*records.table.c.keys(), *records.extras, *records.searches}
        own = {name: name for name in (*_STAMPS, *self.filters) if name in known}
        # What is searched and not shown is text.
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
    """Fields of a row with their kinds, as `writable` wants them."""
    hints = get_type_hints(row)
    return {name: hints[name] for name in names}


def all_filters(collection: Collection, collections: Mapping[str, Collection]) -> dict[str, Filterable]:
    """A collection's own fields, and those of its relations by `relation_field`."""
    found = collection.own_filters
    relations = {
        name: ((name,),)
        for name, kin in collection.noun.records.kin.items()
        if not kin.by_type and collection.resource.relations[name].type in collections
    }
    for name, (path, *others) in {**relations, **collection.via}.items():
        for field, theirs in _at(path, collection, collections).own_filters.items():
            also = tuple((*other, *theirs.path) for other in others)
            found.setdefault(f"{name}_{field}", Filterable((*path, *theirs.path), theirs.kind, also))
    return found


def _at(path: Path, collection: Collection, collections: Mapping[str, Collection]) -> Collection:
    """Where a way over relations leads."""
    for name in path:
        collection = collections[collection.resource.relations[name].type]
    return collection


def _is_sortable(kind: Any) -> bool:
    return kind not in (dict[str, Any], list[str])
