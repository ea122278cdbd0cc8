"""What a client may ask of a document: `include` and sparse `fields`, read from nested parameters."""

from collections.abc import Mapping
from typing import Any

import msgspec

from shop.base.errors import Malformed
from shop.jsonapi.deprecation import Deprecation
from shop.jsonapi.resource import Resource

Tree = Mapping[str, "Tree"]
Resources = Mapping[str, Resource]
"""The wire types of one door by name."""


MAX_PATH = 6
"""Relations lead in circles (a product's variants' product …), and each step multiplies what is drawn."""
MAX_NAMES = 30
"""Of all paths together, each place counted once."""


class DocumentQuery(msgspec.Struct, frozen=True):
    """`include` is none when nothing was asked: the document then has no `included` at all."""

    include: Tree | None = None
    fields: Mapping[str, frozenset[str]] = {}


FULL = DocumentQuery()


def read_document_query(params: Mapping[str, Any], resource: Resource, resources: Resources) -> DocumentQuery:
    if "include" not in params and "fields" not in params:
        return FULL
    return DocumentQuery(_include(params.get("include"), resource, resources), _fields(params.get("fields")))


def deprecations(query: DocumentQuery, resources: Resources) -> tuple[Deprecation, ...]:
    """Of the attributes that a client names; those it is shown unasked it may not even read."""
    if not query.fields:
        return ()
    found = [(resources[type_].deprecated, names) for type_, names in query.fields.items() if type_ in resources]
    return tuple(known[name] for known, names in found for name in sorted(known.keys() & names))


def _include(text: Any, resource: Resource, resources: Resources) -> Tree | None:
    if not isinstance(text, str) or not text.strip():
        return None
    tree: dict[str, Any] = {}
    for path in text.split(","):
        _plant(tree, path.strip(), resource, resources)
    if _count(tree) > MAX_NAMES:
        raise Malformed(f"An include names at most {MAX_NAMES} relations.", code="unknown_include")
    return tree


def _count(tree: Tree) -> int:
    return sum(1 + _count(deeper) for deeper in tree.values())


def _plant(tree: dict[str, Any], path: str, resource: Resource, resources: Resources) -> None:
    here = [resource]
    names = path.split(".")
    if len(names) > MAX_PATH:
        raise Malformed(f"An include leads over at most {MAX_PATH} relations.", code="unknown_include")
    for name in names:
        relations = {known: relation for each in here for known, relation in each.relations.items()}
        if name not in relations:
            allowed = ", ".join(relations) or "none"
            raise Malformed(
                f"There is no include {path[:100]!r}; allowed at this place: {allowed}.", code="unknown_include"
            )
        here = [resources[type_] for type_ in relations[name].types if type_ in resources]
        tree = tree.setdefault(name, {})


def _fields(value: Any) -> Mapping[str, frozenset[str]]:
    # A shape that makes no sense (`fields=abc`, deeper nesting) is passed over, as clients of this family expect.
    if not isinstance(value, dict):
        return {}
    return {
        type_: frozenset(name.strip() for name in names.split(","))
        for type_, names in value.items()
        if isinstance(names, str)
    }
