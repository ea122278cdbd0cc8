"""Generates JSON Schema for wire types and for the structs of bodies."""

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

_REF_PREFIX = "#/components/schemas/"
_NULL = {"type": "null"}
# Without `additionalProperties`, generators treat an object without properties as always empty.
_ANY_OBJECT: Schema = {"type": "object", "additionalProperties": True}
# Override msgspec: an amount is a decimal string, and times always have a time zone.
_CUSTOM_SCHEMAS: dict[Any, Schema] = {
    Money: {"type": "string", "pattern": r"^-?[0-9]+\.[0-9]+$"},
    datetime: {"type": "string", "format": "date-time"},
}


def reference(name: str) -> Schema:
    return {"$ref": _REF_PREFIX + name}


def resource_schemas(resources: Resources) -> dict[str, Schema]:
    """Returns the schemas of the record, document, page and unpaginated list of each wire type, and their parts, by
    component name.
    """
    ids = {resource.type: resource.id_kind for resource in list(resources.values())[::-1]}
    relations = [relation for resource in resources.values() for relation in resource.relations.values()]
    related = sorted({type_ for relation in relations for type_ in relation.types})
    schemas = dict(_SHARED)
    named_schemas = [
        *((name, part) for type_ in related for name, part in _link_schemas(type_, ids.get(type_, str)).items()),
        *((name, part) for name, resource in resources.items() for name, part in _record_schemas(name, resource)),
    ]
    for name, schema in named_schemas:
        if name in schemas:
            raise ValueError(f"duplicate schema name: {name}")
        schemas[name] = schema
    return schemas


def document_name(name: str) -> str:
    return f"{name}Document"


def page_name(name: str) -> str:
    return f"{name}Page"


def all_name(name: str) -> str:
    # Not `List`: a list of prices would be named like a price list.
    return f"{name}Collection"


def class_name(name: str) -> str:
    """Converts `line_item` to `LineItem`."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


class Structs:
    """The schemas of all request and response structs, generated together so that equal class names stay distinct."""

    def __init__(self, kinds: Iterable[Any]) -> None:
        structs = list(dict.fromkeys(part for kind in kinds for part in parts_of(kind)))
        references, components = msgspec.json.schema_components(structs, ref_template=_REF_PREFIX + "{name}")
        names = _plain_names(components)
        self.components = {
            names[name]: {**_rename_references(schema, names), "title": names[name]}
            for name, schema in components.items()
        }
        self._references = {
            struct: _rename_references(schema, names) for struct, schema in zip(structs, references, strict=True)
        }

    def schema(self, kind: Any) -> Schema:
        """Returns a reference, or `anyOf` for a union of untagged structs, which msgspec cannot describe."""
        return _any_of([self._references[part] for part in parts_of(kind)])

    def answer(self, kind: Any) -> Schema:
        """Returns a schema like `schema`, but `oneOf` if each struct of a union requires a member that no other
        requires.
        """
        references: list[Schema] = [self._references[part] for part in parts_of(kind)]
        if len(references) == 1:
            return references[0]
        required_sets = [set(part["required"]) for part in self.parts(kind)]
        is_distinct = not any(one <= other for one, other in permutations(required_sets, 2))
        return {"oneOf" if is_distinct else "anyOf": references}

    def parts(self, kind: Any) -> list[Schema]:
        """Returns the full schema of each struct."""
        return [self.components[self._references[part]["$ref"].removeprefix(_REF_PREFIX)] for part in parts_of(kind)]


def _plain_names(components: Mapping[str, Schema]) -> dict[str, str]:
    """Returns a short name for each schema. If two classes have the same name, msgspec adds their modules, which
    are irrelevant to clients. Equal schemas share a name.
    """
    names: dict[str, str] = {}
    schemas_by_name: dict[str, Schema] = {}
    for name, schema in components.items():
        *modules, noun = name.split(".")
        if schemas_by_name.get(noun, schema) != schema:
            noun = class_name(modules[-1]) + noun if modules else f"Other{noun}"
        names[name] = noun
        schemas_by_name[noun] = schema
    return names


def _rename_references(schema: Any, names: Mapping[str, str]) -> Any:
    if isinstance(schema, list):
        return [_rename_references(part, names) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if isinstance(schema.get("$ref"), str):
        name = schema["$ref"].removeprefix(_REF_PREFIX)
        return {**schema, **reference(names.get(name, name))}
    # A field that may be left out has no value: generators would treat one with a default as required.
    schema = {key: part for key, part in schema.items() if key != "default" or part is not None}
    if schema.get("type") == "object" and not schema.keys() & {"properties", "additionalProperties"}:
        return {**schema, **_ANY_OBJECT}
    return {key: _rename_references(part, names) for key, part in schema.items()}


def parts_of(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if _is_union(kind) else (kind,)


def kind_schema(kind: Any) -> Schema:
    """Returns the schema of an attribute's Python type."""
    if kind in _CUSTOM_SCHEMAS:
        return dict(_CUSTOM_SCHEMAS[kind])
    if _is_union(kind):
        schemas = [kind_schema(part) for part in get_args(kind) if part is not type(None)]
        return _or_null(_any_of(schemas)) if type(None) in get_args(kind) else _any_of(schemas)
    if get_origin(kind) is list:
        return {"type": "array", "items": kind_schema(get_args(kind)[0])}
    schema: Schema = _rename_references(msgspec.json.schema(kind), {})
    return schema


_QUERY_KINDS: dict[Any, Schema] = {
    Money: {"type": "string", "pattern": "^-?[0-9]+([.][0-9]+)?$"},
    Decimal: {"type": "string", "pattern": "^-?[0-9]+([.][0-9]+)?$"},
}


def query_schema(kind: Any) -> Schema:
    """Returns the schema of a query value; a list is a comma-separated text, which all clients send the same way."""
    plain = [part for part in parts_of(kind) if part is not type(None)]
    if len(plain) != 1 or get_origin(plain[0]) is list or plain[0] is list:
        return {"type": "string"}
    schema = _QUERY_KINDS.get(plain[0]) or kind_schema(plain[0])
    if "enum" in schema:
        return {"type": "string", **schema}
    return schema if schema.get("type") in {"string", "integer", "number", "boolean"} else {"type": "string"}


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in {Union, types.UnionType}


def _any_of(schemas: list[Schema]) -> Schema:
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


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
    # An unpaginated list has no counts and no links.
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
    "description": "The records requested with `include`, each once.",
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
    # Keyset pages have no totals and no last page, which require counting.
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
    """Returns the schema of the attributes. None is required, because `fields` may omit any."""
    return {
        "type": "object",
        "properties": {
            name: kind_schema(kind) | _deprecation_keywords(resource, name) for name, kind in resource.kinds().items()
        },
        "additionalProperties": False,
    }


def _deprecation_keywords(resource: Resource, name: str) -> Schema:
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
    """Returns the identifier schema of a wire type, and the relationships to one (nullable) and to many."""
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
