"""How declarations become an OpenAPI 3.1 description, so that the reference cannot drift from what is served."""

import re
import types
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Union, get_args, get_origin

import msgspec

from shop.jsonapi.query import Resources
from shop.jsonapi.resource import Money, Relation, Resource

_SCALARS: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    datetime: {"type": "string", "format": "date-time"},
    dict[str, Any]: {"type": "object"},
    Money: {"type": "string", "pattern": r"^-?[0-9]+\.[0-9]+$"},
}
_MEANINGS = {
    400: "The request cannot be read.",
    401: "A credential is missing, or the one sent is not valid.",
    403: "The credential may not do this.",
    404: "Missing, or not the caller's.",
    409: "Someone was faster, or the same Idempotency-Key is at work.",
    413: "The body is too large.",
    415: "The body's media type or encoding is not read here.",
    422: "Readable but not acceptable.",
    429: "Too many requests.",
    503: "The service cannot answer right now.",
}


class Operation(msgspec.Struct, frozen=True):
    """What the description needs to know of one route."""

    method: str
    path: str
    summary: str
    security: Sequence[str]
    status: int
    shows: str | None
    errors: Sequence[int]
    media: str
    is_idempotent: bool


def openapi(title: str, version: str, operations: Iterable[Operation], resources: Resources) -> dict[str, Any]:
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, resources)
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": version, "license": {"name": "MIT", "identifier": "MIT"}},
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": {
                "error": _ERROR,
                **{name: _document(resource) for name, resource in resources.items()},
                **{f"{name}_list": _list(resource) for name, resource in resources.items()},
            },
            "securitySchemes": {
                "order_token": {"type": "apiKey", "in": "header", "name": "X-Shop-Order-Token"},
                "user_token": {"type": "http", "scheme": "bearer"},
                "platform_token": {"type": "http", "scheme": "bearer"},
            },
        },
    }


_ERROR = {
    "type": "object",
    "required": ["error", "code", "request_id"],
    "properties": {
        "error": {"type": "string", "description": "One sentence."},
        "code": {"type": "string", "description": "A stable word to decide by."},
        "request_id": {"type": "string"},
        "errors": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
    },
}


def _operation(operation: Operation, resources: Resources) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": "Done." if operation.status == 204 else "As asked."}
    if operation.shows:
        answer["content"] = {operation.media: {"schema": {"$ref": f"#/components/schemas/{_schema(operation.shows)}"}}}
    failures = {
        str(status): {
            "description": _MEANINGS[status],
            "content": {operation.media: {"schema": {"$ref": "#/components/schemas/error"}}},
        }
        for status in (*operation.errors, 503)
    }
    described = {
        "summary": operation.summary,
        "operationId": f"{operation.method.lower()}{re.sub(r'[^a-z0-9]+', '_', operation.path.lower())}",
        "parameters": list(_parameters(operation, resources)),
        "responses": {str(operation.status): answer, **failures},
    }
    if operation.security:
        described["security"] = [{name: []} for name in operation.security]
    return described


def _parameters(operation: Operation, resources: Resources) -> Iterable[dict[str, Any]]:
    for name in re.findall(r"{([a-z_]+)}", operation.path):
        yield {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
    if operation.is_idempotent:
        yield {
            "name": "Idempotency-Key",
            "in": "header",
            "schema": {"type": "string", "format": "uuid"},
            "description": "A repetition within 24 hours is answered with the first one's result.",
        }
    shown = resources.get((operation.shows or "").removesuffix("[]"))
    if shown is None:
        return
    if (operation.shows or "").endswith("[]"):
        for name in ("page", "per_page"):
            yield {"name": name, "in": "query", "schema": {"type": "integer", "minimum": 1}}
    if shown.relations:
        yield {
            "name": "include",
            "in": "query",
            "schema": {"type": "string", "pattern": _listing(shown.relations)},
            "description": "Relations to include, separated by commas; dots lead on to theirs.",
        }
    yield {
        "name": f"fields[{shown.type}]",
        "in": "query",
        "schema": {"type": "string"},
        "description": "Attributes and relations to show, separated by commas.",
    }


def _listing(names: Iterable[str]) -> str:
    """A pattern for some of the names with commas between them, each with a path behind it or none."""
    one = f"({'|'.join(names)})([.][a-z_.]+)?"
    return f"^({one}(,{one})*)?$"


def _document(resource: Resource) -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["data"],
        "properties": {"data": _object(resource), "included": {"type": "array", "items": {"type": "object"}}},
    }


def _schema(shows: str) -> str:
    return f"{shows[:-2]}_list" if shows.endswith("[]") else shows


def _list(resource: Resource) -> dict[str, Any]:
    counts = {name: {"type": "integer"} for name in ("count", "total_count", "total_pages")}
    links = {name: {"type": "string"} for name in ("self", "next", "prev", "last", "first")}
    return {
        "type": "object",
        "required": ["data", "meta", "links"],
        "properties": {
            "data": {"type": "array", "items": _object(resource)},
            "included": {"type": "array", "items": {"type": "object"}},
            "meta": {"type": "object", "required": list(counts), "properties": counts},
            "links": {"type": "object", "required": list(links), "properties": links},
        },
    }


def _object(resource: Resource) -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["id", "type", "attributes", "relationships"],
        "properties": {
            "id": {"type": "string", "format": "uuid"},
            "type": {"type": "string", "const": resource.type},
            "attributes": {
                "type": "object",
                "properties": {name: _kind(kind) for name, kind in resource.kinds().items()},
                "additionalProperties": False,
            },
            "relationships": {
                "type": "object",
                "properties": {name: _relationship(relation) for name, relation in resource.relations.items()},
                "additionalProperties": False,
            },
        },
    }


def _relationship(relation: Relation) -> Mapping[str, Any]:
    linkage = {
        "type": "object",
        "required": ["id", "type"],
        "properties": {"id": {"type": "string"}, "type": {"const": relation.type}},
    }
    data = {"type": "array", "items": linkage} if relation.is_many else {"anyOf": [linkage, {"type": "null"}]}
    return {"type": "object", "required": ["data"], "properties": {"data": data}}


def _kind(kind: Any) -> dict[str, Any]:
    if get_origin(kind) in {Union, types.UnionType}:
        inner = next(part for part in get_args(kind) if part is not type(None))
        return {**_SCALARS[inner], "type": [_SCALARS[inner]["type"], "null"]}
    return dict(_SCALARS[kind])
