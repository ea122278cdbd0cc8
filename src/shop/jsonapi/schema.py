"""How a declared wire type, and a struct of a body, is said in JSON Schema."""

import types
from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from itertools import permutations
from typing import Any, Union, get_args, get_origin

import msgspec

from shop.jsonapi.query import Resources
from shop.jsonapi.resource import Money, Relation, Resource

Schema = dict[str, Any]

_PLACE = "#/components/schemas/"
_NULL = {"type": "null"}
# Without it, generators take an object of which nothing is said for one that must be empty.
_ANY_OBJECT: Schema = {"type": "object", "additionalProperties": True}
# Said here and not by msgspec: an amount is a decimal text, and a time of ours always has its zone.
_OURS: dict[Any, Schema] = {
    Money: {"type": "string", "pattern": r"^-?[0-9]+\.[0-9]+$"},
    datetime: {"type": "string", "format": "date-time"},
}


def reference(name: str) -> Schema:
    return {"$ref": _PLACE + name}


def resource_schemas(resources: Resources) -> dict[str, Schema]:
    """For each wire type its record, a document, a page and an unpaged list, by the names they have in the description;
    and what these are made of.
    """
    ids = {resource.type: resource.id_kind for resource in list(resources.values())[::-1]}
    relations = [relation for resource in resources.values() for relation in resource.relations.values()]
    related = sorted({type_ for relation in relations for type_ in relation.types})
    schemas = dict(_SHARED)
    drawn = [
        *((name, part) for type_ in related for name, part in _link_schemas(type_, ids.get(type_, str)).items()),
        *((name, part) for name, resource in resources.items() for name, part in _record_schemas(name, resource)),
    ]
    for name, schema in drawn:
        if name in schemas:
            raise ValueError(f"two schemas are called {name}")
        schemas[name] = schema
    return schemas


def document_name(name: str) -> str:
    return f"{name}Document"


def page_name(name: str) -> str:
    return f"{name}Page"


def all_name(name: str) -> str:
    # Not `List`: a list of prices would have the name of a price list.
    return f"{name}Collection"


def class_name(name: str) -> str:
    """`line_item` as `LineItem`."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


class Structs:
    """The structs of all bodies and answers, drawn together so that two of one name are told apart. `nouns` has another
    name for some, by the name of their class.
    """

    def __init__(self, kinds: Iterable[Any], nouns: Mapping[str, str] | None = None) -> None:
        structs = list(dict.fromkeys(part for kind in kinds for part in parts_of(kind)))
        drawn, components = msgspec.json.schema_components(structs, ref_template=_PLACE + "{name}")
        names = _plain_names(components, nouns or {})
        self.components = {
            names[name]: {**_renamed(schema, names), "title": names[name]} for name, schema in components.items()
        }
        self._references = {struct: _renamed(schema, names) for struct, schema in zip(structs, drawn, strict=True)}

    def schema(self, kind: Any) -> Schema:
        """A reference, or any of several: the handler tells untagged structs apart, msgspec would not draw them."""
        return _any_of([self._references[part] for part in parts_of(kind)])

    def answer(self, kind: Any) -> Schema:
        """As `schema`; where each of several answers requires a member that no other has, exactly one fits."""
        drawn: list[Schema] = [self._references[part] for part in parts_of(kind)]
        if len(drawn) == 1:
            return drawn[0]
        required = [set(part["required"]) for part in self.parts(kind)]
        is_distinct = not any(one <= other for one, other in permutations(required, 2))
        return {"oneOf" if is_distinct else "anyOf": drawn}

    def parts(self, kind: Any) -> list[Schema]:
        """What is referred to, whole."""
        return [self.components[self._references[part]["$ref"].removeprefix(_PLACE)] for part in parts_of(kind)]


def _plain_names(components: Mapping[str, Schema], nouns: Mapping[str, str]) -> dict[str, str]:
    """A noun for each schema: of two classes with one name msgspec names the modules too, which are no concern of a
    client. Schemas that say the same share a name.
    """
    names: dict[str, str] = {}
    taken: dict[str, Schema] = {}
    for name, schema in components.items():
        *modules, last = name.split(".")
        noun = nouns.get(last, last)
        if taken.get(noun, schema) != schema:
            noun = class_name(modules[-1]) + noun if modules else f"Other{noun}"
        names[name] = noun
        taken[noun] = schema
    return names


def _renamed(schema: Any, names: Mapping[str, str]) -> Any:
    if isinstance(schema, list):
        return [_renamed(part, names) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if isinstance(schema.get("$ref"), str):
        name = schema["$ref"].removeprefix(_PLACE)
        return {**schema, **reference(names.get(name, name))}
    if schema.get("type") == "object" and not schema.keys() & {"properties", "additionalProperties"}:
        return {**schema, **_ANY_OBJECT}
    return {key: _renamed(part, names) for key, part in schema.items()}


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
    schema: Schema = _renamed(msgspec.json.schema(kind), {})
    return schema


_QUERY_KINDS: dict[Any, Schema] = {
    Money: {"type": "string", "pattern": "^-?[0-9]+([.][0-9]+)?$"},
    Decimal: {"type": "string", "pattern": "^-?[0-9]+([.][0-9]+)?$"},
}


def query_schema(kind: Any) -> Schema:
    """The schema of one value in the address: several are a text with commas, which every client sends alike."""
    plain = [part for part in parts_of(kind) if part is not type(None)]
    if len(plain) != 1 or get_origin(plain[0]) is list or plain[0] is list:
        return {"type": "string"}
    drawn = _QUERY_KINDS.get(plain[0]) or kind_schema(plain[0])
    if "enum" in drawn:
        return {"type": "string", **drawn}
    return drawn if drawn.get("type") in {"string", "integer", "number", "boolean"} else {"type": "string"}


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in {Union, types.UnionType}


def _any_of(drawn: list[Schema]) -> Schema:
    return drawn[0] if len(drawn) == 1 else {"anyOf": drawn}


def _or_null(schema: Schema) -> Schema:
    if isinstance(schema.get("type"), str) and "enum" not in schema:
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [*schema.get("anyOf", [schema]), _NULL]}


def _record_schemas(name: str, resource: Resource) -> Iterable[tuple[str, Schema]]:
    record = reference(name)
    records = {"type": "array", "items": record}
    beside = {"included": _INCLUDED, "meta": _ANY_OBJECT}
    yield name, _object(name, resource)
    yield f"{name}Attributes", _attributes(resource)
    yield f"{name}Relationships", _relationships(resource)
    yield (
        document_name(name),
        {"type": "object", "required": ["data"], "properties": {"data": record, **beside}},
    )
    # A list that is always served whole has no pages, and so neither counts nor links.
    yield all_name(name), {"type": "object", "required": ["data"], "properties": {"data": records, **beside}}
    yield (
        page_name(name),
        {
            "type": "object",
            "required": ["data", "meta", "links"],
            "properties": {
                "data": records,
                "included": _INCLUDED,
                "meta": reference("PageMeta"),
                "links": reference("PageLinks"),
            },
        },
    )


_INCLUDED = {
    "type": "array",
    "description": "The records that `include` asked for, each once.",
    "items": reference("IncludedRecord"),
}
_SHARED: Mapping[str, Schema] = {
    "IncludedRecord": {
        "type": "object",
        "description": "A related record; its attributes are those of its type.",
        "required": ["id", "type", "attributes", "relationships"],
        "properties": {
            "id": {"type": "string"},
            "type": {"type": "string"},
            "attributes": _ANY_OBJECT,
            "relationships": _ANY_OBJECT,
        },
    },
    # By place there are no totals and no last page: neither is known without counting.
    "PageMeta": {
        "type": "object",
        "required": ["count"],
        "properties": {
            **{name: {"type": "integer"} for name in ("count", "total_count", "total_pages")},
            "total_is_estimate": {"type": "boolean"},
        },
        "additionalProperties": True,
    },
    "PageLinks": {
        "type": "object",
        "required": ["self", "first"],
        "properties": {name: {"type": "string"} for name in ("self", "next", "prev", "last", "first")},
    },
}


def _object(name: str, resource: Resource) -> Schema:
    return {
        "type": "object",
        "required": ["id", "type", "attributes", "relationships"],
        "properties": {
            "id": kind_schema(resource.id_kind),
            "type": {"type": "string", "const": resource.type},
            "attributes": reference(f"{name}Attributes"),
            "relationships": reference(f"{name}Relationships"),
        },
    }


def _attributes(resource: Resource) -> Schema:
    """None is required: `fields` may leave out any."""
    return {
        "type": "object",
        "properties": {name: kind_schema(kind) | _marked(resource, name) for name, kind in resource.kinds().items()},
        "additionalProperties": False,
    }


def _marked(resource: Resource, name: str) -> Schema:
    deprecation = resource.deprecated.get(name)
    return {"deprecated": True, "description": deprecation.sentence} if deprecation else {}


def _relationships(resource: Resource) -> Schema:
    return {
        "type": "object",
        "properties": {name: _link(relation) for name, relation in resource.relations.items()},
        "additionalProperties": False,
    }


def _link(relation: Relation) -> Schema:
    if not relation.others:
        return reference(_link_name(relation))
    some = {"anyOf": [*(reference(f"{class_name(type_)}Identifier") for type_ in relation.types), _NULL]}
    return {"type": "object", "required": ["data"], "properties": {"data": some}}


def _link_name(relation: Relation) -> str:
    return class_name(relation.type) + ("Links" if relation.is_many else "Link")


def _link_schemas(type_: str, id_kind: Any) -> dict[str, Schema]:
    """What stands for a record in a relationship: to one, which may be none, and to many."""
    name = class_name(type_)
    one = reference(f"{name}Identifier")
    return {
        f"{name}Identifier": {
            "type": "object",
            "required": ["id", "type"],
            "properties": {"id": kind_schema(id_kind), "type": {"type": "string", "const": type_}},
        },
        f"{name}Link": {
            "type": "object",
            "required": ["data"],
            "properties": {"data": {"anyOf": [one, _NULL]}},
        },
        f"{name}Links": {
            "type": "object",
            "required": ["data"],
            "properties": {"data": {"type": "array", "items": one}},
        },
    }
