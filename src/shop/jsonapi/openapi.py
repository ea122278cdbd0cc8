"""Generates the OpenAPI 3.1 description from the declarations, so that it always matches the API."""

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
    class_name,
    document_name,
    page_name,
    reference,
    resource_schemas,
)

# Forms and `application/vnd.api+json` are accepted but not described: given several media types for one schema, some
# client generators use the last one, and none can send a nested object as a form.
BODY_MEDIA = ("application/json",)
_LINES = "application/x-ndjson"
_EVENT_STREAM = "text/event-stream"
_MEANINGS = {
    400: "The request cannot be read.",
    401: "The credential is missing or invalid.",
    403: "The credential lacks permission.",
    404: "Missing, or owned by someone else.",
    409: "The record changed, or a request with the same Idempotency-Key is in progress.",
    410: "Expired or already used.",
    413: "The body is too large.",
    414: "The URL is too long.",
    415: "The body's media type or encoding is not supported.",
    422: "Validation failed.",
    429: "Too many requests; `Retry-After` says when to retry.",
    503: "The service is unavailable; `Retry-After` says when to retry.",
}


class Api(msgspec.Struct, frozen=True):
    """The general information about the API."""

    title: str
    version: str
    description: str = ""
    tags: Mapping[str, str] = {}
    """The description of each tag."""
    credentials: Mapping[str, Mapping[str, Any]] = {}
    """The security schemes by name."""
    parameters: Mapping[str, str] = {}
    """The description of each path parameter."""
    webhooks: Mapping[str, str] = {}
    """The description of each type of webhook."""
    webhook_body: Any = None
    """The struct of the body that all webhooks have."""
    webhook_tag: str = ""


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One operation of the description."""

    id: str
    method: str
    path: str
    summary: str
    tag: str
    deprecated: str | None = None
    """The deprecation notice: start date, sunset date and replacement."""
    security: Sequence[Mapping[str, Sequence[str]]] = ()
    """Alternative security requirements; an empty one means no credential."""
    takes: Any = None
    """The struct of the body, or a union of structs."""
    reads: Sequence[str] = BODY_MEDIA
    """The media types of the body."""
    shows: Any = None
    """The response: the name of a wire type (followed by `[]` for a list), a struct, or a union of structs."""
    status: int = 200
    errors: Mapping[int, Sequence[str]] = {}
    """The error codes of each status."""
    error_body: str = "ErrorBody"
    media: str
    shows_lines: bool = False
    shows_events: bool = False
    flags: Mapping[str, str] = {}
    """Boolean query parameters with their descriptions."""
    is_paged: bool = True
    """Whether a list is paginated; other lists are returned in full."""
    sorts: Sequence[str] = ()
    filters: Mapping[str, Any] = {}
    """The value type of each filter; a `Filterable` for a field with predicates."""
    has_predicates: bool = False
    """Whether filters have the form `field_predicate`, and keyset pagination is supported."""
    asks: Mapping[str, str] = {}
    """The description of each other query parameter."""
    is_cacheable: bool = False
    """Whether a response may be cached and revalidated by its ETag."""
    is_idempotent: bool = False
    may_be_empty: bool = False
    """Whether the operation may return 204 because there is no record to show."""


class SchemaContext(msgspec.Struct, frozen=True):
    """The context for describing operations: the API, its wire types and its structs."""

    api: Api
    resources: Resources
    structs: Structs

    def response_schema(self, operation: Operation) -> Schema:
        shows = operation.shows
        if not isinstance(shows, str):
            return self.structs.answer(shows)
        if not shows.endswith("[]"):
            return reference(document_name(shows))
        name = shows.removesuffix("[]")
        return reference(page_name(name) if operation.is_paged else all_name(name))


def openapi(api: Api, operations: Sequence[Operation], resources: Resources) -> dict[str, Any]:
    kinds = [kind for row in operations for kind in (row.takes, row.shows) if kind and not isinstance(kind, str)]
    context = SchemaContext(api, resources, Structs(kinds))
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, context)
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
        **({"webhooks": {name: _webhook(name, context) for name in api.webhooks}} if api.webhooks else {}),
        "components": {
            "schemas": _reachable_schemas(
                paths, _merge_schemas(ERRORS, context.structs.components, resource_schemas(resources))
            ),
            **(_webhook_components(context) if api.webhooks else {}),
            "securitySchemes": dict(api.credentials),
        },
    }


def _merge_schemas(*groups: Mapping[str, Schema]) -> dict[str, Schema]:
    schemas: dict[str, Schema] = {}
    for group in groups:
        if duplicates := schemas.keys() & group.keys():
            raise ValueError(f"duplicate schema names: {', '.join(sorted(duplicates))}")
        schemas |= group
    return schemas


_WEBHOOK_HEADERS = {
    "WebhookId": ("webhook-id", "The id of the event: the same in every attempt."),
    "WebhookTimestamp": ("webhook-timestamp", "The time of the attempt, in seconds since 1970."),
    "WebhookSignature": (
        "webhook-signature",
        "The HMAC-SHA256 signatures of id, timestamp and body, by Standard Webhooks.",
    ),
}


def _webhook(name: str, context: SchemaContext) -> dict[str, Any]:
    """Describes one type of webhook; everything but its name and description is shared by all types."""
    operation = {
        "tags": [context.api.webhook_tag],
        "summary": context.api.webhooks[name],
        "operationId": "on" + class_name(name.replace(".", "_")),
        "security": [],
        "parameters": [{"$ref": f"#/components/parameters/{each}"} for each in _WEBHOOK_HEADERS],
        "requestBody": {"$ref": "#/components/requestBodies/Webhook"},
        "responses": {"2XX": {"$ref": "#/components/responses/WebhookReceived"}},
    }
    return {"post": operation}


def _webhook_components(context: SchemaContext) -> dict[str, Any]:
    schema = context.structs.schema(context.api.webhook_body)
    return {
        "parameters": {
            name: {"name": header, "in": "header", "required": True, "schema": {"type": "string"}, "description": text}
            for name, (header, text) in _WEBHOOK_HEADERS.items()
        },
        "requestBodies": {"Webhook": {"required": True, "content": {"application/json": {"schema": schema}}}},
        "responses": {"WebhookReceived": {"description": "Received. Any other status is repeated later."}},
    }


_NOTHING_LEFT = {"description": "Success without content."}
_NOT_MODIFIED = {"description": "Not modified: `If-None-Match` has the current ETag."}
_CODE_FIELD = {"ErrorBody": "code", "OAuthErrorBody": "error"}


def _operation(operation: Operation, context: SchemaContext) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": "Success without content." if operation.status == 204 else "Success."}
    if operation.shows_lines:
        answer["content"] = {_LINES: {"schema": _lines(context.response_schema(operation))}}
    elif operation.shows_events:
        answer["content"] = {_EVENT_STREAM: {"schema": _events(context.response_schema(operation))}}
    elif operation.shows:
        answer["content"] = {operation.media: {"schema": context.response_schema(operation)}}
    operation_object: dict[str, Any] = {
        "tags": [operation.tag],
        "summary": operation.summary,
        "operationId": operation.id,
        "security": [dict(choice) for choice in operation.security],
        "parameters": list(_parameters(operation, context)),
        "responses": {
            str(operation.status): answer,
            **({"204": _NOTHING_LEFT} if operation.may_be_empty else {}),
            **({"304": _NOT_MODIFIED} if operation.is_cacheable else {}),
            **_failures(operation),
        },
    }
    if operation.deprecated:
        operation_object |= {"deprecated": True, "description": operation.deprecated}
    if operation.takes:
        operation_object["requestBody"] = _body(operation, context.structs)
    if operation.filters and operation.has_predicates:
        operation_object["description"] = filter_fields(operation.filters)
    return operation_object


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
    # Beside the reference, not with `allOf`, so that generators use the same error type everywhere.
    return {**reference(body), "properties": {_CODE_FIELD[body]: {"enum": list(codes)}}}


def _body(operation: Operation, structs: Structs) -> dict[str, Any]:
    if _LINES in operation.reads:
        lines = _lines(structs.schema(operation.takes))
        return {"required": False, "content": {media: {"schema": lines} for media in operation.reads}}
    content = {media: {"schema": structs.schema(operation.takes)} for media in operation.reads}
    return {"required": all(part.get("required") for part in structs.parts(operation.takes)), "content": content}


def _events(schema: Schema) -> Schema:
    """Returns the schema of server-sent events: the data of each is JSON."""
    return {"type": "string", "contentMediaType": "application/json", "contentSchema": schema}


def _lines(line: Schema) -> Schema:
    """Returns the schema of an NDJSON body: bytes, because OpenAPI 3.1 has no NDJSON; `contentSchema` is one line."""
    sentence = "One JSON object per line; `contentSchema` describes a line."
    schema = {"type": "string", "format": "binary", "description": sentence}
    return {**schema, "contentMediaType": _LINES, "contentSchema": line}


def _parameters(operation: Operation, context: SchemaContext) -> Iterable[dict[str, Any]]:
    yield from path_parameters(operation.path, context.api.parameters)
    if operation.is_idempotent:
        yield IDEMPOTENCY_KEY
    for name, sentence in operation.flags.items():
        yield {"name": name, "in": "query", "schema": {"type": "boolean", "default": False}, "description": sentence}
    for name, sentence in operation.asks.items():
        yield {"name": name, "in": "query", "schema": {"type": "string"}, "description": sentence}
    if not isinstance(operation.shows, str):
        return
    if operation.shows.endswith("[]") and operation.is_paged:
        yield from PAGES
        yield AFTER
        if operation.sorts:
            yield sort_parameter(operation.sorts)
        yield from filter_parameters(operation.filters)
    yield from document_parameters(context.resources[operation.shows.removesuffix("[]")])


def _reachable_schemas(paths: Mapping[str, Any], schemas: Mapping[str, Schema]) -> dict[str, Schema]:
    """Returns the schemas that operations refer to, directly or indirectly, in the order of their declaration."""
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
