"""Entries of the API reference: one per operation, with text and runnable examples."""

import json
import re
import shlex
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from shop.jsonapi.examples import ExampleGenerator, types_of
from shop.jsonapi.filtering import PREDICATES_LONGEST_FIRST
from shop.jsonapi.schema import Schema
from shop.web.input.request import LINES, UPLOAD

BASE = "@where-the-shop-is@"
"""Placeholder for the base URL, which differs per reader."""
_JSON = "application/json"
_LINE_BREAK = " \\\n  "
_FILTER = "filter["

_WHO = {
    "order_token": "an order token",
    "user_token": "a user token",
    "platform_token": "a platform token",
    "client": "an application's client id and secret",
}
_CURL_CREDENTIALS = {
    "order_token": '-H "X-Shop-Order-Token: $ORDER_TOKEN"',
    "user_token": '-H "Authorization: Bearer $USER_TOKEN"',
    "platform_token": '-H "Authorization: Bearer $PLATFORM_TOKEN"',
    "client": '-u "$CLIENT_ID:$CLIENT_SECRET"',
}
# Parameter values that exist in the demo shop. Ids differ per installation; the page looks them up to run examples.
DEMO_VALUES = {
    "slug": "harbour-storm-lantern",
    "permalink": "departments/light/lanterns",
    "iso": "us",
}
# Overrides by a part of the path, where a name means something else.
_EXISTING_AT = {
    ("/stores/", "code"): "default",
    ("/cms_pages/", "slug"): "about-us",
    ("/policies/", "slug"): "returns-policy",
}
# Realistic values for response fields in examples.
EXAMPLE_VALUES: dict[str, Any] = {
    "number": "R123456789",
    "state": "cart",
    "token": "shpot_TheOrderToken",
    "email": "grace@example.com",
    "currency": "USD",
    "item_count": 0,
    "special_instructions": None,
    "shipment_state": None,
    "payment_state": None,
    "first_name": "Grace",
    "last_name": "Hopper",
    "selected_locale": "en-GB",
    "store_credits": 0,
    "completed_orders": 3,
    "firstname": "Grace",
    "lastname": "Hopper",
    "company": None,
    "address1": "12 Regent Street",
    "address2": None,
    "city": "London",
    "zipcode": "SW1Y 4PE",
    "phone": "+44 20 7946 0000",
    "state_name": None,
    "state_code": None,
    "country_name": "United Kingdom",
    "country_iso": "GB",
    "country_iso3": "GBR",
    "label": "Home",
    "source": "203.0.113.7",
    "user_agent": "Mozilla/5.0",
    "access_token": "shpat_TheAccessToken",
    "refresh_token": "shprt_TheRefreshToken",
    "token_type": "Bearer",
    "expires_in": 86400,
    "created_at": 1769860800,
    "scope": "admin read",
    "name": "A name",
    "request_id": "8c1f0e2a9b7d4c5566aa01f3",
    "self": "https://shop.example/list?page=1",
    "next": "https://shop.example/list?page=1",
    "prev": "https://shop.example/list?page=1",
    "first": "https://shop.example/list?page=1",
    "last": "https://shop.example/list?page=1",
}


class Field(msgspec.Struct, frozen=True):
    """A table row: a parameter, or a body field by its path."""

    name: str
    kind: str
    is_required: bool
    sentence: str
    location: str = ""
    example: str = ""


class Shape(msgspec.Struct, frozen=True):
    """One variant of a request body."""

    name: str
    sentence: str
    fields: Sequence[Field]
    body: str
    curl: str


class Failure(msgspec.Struct, frozen=True):
    status: int
    sentence: str
    codes: Sequence[str]


class Entry(msgspec.Struct, frozen=True):
    """One operation of a reference page."""

    id: str
    method: str
    path: str
    summary: str
    about: str
    is_deprecated: bool
    deprecated_attributes: Sequence[tuple[str, str]]
    """Deprecated response attributes, each with a description."""
    also: Sequence[tuple[str, str]]
    """Other methods and paths of the same operation."""
    who: str
    credentials: Sequence[str]
    media: str
    """Media type of the request body."""
    parameters: Sequence[Field]
    filters: Sequence[Field]
    """Parameters that filter records."""
    shapes: Sequence[Shape]
    curl: str
    answer: str
    """Status and reason."""
    answers: Sequence[str]
    failures: Sequence[Failure]
    takes_file: bool
    """Whether the body is not JSON, so that the page cannot run the example."""


def entries(description: dict[str, Any], tag: str, examples: ExampleGenerator) -> Iterable[Entry]:
    """Yields the entries of a section; operations with the same summary share one entry."""
    same: dict[str, list[tuple[str, str, dict[str, Any]]]] = {}
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            if operation["tags"] == [tag]:
                same.setdefault(operation["summary"], []).append((method.upper(), path, operation))
    # Actions on one record come after the operations common to every record.
    for (method, path, operation), *others in sorted(same.values(), key=lambda rows: _depth(rows[0][1])):
        also = [(other_method, other_path) for other_method, other_path, _ in others]
        yield _entry(method, path, operation, also, examples)


def _depth(path: str) -> int:
    return path.count("/") if "/platform/" in path else 0


def _entry(
    method: str, path: str, operation: dict[str, Any], also: list[tuple[str, str]], examples: ExampleGenerator
) -> Entry:
    choices = operation["security"]
    command = _command(method, path, _first_credential(choices))
    body = operation.get("requestBody")
    media, content = next(iter(body["content"].items())) if body else (_JSON, {"schema": {}})
    status, answer = next(iter(operation["responses"].items()))
    answer_schema = _line(next(iter(answer.get("content", {}).values()), {"schema": {}})["schema"])
    fields = [_parameter(row, path) for row in operation["parameters"]]
    return Entry(
        operation["operationId"],
        method,
        path,
        operation["summary"],
        operation.get("description", ""),
        operation.get("deprecated", False),
        _deprecated_attributes(_parts(answer_schema), examples),
        also,
        _who(choices),
        list(dict.fromkeys(name for choice in choices for name in choice)),
        media,
        [field for field in fields if not field.name.startswith(_FILTER)],
        _filters(field for field in fields if field.name.startswith(_FILTER)),
        [_shape(part, command, media, examples) for part in _parts(_line(content["schema"]))],
        command,
        f"{status} {HTTPStatus(int(status)).phrase}",
        [pretty(examples.whole(part)) for part in _parts(answer_schema)],
        list(failures_of(operation)),
        media != _JSON,
    )


def _deprecated_attributes(answers: Sequence[Schema], examples: ExampleGenerator) -> list[tuple[str, str]]:
    """Lists deprecated attributes of the returned record or of each record of a page."""
    rows = []
    for answer in answers:
        data = examples.resolve(examples.resolve(answer).get("properties", {}).get("data", {}))
        record = examples.resolve(data.get("items", data))
        attributes = examples.resolve(record.get("properties", {}).get("attributes", {})).get("properties", {})
        rows += [(name, kind["description"]) for name, kind in attributes.items() if kind.get("deprecated")]
    return rows


def _first_credential(choices: Sequence[dict[str, Any]]) -> str | None:
    """Returns the credential of the example command, or None if none is required."""
    return next(iter(choices[0]), None) if choices else None


def _line(schema: Schema) -> Schema:
    """Returns the schema of one line for an NDJSON body, otherwise the schema itself."""
    line: Schema = schema.get("contentSchema", schema)
    return line


def _parts(schema: Schema) -> Sequence[Schema]:
    parts: Sequence[Schema] = schema.get("anyOf") or schema.get("oneOf") or ([schema] if schema else [])
    return parts


def _who(choices: Sequence[dict[str, Sequence[str]]]) -> str:
    credentials = [
        _WHO[name] + "".join(f" with the scope {scope}" for scope in scopes)
        for each in choices
        for name, scopes in each.items()
    ]
    if {} in choices:
        return f"Anyone; {' or '.join(credentials)} is optional."
    return f"Requires {' or '.join(credentials)}." if credentials else "Anyone."


def _command(method: str, path: str, credential: str | None) -> str:
    address = BASE + re.sub(r"{([a-z_]+)}", lambda match: example_of(match[1], path) or "$" + match[1].upper(), path)
    target = f'"{address}"' if "$" in address else address
    parts = [f"curl {target}" if method == "GET" else f"curl -X {method} {target}"]
    return _LINE_BREAK.join([*parts, _CURL_CREDENTIALS[credential]] if credential else parts)


def example_of(name: str, path: str) -> str:
    """Returns the example value of a path parameter, or an empty string if the reader must supply it."""
    there = [text for (part, parameter), text in _EXISTING_AT.items() if part in path and parameter == name]
    return there[0] if there else DEMO_VALUES.get(name, "")


def _shape(schema: Schema, command: str, media: str, examples: ExampleGenerator) -> Shape:
    whole = examples.resolve(schema)
    body = examples.brief(schema)
    curl = _LINE_BREAK.join([command, *_curl_body(whole, body, media)])
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", whole.get("title", "").removesuffix("Input")).capitalize()
    body_text = json.dumps(body, ensure_ascii=False) if media in LINES else pretty(body)
    return Shape(name, whole.get("description", ""), list(_fields(whole, examples)), body_text, curl)


def _curl_body(schema: Schema, body: Any, media: str) -> Iterable[str]:
    if media not in UPLOAD:
        return [f'-H "Content-Type: {media}"', f"-d {shlex.quote(json.dumps(body, ensure_ascii=False))}"]
    files = {name for name, field in schema["properties"].items() if field.get("format") == "binary"}
    return [f"-F {name}={'@image.png' if name in files else value}" for name, value in body.items()]


def _fields(schema: Schema, examples: ExampleGenerator, prefix: str = "") -> Iterable[Field]:
    for name, inner in schema.get("properties", {}).items():
        field_schema = examples.resolve(inner)
        is_required = name in schema.get("required", ())
        yield Field(prefix + name, _kind(field_schema), is_required, field_schema.get("description", ""))
        # The fields of an object that may also be null are those of the object.
        object_schema = examples.resolve(next(iter(_parts(field_schema)), field_schema))
        yield from _fields(object_schema, examples, f"{prefix}{name}.")


def _parameter(row: dict[str, Any], path: str) -> Field:
    is_required, location = row.get("required", False), row["in"]
    example = example_of(row["name"], path) if location == "path" else ""
    return Field(row["name"], _kind(row["schema"]), is_required, row.get("description", ""), location, example)


def _filters(fields: Iterable[Field]) -> list[Field]:
    """Returns one row per field with all its predicates; a filter without predicates has its own row."""
    predicates: dict[str, list[str]] = {}
    first: dict[str, Field] = {}
    for field in fields:
        text = field.name.removeprefix(_FILTER).removesuffix("]")
        predicate = next((each for each in PREDICATES_LONGEST_FIRST if text.endswith(f"_{each}")), "")
        name = text.removesuffix(f"_{predicate}") if predicate else field.name
        first.setdefault(name, field)
        predicates.setdefault(name, []).append(predicate)
    return [
        msgspec.structs.replace(field, name=name, sentence=", ".join(filter(None, predicates[name])) or field.sentence)
        for name, field in first.items()
    ]


def _kind(schema: Schema) -> str:
    """Describes a type in words: `string of at most 255, or null`."""
    if "enum" in schema:
        return "one of " + ", ".join(map(str, schema["enum"]))
    if "anyOf" in schema:
        return " or ".join(_kind(part) for part in schema["anyOf"])
    words = [
        schema.get("format", kind).replace("uuid", "UUID") if kind == "string" else kind for kind in types_of(schema)
    ]
    if "items" in schema:
        words[0] += f" of {_kind(schema['items'])}"
    if "maxLength" in schema:
        words[0] += f" of at most {schema['maxLength']}"
    if "maximum" in schema:
        words[0] += f" from {schema['minimum']} to {schema['maximum']}"
    return " or ".join(words)


def failures_of(operation: dict[str, Any]) -> Iterable[Failure]:
    for status, response in operation["responses"].items():
        if int(status) >= 400:
            (content,) = response["content"].values()
            code_schema: Schema = next(iter(content["schema"].get("properties", {}).values()), {})
            yield Failure(int(status), response["description"], code_schema.get("enum", ()))


def pretty(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
