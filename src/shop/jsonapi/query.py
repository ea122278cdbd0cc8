"""Reads the document parameters `include` and sparse `fields`."""

from collections.abc import Mapping
from typing import Any

import msgspec

from shop.base.errors import Malformed
from shop.jsonapi.deprecation import Deprecation
from shop.jsonapi.resource import Resource

Tree = Mapping[str, "Tree"]
Resources = Mapping[str, Resource]
"""The wire types of one API by name."""


MAX_PATH = 6
"""Limits include paths: relations can be circular (product, variants, product …), and each step adds records."""
MAX_NAMES = 30
"""The limit for all paths together; shared prefixes count once."""


class DocumentQuery(msgspec.Struct, frozen=True):
    """The requested relations and fields. If `include` is None, the document has no `included` member."""

    include: Tree | None = None
    fields: Mapping[str, frozenset[str]] = {}


FULL = DocumentQuery()


def read_document_query(params: Mapping[str, Any], resource: Resource, resources: Resources) -> DocumentQuery:
    if "include" not in params and "fields" not in params:
        return FULL
    return DocumentQuery(_include(params.get("include"), resource, resources), _fields(params.get("fields")))


def deprecations(query: DocumentQuery, resources: Resources) -> tuple[Deprecation, ...]:
    """Returns the deprecations of explicitly selected attributes; a client may ignore those sent by default."""
    if not query.fields:
        return ()
    selections = [(resources[type_].deprecated, names) for type_, names in query.fields.items() if type_ in resources]
    return tuple(
        deprecated_fields[name]
        for deprecated_fields, names in selections
        for name in sorted(deprecated_fields.keys() & names)
    )


def _include(text: Any, resource: Resource, resources: Resources) -> Tree | None:
    if not isinstance(text, str) or not text.strip():
        return None
    tree: dict[str, Any] = {}
    for path in text.split(","):
        _add_path(tree, path.strip(), resource, resources)
    if _count(tree) > MAX_NAMES:
        raise Malformed(f"An include can have at most {MAX_NAMES} relations.", code="unknown_include")
    return tree


def _count(tree: Tree) -> int:
    return sum(1 + _count(deeper) for deeper in tree.values())


def _add_path(tree: dict[str, Any], path: str, resource: Resource, resources: Resources) -> None:
    here = [resource]
    names = path.split(".")
    if len(names) > MAX_PATH:
        raise Malformed(f"An include path can have at most {MAX_PATH} relations.", code="unknown_include")
    for name in names:
        relations = {relation_name: relation for each in here for relation_name, relation in each.relations.items()}
        if name not in relations:
            choices = ", ".join(relations) or "none"
            raise Malformed(f"There is no include {path[:100]!r}; allowed here: {choices}.", code="unknown_include")
        here = [resources[type_] for type_ in relations[name].types if type_ in resources]
        tree = tree.setdefault(name, {})


def _fields(value: Any) -> Mapping[str, frozenset[str]]:
    # An invalid structure (`fields=abc`, deeper nesting) is ignored, as Spree clients expect.
    if not isinstance(value, dict):
        return {}
    return {
        type_: frozenset(name.strip() for name in names.split(","))
        for type_, names in value.items()
        if isinstance(names, str)
    }
