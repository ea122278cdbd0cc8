"""How declarations become an OpenAPI 3.1 description, so that the reference cannot drift from what is served."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from shop.base.listing import DEFAULT_SIZE
from shop.jsonapi.error_schemas import ERRORS, FIELDS_BY_CODE
from shop.jsonapi.filtering import PREDICATES
from shop.jsonapi.paging import LARGEST_SIZE, LAST_PAGE
from shop.jsonapi.query import Resources
from shop.jsonapi.schema import Schema, Structs, all_name, page_name, reference, resource_schemas

BODY_MEDIA = ("application/json", "application/vnd.api+json", "application/x-www-form-urlencoded")
_FORM = BODY_MEDIA[-1]
_LINES = "application/x-ndjson"
_MEANINGS = {
    400: "The request cannot be read.",
    401: "A credential is missing, or the one sent is not valid.",
    403: "The credential may not do this.",
    404: "Missing, or not the caller's.",
    409: "Someone was faster, or the same Idempotency-Key is at work.",
    410: "It was here, and has been used.",
    413: "The body is too large.",
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


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """What the description needs to know of one route."""

    method: str
    path: str
    summary: str
    tag: str
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
    error_body: str = "error"
    media: str
    shows_lines: bool = False
    flags: Mapping[str, str] = {}
    """Parameters of the query that are true or false, each with its sentence."""
    is_paged: bool = True
    """Whether a list has pages; the others are always served whole."""
    sorts: Sequence[str] = ()
    filters: Sequence[str] = ()
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
            return self.structs.schema(shows)
        if not shows.endswith("[]"):
            return reference(shows)
        name = shows.removesuffix("[]")
        return reference(page_name(name) if operation.is_paged else all_name(name))


def openapi(api: Api, operations: Sequence[Operation], resources: Resources) -> dict[str, Any]:
    kinds = [kind for row in operations for kind in (row.takes, row.shows) if kind and not isinstance(kind, str)]
    words = Vocabulary(api, resources, Structs(kinds))
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
            "schemas": {**ERRORS, **words.structs.components, **resource_schemas(resources)},
            "responses": {"method_not_allowed": _METHOD_NOT_ALLOWED},
            "securitySchemes": dict(api.credentials),
        },
    }


_NOTHING_LEFT = {"description": "Done, and nothing is left to show."}
_NOT_MODIFIED = {"description": "What the header `If-None-Match` names is what would be answered."}
_CODE_FIELD = {"error": "code", "oauth_error": "error"}
# No operation answers this: it is what an address says to a method that it does not have.
_METHOD_NOT_ALLOWED = {
    "description": "The address is there, but not with this method; the header `Allow` names those it has.",
    "headers": {"Allow": {"schema": {"type": "string"}}},
    "content": {"application/json": {"schema": reference("error")}},
}


def _operation(operation: Operation, words: Vocabulary) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": "Done." if operation.status == 204 else "As asked."}
    if operation.shows_lines:
        answer["content"] = {_LINES: {"schema": _lines(words.shown(operation))}}
    elif operation.shows:
        answer["content"] = {operation.media: {"schema": words.shown(operation)}}
    described = {
        "tags": [operation.tag],
        "summary": operation.summary,
        "operationId": f"{operation.method.lower()}{re.sub(r'[^a-z0-9]+', '_', operation.path.lower())}",
        "parameters": list(_parameters(operation, words)),
        "responses": {
            str(operation.status): answer,
            **({"204": _NOTHING_LEFT} if operation.may_be_empty else {}),
            **({"304": _NOT_MODIFIED} if operation.is_kept else {}),
            **_failures(operation),
        },
    }
    if operation.takes:
        described["requestBody"] = _body(operation, words.structs)
    if operation.security:
        described["security"] = [dict(choice) for choice in operation.security]
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
    fields = {name: schema for code in codes for name, schema in FIELDS_BY_CODE.get(code, {}).items()}
    return {**reference(body), "properties": {_CODE_FIELD[body]: {"enum": list(codes)}, **fields}}


def _body(operation: Operation, structs: Structs) -> dict[str, Any]:
    if _LINES in operation.reads:
        lines = _lines(structs.schema(operation.takes))
        return {"required": False, "content": {media: {"schema": lines} for media in operation.reads}}
    parts = structs.parts(operation.takes)
    groups = {
        name
        for part in parts
        for name, schema in part["properties"].items()
        if "$ref" in schema or schema.get("type") == "object"
    }
    content: dict[str, Any] = {media: {"schema": structs.schema(operation.takes)} for media in operation.reads}
    if groups and _FORM in content:
        # In a form, `user[email]=…` stands for {"user": {"email": …}}.
        content[_FORM] = {
            **content[_FORM],
            "encoding": {name: {"style": "deepObject", "explode": True} for name in sorted(groups)},
        }
    return {"required": all(part.get("required") for part in parts), "content": content}


def _lines(line: Schema) -> Schema:
    """OpenAPI 3.1 has no word for a body of lines; this one says what each of them is."""
    sentence = "JSON objects, one a line, each as `contentSchema` says."
    return {"type": "string", "description": sentence, "contentMediaType": _LINES, "contentSchema": line}


def _parameters(operation: Operation, words: Vocabulary) -> Iterable[dict[str, Any]]:
    for name in re.findall(r"{([a-z_]+)}", operation.path):
        described = {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        yield described | ({"description": words.api.parameters[name]} if name in words.api.parameters else {})
    if operation.is_idempotent:
        yield _IDEMPOTENCY_KEY
    for name, sentence in operation.flags.items():
        yield {"name": name, "in": "query", "schema": {"type": "boolean", "default": False}, "description": sentence}
    if not isinstance(operation.shows, str):
        return
    shown = words.resources[operation.shows.removesuffix("[]")]
    if operation.shows.endswith("[]") and operation.is_paged:
        yield from _PAGES
        if operation.sorts:
            yield _sort(operation.sorts)
        if operation.filters:
            yield from (
                (_AFTER, _predicates(operation.filters)) if operation.has_predicates else (_filter(operation.filters),)
            )
    if shown.relations:
        yield {
            "name": "include",
            "in": "query",
            "schema": {"type": "string", "pattern": _listing(shown.relations)},
            "description": "Relations to include, separated by commas; dots lead on to theirs. "
            f"Here: {', '.join(shown.relations)}.",
        }
    yield {
        "name": f"fields[{shown.type}]",
        "in": "query",
        "schema": {"type": "string"},
        "description": "Attributes and relations to show, separated by commas.",
    }
    for name, sentence in operation.asks.items():
        yield {"name": name, "in": "query", "schema": {"type": "string"}, "description": sentence}


_IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
    "description": "A repetition within 24 hours is answered with the first one's result. "
    "Without a credential it must be a UUID of version 4 or 7.",
}
_PAGES = (
    {
        "name": "page",
        "in": "query",
        "schema": {"type": "integer", "minimum": 1, "maximum": LAST_PAGE, "default": 1},
        "description": "Which page of the list.",
    },
    {
        "name": "per_page",
        "in": "query",
        "schema": {"type": "integer", "minimum": 1, "maximum": LARGEST_SIZE, "default": DEFAULT_SIZE},
        "description": f"How many records a page has; out of range it is {DEFAULT_SIZE}.",
    },
)


_AFTER = {
    "name": "page[after]",
    "in": "query",
    "schema": {"type": "string"},
    "description": "Pages by place instead of by number: empty for the first, then what `links.next` has. As quick at "
    "the end of a long list as at its beginning; without totals.",
}


def _predicates(names: Sequence[str]) -> dict[str, Any]:
    return _filters(
        "Which records: `filter[field_predicate]=value`, all of them, or one with `filter[m]=or`. "
        f"Predicates: {', '.join(PREDICATES)}. Fields: {', '.join(names)}; two are joined by `_or_`."
    )


def _filter(names: Sequence[str]) -> dict[str, Any]:
    return _filters(f"Which records: `filter[name]=value`, all of them. Names: {', '.join(names)}.")


def _filters(sentence: str) -> dict[str, Any]:
    return {
        "name": "filter",
        "in": "query",
        "style": "deepObject",
        "explode": True,
        "schema": {"type": "object", "additionalProperties": {"type": "string"}},
        "description": sentence,
    }


def _sort(names: Sequence[str]) -> dict[str, Any]:
    one = f"-?({'|'.join(names)})"
    return {
        "name": "sort",
        "in": "query",
        "schema": {"type": "string", "pattern": f"^({one}(,{one})*)?$"},
        "description": f"By what the list is ordered; a minus puts the largest first. One of {', '.join(names)}.",
    }


def _listing(names: Iterable[str]) -> str:
    """A pattern for some of the names with commas between them, each with a path behind it or none."""
    one = f"({'|'.join(names)})([.][a-z_.]+)?"
    return f"^({one}(,{one})*)?$"
