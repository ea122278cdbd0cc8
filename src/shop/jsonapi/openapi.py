"""How declarations become an OpenAPI 3.1 description, so that the reference cannot drift from what is served."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from shop.jsonapi.error_schemas import ERRORS
from shop.jsonapi.parameters import (
    AFTER,
    IDEMPOTENCY_KEY,
    PAGES,
    document_parameters,
    filter_fields,
    filter_parameters,
    path_parameters,
    sort_parameter,
)
from shop.jsonapi.query import Resources
from shop.jsonapi.schema import (
    Schema,
    Structs,
    all_name,
    document_name,
    page_name,
    reference,
    resource_schemas,
)

# Forms and `application/vnd.api+json` are read too. Described beside it, they mislead generators: of several media
# types with one schema, some send the last one, and none can send a nested object as a form.
BODY_MEDIA = ("application/json",)
_LINES = "application/x-ndjson"
_MEANINGS = {
    400: "The request cannot be read.",
    401: "A credential is missing, or the one sent is not valid.",
    403: "The credential may not do this.",
    404: "Missing, or not the caller's.",
    409: "Someone was faster, or the same Idempotency-Key is at work.",
    410: "It was here, and has been used.",
    413: "The body is too large.",
    414: "The address is too long.",
    415: "The body's media type or encoding is not read here.",
    422: "Readable but not acceptable.",
    429: "Too many requests; `Retry-After` says when to come again.",
    503: "The service cannot answer right now; `Retry-After` says when to come again.",
}


class Api(msgspec.Struct, frozen=True):
    """What is said once of the whole."""

    title: str
    version: str
    description: str = ""
    tags: Mapping[str, str] = {}
    """A sentence about each tag, by its name."""
    credentials: Mapping[str, Mapping[str, Any]] = {}
    """The security schemes by name."""
    parameters: Mapping[str, str] = {}
    """A sentence about each parameter of an address, by its name."""
    nouns: Mapping[str, str] = {}
    """The names of struct schemas that are not called after their class, by the class's name."""


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """What the description needs to know of one route."""

    id: str
    method: str
    path: str
    summary: str
    tag: str
    deprecated: str | None = None
    """Since when and until when, and what to use instead."""
    security: Sequence[Mapping[str, Sequence[str]]] = ()
    """Any of these will do; an empty one stands for no credential at all."""
    takes: Any = None
    """The struct of the body, or a union of structs."""
    reads: Sequence[str] = BODY_MEDIA
    """The media types of the body."""
    shows: Any = None
    """What is answered: a wire type's name (`[]` behind it for a list), a struct, or a union of structs."""
    status: int = 200
    errors: Mapping[int, Sequence[str]] = {}
    """The words that may stand for each status in the error's body."""
    error_body: str = "ErrorBody"
    media: str
    shows_lines: bool = False
    flags: Mapping[str, str] = {}
    """Parameters of the query that are true or false, each with its sentence."""
    is_paged: bool = True
    """Whether a list has pages; the others are always served whole."""
    sorts: Sequence[str] = ()
    filters: Mapping[str, Any] = {}
    """The kinds of values by the filter's name; a `Filterable` for a field that has predicates."""
    has_predicates: bool = False
    """Whether filters are of the kind `field_predicate`, and pages may go by place."""
    asks: Mapping[str, str] = {}
    """A sentence about each other parameter of the query, by its name."""
    is_kept: bool = False
    """Whether an answer may be kept and asked for anew by its ETag."""
    is_idempotent: bool = False
    may_be_empty: bool = False
    """Whether 204 may be answered instead, because nothing is left to show."""


class Vocabulary(msgspec.Struct, frozen=True):
    """What operations are described with."""

    api: Api
    resources: Resources
    structs: Structs

    def shown(self, operation: Operation) -> Schema:
        shows = operation.shows
        if not isinstance(shows, str):
            return self.structs.answer(shows)
        if not shows.endswith("[]"):
            return reference(document_name(shows))
        name = shows.removesuffix("[]")
        return reference(page_name(name) if operation.is_paged else all_name(name))


def openapi(api: Api, operations: Sequence[Operation], resources: Resources) -> dict[str, Any]:
    kinds = [kind for row in operations for kind in (row.takes, row.shows) if kind and not isinstance(kind, str)]
    words = Vocabulary(api, resources, Structs(kinds, api.nouns))
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, words)
    tags = dict.fromkeys(operation.tag for operation in operations)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": api.title,
            "version": api.version,
            "description": api.description,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": tag, "description": api.tags.get(tag, "")} for tag in tags],
        "paths": paths,
        "components": {
            "schemas": _reached(paths, _merged(ERRORS, words.structs.components, resource_schemas(resources))),
            "securitySchemes": dict(api.credentials),
        },
    }


def _merged(*groups: Mapping[str, Schema]) -> dict[str, Schema]:
    merged: dict[str, Schema] = {}
    for group in groups:
        if twice := merged.keys() & group.keys():
            raise ValueError(f"two schemas are called {', '.join(sorted(twice))}")
        merged |= group
    return merged


_NOTHING_LEFT = {"description": "Done, and nothing is left to show."}
_NOT_MODIFIED = {"description": "What the header `If-None-Match` names is what would be answered."}
_CODE_FIELD = {"ErrorBody": "code", "OAuthErrorBody": "error"}


def _operation(operation: Operation, words: Vocabulary) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": "Done." if operation.status == 204 else "As asked."}
    if operation.shows_lines:
        answer["content"] = {_LINES: {"schema": _lines(words.shown(operation))}}
    elif operation.shows:
        answer["content"] = {operation.media: {"schema": words.shown(operation)}}
    described: dict[str, Any] = {
        "tags": [operation.tag],
        "summary": operation.summary,
        "operationId": operation.id,
        "security": [dict(choice) for choice in operation.security],
        "parameters": list(_parameters(operation, words)),
        "responses": {
            str(operation.status): answer,
            **({"204": _NOTHING_LEFT} if operation.may_be_empty else {}),
            **({"304": _NOT_MODIFIED} if operation.is_kept else {}),
            **_failures(operation),
        },
    }
    if operation.deprecated:
        described |= {"deprecated": True, "description": operation.deprecated}
    if operation.takes:
        described["requestBody"] = _body(operation, words.structs)
    if operation.filters and operation.has_predicates:
        described["description"] = filter_fields(operation.filters)
    return described


def _failures(operation: Operation) -> dict[str, Any]:
    return {
        str(status): {
            "description": _MEANINGS[status],
            "content": {operation.media: {"schema": _error(operation.error_body, codes)}},
        }
        for status, codes in sorted(operation.errors.items())
    }


def _error(body: str, codes: Sequence[str]) -> Schema:
    if not codes:
        return reference(body)
    # Beside the reference and not by `allOf`: every generator takes the body for the one that it is everywhere.
    return {**reference(body), "properties": {_CODE_FIELD[body]: {"enum": list(codes)}}}


def _body(operation: Operation, structs: Structs) -> dict[str, Any]:
    if _LINES in operation.reads:
        lines = _lines(structs.schema(operation.takes))
        return {"required": False, "content": {media: {"schema": lines} for media in operation.reads}}
    content = {media: {"schema": structs.schema(operation.takes)} for media in operation.reads}
    return {"required": all(part.get("required") for part in structs.parts(operation.takes)), "content": content}


def _lines(line: Schema) -> Schema:
    """OpenAPI 3.1 has no word for a body of lines; this one says what each of them is. To generators it is bytes."""
    sentence = "JSON objects, one a line, each as `contentSchema` says."
    described = {"type": "string", "format": "binary", "description": sentence}
    return {**described, "contentMediaType": _LINES, "contentSchema": line}


def _parameters(operation: Operation, words: Vocabulary) -> Iterable[dict[str, Any]]:
    yield from path_parameters(operation.path, words.api.parameters)
    if operation.is_idempotent:
        yield IDEMPOTENCY_KEY
    for name, sentence in operation.flags.items():
        yield {"name": name, "in": "query", "schema": {"type": "boolean", "default": False}, "description": sentence}
    if not isinstance(operation.shows, str):
        return
    if operation.shows.endswith("[]") and operation.is_paged:
        yield from PAGES
        yield AFTER
        if operation.sorts:
            yield sort_parameter(operation.sorts)
        yield from filter_parameters(operation.filters)
    yield from document_parameters(words.resources[operation.shows.removesuffix("[]")])
    for name, sentence in operation.asks.items():
        yield {"name": name, "in": "query", "schema": {"type": "string"}, "description": sentence}


def _reached(paths: Mapping[str, Any], schemas: Mapping[str, Schema]) -> dict[str, Schema]:
    """The schemas that an operation refers to, and those that these refer to, in the order of their declaration."""
    names: set[str] = set()
    waiting: list[Any] = [paths]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            name = str(part.get("$ref", "")).rpartition("/")[2]
            if name and name not in names:
                names.add(name)
                waiting.append(schemas[name])
            waiting.extend(part.values())
        elif isinstance(part, list | tuple):
            waiting.extend(part)
    return {name: schema for name, schema in schemas.items() if name in names}
