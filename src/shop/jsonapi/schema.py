"""How a declared wire type, and a struct of a body, is said in JSON Schema."""

import types
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Union, get_args, get_origin

import msgspec

from shop.jsonapi.query import Resources
from shop.jsonapi.resource import Money, Relation, Resource

Schema = dict[str, Any]

_PLACE = "#/components/schemas/"
_NULL = {"type": "null"}
# Said here and not by msgspec: an amount is a decimal text, and a time of ours always has its zone.
_OURS: dict[Any, Schema] = {
    Money: {"type": "string", "pattern": r"^-?[0-9]+\.[0-9]+$"},
    datetime: {"type": "string", "format": "date-time"},
}


def reference(name: str) -> Schema:
    return {"$ref": _PLACE + name}


def resource_schemas(resources: Resources) -> dict[str, Schema]:
    """For each wire type a document, a page and an unpaged list, by the names they have in the description."""
    # The suffixes end no wire type's name: with `_list`, a list of prices had the name of a price list.
    drawn = {name: _document(resource) for name, resource in resources.items()}
    for name, resource in resources.items():
        drawn |= {page_name(name): _page(resource), all_name(name): _all(resource)}
    if len(drawn) != 3 * len(resources):
        raise ValueError("two schemas have the same name")
    return drawn


def page_name(name: str) -> str:
    return f"{name}_page"


def all_name(name: str) -> str:
    return f"{name}_all"


class Structs:
    """The structs of all bodies and answers, drawn together so that two of one name are told apart."""

    def __init__(self, kinds: Iterable[Any]) -> None:
        structs = list(dict.fromkeys(part for kind in kinds for part in parts_of(kind)))
        drawn, self.components = msgspec.json.schema_components(structs, ref_template=_PLACE + "{name}")
        self._references = dict(zip(structs, drawn, strict=True))

    def schema(self, kind: Any) -> Schema:
        """A reference, or one of several: the handler tells untagged structs apart, msgspec would not draw them."""
        return _any_of([self._references[part] for part in parts_of(kind)])

    def parts(self, kind: Any) -> list[Schema]:
        """What is referred to, whole."""
        return [self.components[self._references[part]["$ref"].removeprefix(_PLACE)] for part in parts_of(kind)]


def parts_of(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if _is_union(kind) else (kind,)


def kind_schema(kind: Any) -> Schema:
    """The schema of an attribute's Python type."""
    if kind in _OURS:
        return dict(_OURS[kind])
    if _is_union(kind):
        drawn = [kind_schema(part) for part in get_args(kind) if part is not type(None)]
        return _or_null(_any_of(drawn)) if type(None) in get_args(kind) else _any_of(drawn)
    if get_origin(kind) is list:
        return {"type": "array", "items": kind_schema(get_args(kind)[0])}
    return msgspec.json.schema(kind)


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in {Union, types.UnionType}


def _any_of(drawn: list[Schema]) -> Schema:
    return drawn[0] if len(drawn) == 1 else {"anyOf": drawn}


def _or_null(schema: Schema) -> Schema:
    if isinstance(schema.get("type"), str):
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [*schema.get("anyOf", [schema]), _NULL]}


def _document(resource: Resource) -> Schema:
    return {
        "type": "object",
        "required": ["data"],
        "properties": {"data": _object(resource), "included": _INCLUDED, "meta": {"type": "object"}},
    }


def _all(resource: Resource) -> Schema:
    """A list that is always served whole: it has no pages, and so neither counts nor links."""
    return {
        "type": "object",
        "required": ["data"],
        "properties": {
            "data": {"type": "array", "items": _object(resource)},
            "included": _INCLUDED,
            "meta": {"type": "object"},
        },
    }


def _page(resource: Resource) -> Schema:
    counts = {name: {"type": "integer"} for name in ("count", "total_count", "total_pages")}
    links = {name: {"type": "string"} for name in ("self", "next", "prev", "last", "first")}
    return {
        "type": "object",
        "required": ["data", "meta", "links"],
        "properties": {
            "data": {"type": "array", "items": _object(resource)},
            "included": _INCLUDED,
            # By place there are no totals and no last page: neither is known without counting.
            "meta": {
                "type": "object",
                "required": ["count"],
                "properties": {**counts, "total_is_estimate": {"type": "boolean"}},
            },
            "links": {"type": "object", "required": ["self", "first"], "properties": links},
        },
    }


_INCLUDED = {
    "type": "array",
    "description": "The records that `include` asked for, each once.",
    "items": {
        "type": "object",
        "required": ["id", "type"],
        "properties": {"id": {"type": "string"}, "type": {"type": "string"}},
    },
}


def _object(resource: Resource) -> Schema:
    return {
        "type": "object",
        "required": ["id", "type", "attributes", "relationships"],
        "properties": {
            "id": kind_schema(resource.id_kind),
            "type": {"type": "string", "const": resource.type},
            "attributes": {
                "type": "object",
                "properties": {name: kind_schema(kind) for name, kind in resource.kinds().items()},
                "additionalProperties": False,
            },
            "relationships": {
                "type": "object",
                "properties": {name: _relationship(relation) for name, relation in resource.relations.items()},
                "additionalProperties": False,
            },
        },
    }


def _type_name(relation: Relation) -> Mapping[str, Any]:
    return {"enum": [relation.type, *relation.others]} if relation.others else {"const": relation.type}


def _relationship(relation: Relation) -> Mapping[str, Any]:
    linkage = {
        "type": "object",
        "required": ["id", "type"],
        "properties": {"id": {"type": "string"}, "type": _type_name(relation)},
    }
    data = {"type": "array", "items": linkage} if relation.is_many else {"anyOf": [linkage, _NULL]}
    return {"type": "object", "required": ["data"], "properties": {"data": data}}
