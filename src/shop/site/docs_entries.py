"""The operations of the description as the reference shows them: in words, with examples to paste and to run."""

import json
import re
import shlex
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from shop.jsonapi.examples import Imagination, types_of
from shop.jsonapi.filtering import LONGEST_FIRST
from shop.jsonapi.schema import Schema
from shop.web.request import LINES, UPLOAD

BASE = "@where-the-shop-is@"
"""Stands for the address of the shop, which is another for each reader."""
_JSON = "application/json"
_CONTINUED = " \\\n  "
_FILTER = "filter["

_WHO = {
    "order_token": "an order token",
    "user_token": "a user token",
    "platform_token": "a platform token",
    "client": "an application's client id and secret",
}
_SENT = {
    "order_token": '-H "X-Shop-Order-Token: $ORDER_TOKEN"',
    "user_token": '-H "Authorization: Bearer $USER_TOKEN"',
    "platform_token": '-H "Authorization: Bearer $PLATFORM_TOKEN"',
    "client": '-u "$CLIENT_ID:$CLIENT_SECRET"',
}
# What the demo shop has by these names; ids are new in each, and looked up by the page when an example is run.
EXISTING = {
    "slug": "harbour-storm-lantern",
    "permalink": "departments/light/lanterns",
    "iso": "us",
}
# By a part of the address, where a name means another thing there.
_EXISTING_AT = {
    ("/stores/", "code"): "default",
    ("/cms_pages/", "slug"): "about-us",
    ("/policies/", "slug"): "returns-policy",
}
# What the fields of answers are like in a shop that works.
LIKELY: dict[str, Any] = {
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
    """A row of a table: a parameter, or a field of a body by its path."""

    name: str
    kind: str
    is_required: bool
    sentence: str
    place: str = ""
    example: str = ""


class Shape(msgspec.Struct, frozen=True):
    """One way a body may look."""

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
    """One operation as a page shows it."""

    id: str
    method: str
    path: str
    summary: str
    about: str
    is_deprecated: bool
    deprecated_attributes: Sequence[tuple[str, str]]
    """Of what it shows, each with a sentence."""
    also: Sequence[tuple[str, str]]
    """Other methods and addresses that do the same."""
    who: str
    credentials: Sequence[str]
    media: str
    """What its body is sent as."""
    parameters: Sequence[Field]
    filters: Sequence[Field]
    """Those of the parameters that say which records."""
    shapes: Sequence[Shape]
    curl: str
    answer: str
    """Status and reason."""
    answers: Sequence[str]
    failures: Sequence[Failure]
    takes_file: bool
    """What a page cannot run: a body that is no JSON."""


def entries(description: dict[str, Any], tag: str, imagination: Imagination) -> Iterable[Entry]:
    """The operations of a section; those that do the same under another method or address stand with the first."""
    same: dict[str, list[tuple[str, str, dict[str, Any]]]] = {}
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            if operation["tags"] == [tag]:
                same.setdefault(operation["summary"], []).append((method.upper(), path, operation))
    # What is done to one record comes after what every record has.
    for (method, path, operation), *others in sorted(same.values(), key=lambda rows: _depth(rows[0][1])):
        also = [(other_method, other_path) for other_method, other_path, _ in others]
        yield _entry(method, path, operation, also, imagination)


def _depth(path: str) -> int:
    return path.count("/") if "/platform/" in path else 0


def _entry(
    method: str, path: str, operation: dict[str, Any], also: list[tuple[str, str]], imagination: Imagination
) -> Entry:
    choices = operation["security"]
    command = _command(method, path, _first_credential(choices))
    body = operation.get("requestBody")
    media, content = next(iter(body["content"].items())) if body else (_JSON, {"schema": {}})
    status, answer = next(iter(operation["responses"].items()))
    shown = _line(next(iter(answer.get("content", {}).values()), {"schema": {}})["schema"])
    fields = [_parameter(row, path) for row in operation["parameters"]]
    return Entry(
        operation["operationId"],
        method,
        path,
        operation["summary"],
        operation.get("description", ""),
        operation.get("deprecated", False),
        _deprecated_attributes(_parts(shown), imagination),
        also,
        _who(choices),
        list(dict.fromkeys(name for choice in choices for name in choice)),
        media,
        [field for field in fields if not field.name.startswith(_FILTER)],
        _filters(field for field in fields if field.name.startswith(_FILTER)),
        [_shape(part, command, media, imagination) for part in _parts(_line(content["schema"]))],
        command,
        f"{status} {HTTPStatus(int(status)).phrase}",
        [pretty(imagination.whole(part)) for part in _parts(shown)],
        list(failures_of(operation)),
        media != _JSON,
    )


def _deprecated_attributes(answers: Sequence[Schema], imagination: Imagination) -> list[tuple[str, str]]:
    """Of the record, or of each record of a page."""
    found = []
    for answer in answers:
        data = imagination.resolve(imagination.resolve(answer).get("properties", {}).get("data", {}))
        record = imagination.resolve(data.get("items", data))
        attributes = imagination.resolve(record.get("properties", {}).get("attributes", {})).get("properties", {})
        found += [(name, kind["description"]) for name, kind in attributes.items() if kind.get("deprecated")]
    return found


def _first_credential(choices: Sequence[dict[str, Any]]) -> str | None:
    """The one that a command shows; none where one can do without."""
    return next(iter(choices[0]), None) if choices else None


def _line(schema: Schema) -> Schema:
    """What is shown of a body of lines is one of them."""
    line: Schema = schema.get("contentSchema", schema)
    return line


def _parts(schema: Schema) -> Sequence[Schema]:
    parts: Sequence[Schema] = schema.get("anyOf") or schema.get("oneOf") or ([schema] if schema else [])
    return parts


def _who(choices: Sequence[dict[str, Sequence[str]]]) -> str:
    named = [
        _WHO[name] + "".join(f" that may {scope}" for scope in scopes)
        for each in choices
        for name, scopes in each.items()
    ]
    if {} in choices:
        return f"Anyone; {' or '.join(named)} is read when it is sent."
    return f"Whoever has {' or '.join(named)}." if named else "Anyone."


def _command(method: str, path: str, credential: str | None) -> str:
    address = BASE + re.sub(r"{([a-z_]+)}", lambda found: example_of(found[1], path) or "$" + found[1].upper(), path)
    target = f'"{address}"' if "$" in address else address
    parts = [f"curl {target}" if method == "GET" else f"curl -X {method} {target}"]
    return _CONTINUED.join([*parts, _SENT[credential]] if credential else parts)


def example_of(name: str, path: str) -> str:
    """What stands for a parameter of the address in examples; nothing where the reader must know."""
    there = [text for (part, called), text in _EXISTING_AT.items() if part in path and called == name]
    return there[0] if there else EXISTING.get(name, "")


def _shape(schema: Schema, command: str, media: str, imagination: Imagination) -> Shape:
    whole = imagination.resolve(schema)
    body = imagination.brief(schema)
    curl = _CONTINUED.join([command, *_sent(whole, body, media)])
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", whole.get("title", "").removesuffix("Input")).capitalize()
    shown = json.dumps(body, ensure_ascii=False) if media in LINES else pretty(body)
    return Shape(name, whole.get("description", ""), list(_fields(whole, imagination)), shown, curl)


def _sent(schema: Schema, body: Any, media: str) -> Iterable[str]:
    if media not in UPLOAD:
        return [f'-H "Content-Type: {media}"', f"-d {shlex.quote(json.dumps(body, ensure_ascii=False))}"]
    files = {name for name, field in schema["properties"].items() if field.get("format") == "binary"}
    return [f"-F {name}={'@picture.png' if name in files else value}" for name, value in body.items()]


def _fields(schema: Schema, imagination: Imagination, prefix: str = "") -> Iterable[Field]:
    for name, inner in schema.get("properties", {}).items():
        drawn = imagination.resolve(inner)
        is_required = name in schema.get("required", ())
        yield Field(prefix + name, _kind(drawn), is_required, drawn.get("description", ""))
        yield from _fields(drawn, imagination, f"{prefix}{name}.")


def _parameter(row: dict[str, Any], path: str) -> Field:
    is_required, place = row.get("required", False), row["in"]
    example = example_of(row["name"], path) if place == "path" else ""
    return Field(row["name"], _kind(row["schema"]), is_required, row.get("description", ""), place, example)


def _filters(fields: Iterable[Field]) -> list[Field]:
    """One row a field with all its predicates; a filter without a predicate has a row of its own."""
    predicates: dict[str, list[str]] = {}
    first: dict[str, Field] = {}
    for field in fields:
        text = field.name.removeprefix(_FILTER).removesuffix("]")
        predicate = next((each for each in LONGEST_FIRST if text.endswith(f"_{each}")), "")
        name = text.removesuffix(f"_{predicate}") if predicate else field.name
        first.setdefault(name, field)
        predicates.setdefault(name, []).append(predicate)
    return [
        msgspec.structs.replace(field, name=name, sentence=", ".join(filter(None, predicates[name])) or field.sentence)
        for name, field in first.items()
    ]


def _kind(schema: Schema) -> str:
    """In words: `string of at most 255, or null`."""
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
            told: Schema = next(iter(content["schema"].get("properties", {}).values()), {})
            yield Failure(int(status), response["description"], told.get("enum", ()))


def pretty(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
