"""The API reference as a page: everything of the description, with examples to paste and to run."""

import asyncio
import html
import json
import re
import secrets
import shlex
from collections.abc import Iterable, Sequence
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from shop.actions.context import Context
from shop.base.errors import NotFound
from shop.base.secrets import KINDS
from shop.base.tokens import ORDER_TOKEN_PATTERN
from shop.jsonapi.examples import Imagination, types_of
from shop.jsonapi.schema import Schema, reference
from shop.site.reference import Door, describe
from shop.web.endpoint import Handler
from shop.web.reply import Reply, html_reply
from shop.web.request import LINES, UPLOAD, Request

SECRET_PATTERN = f"shp({'|'.join(kind[3:5] for kind in KINDS)})_[0-9A-Za-z]{{49}}"

# Put in place of these in every answer: the page is drawn once, but its word is new and its reader another each time.
_NONCE, _BASE = "@the-pages-word@", "@where-the-shop-is@"
# Shown in commands that people paste into a shell, so nothing but an address may stand there.
_JSON = "application/json"
_CONTINUED = " \\\n  "

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

_templates = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


class Field(msgspec.Struct, frozen=True):
    """A row of a table: a parameter, or a field of a body by its path."""

    name: str
    kind: str
    is_required: bool
    sentence: str
    place: str = ""


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
    """One operation as the page shows it."""

    id: str
    method: str
    path: str
    summary: str
    also: Sequence[tuple[str, str]]
    """Other methods and addresses that do the same."""
    who: str
    credentials: Sequence[str]
    media: str
    """What its body is sent as."""
    parameters: Sequence[Field]
    shapes: Sequence[Shape]
    curl: str
    answer: str
    """Status and reason."""
    answers: Sequence[str]
    failures: Sequence[Failure]
    takes_file: bool
    """What a page cannot run: a body that is no JSON."""


class Topic(msgspec.Struct, frozen=True):
    id: str
    name: str
    sentence: str
    entries: Sequence[Entry]


def page(doors: Sequence[Door]) -> Handler:
    """Drawn for whoever asks first, beside the other requests."""

    @cache
    def drawn() -> str:
        return _render(describe(doors))

    async def answer(request: Request, ctx: Context) -> Reply:
        text = await asyncio.to_thread(drawn)
        base = request.origin(ctx.shared.settings.public_url).rstrip("/")
        nonce = secrets.token_urlsafe(16)
        shown = html.escape(base)
        return html_reply(text.replace(_NONCE, nonce).replace(_BASE, shown), nonce)

    return answer


def _render(description: dict[str, Any]) -> str:
    doors: dict[str, list[Topic]] = {}
    imagination = Imagination(description["components"]["schemas"], LIKELY)
    for tag in description["tags"]:
        door, _, name = tag["name"].partition(": ")
        entries = list(_entries(description, tag["name"], imagination))
        doors.setdefault(door, []).append(Topic(_slug(tag["name"]), name, tag["description"], entries))
    return _templates.get_template("docs.html").render(
        nonce=_NONCE,
        base=_BASE,
        about=description["info"]["description"],
        doors=doors,
        codes=_all_codes(description),
        error=_pretty({**imagination.whole(reference("error")), "error": NotFound.sentence, "code": NotFound.code}),
        secret_pattern=SECRET_PATTERN,
        order_token_pattern=ORDER_TOKEN_PATTERN,
        prose=_prose,
    )


def _entries(description: dict[str, Any], tag: str, imagination: Imagination) -> Iterable[Entry]:
    """The operations of a topic; those that do the same under another method or address stand with the first."""
    same: dict[str, list[tuple[str, str, dict[str, Any]]]] = {}
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            if operation["tags"] == [tag]:
                same.setdefault(operation["summary"], []).append((method.upper(), path, operation))
    for (method, path, operation), *others in same.values():
        also = [(other_method, other_path) for other_method, other_path, _ in others]
        yield _entry(method, path, operation, also, imagination)


def _entry(
    method: str, path: str, operation: dict[str, Any], also: list[tuple[str, str]], imagination: Imagination
) -> Entry:
    choices = operation.get("security", [])
    first = next(iter(choices[0]), None) if choices else None
    command = _command(method, path, first)
    body = operation.get("requestBody")
    media, content = next(iter(body["content"].items())) if body else (_JSON, {"schema": {}})
    status, answer = next(iter(operation["responses"].items()))
    shown = _line(next(iter(answer.get("content", {}).values()), {"schema": {}})["schema"])
    return Entry(
        operation["operationId"],
        method,
        path,
        operation["summary"],
        also,
        _who(choices),
        list(dict.fromkeys(name for choice in choices for name in choice)),
        media,
        [_parameter(row) for row in operation["parameters"]],
        [_shape(part, command, media, imagination) for part in _parts(_line(content["schema"]))],
        command,
        f"{status} {HTTPStatus(int(status)).phrase}",
        [_pretty(imagination.whole(part)) for part in _parts(shown)],
        list(_failures(operation)),
        media != _JSON,
    )


def _line(schema: Schema) -> Schema:
    """What is shown of a body of lines is one of them."""
    line: Schema = schema.get("contentSchema", schema)
    return line


def _parts(schema: Schema) -> Sequence[Schema]:
    parts: Sequence[Schema] = schema.get("anyOf", [schema] if schema else [])
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
    address = _BASE + re.sub(r"{([a-z_]+)}", lambda found: "$" + found[1].upper(), path)
    target = f'"{address}"' if "$" in address else address
    parts = [f"curl {target}" if method == "GET" else f"curl -X {method} {target}"]
    return _CONTINUED.join([*parts, _SENT[credential]] if credential else parts)


def _shape(schema: Schema, command: str, media: str, imagination: Imagination) -> Shape:
    whole = imagination.resolve(schema)
    body = imagination.brief(schema)
    curl = _CONTINUED.join([command, *_sent(whole, body, media)])
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", whole.get("title", "")).capitalize()
    shown = json.dumps(body, ensure_ascii=False) if media in LINES else _pretty(body)
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


def _parameter(row: dict[str, Any]) -> Field:
    is_required = row.get("required", False)
    return Field(row["name"], _kind(row["schema"]), is_required, row.get("description", ""), row["in"])


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


def _failures(operation: dict[str, Any]) -> Iterable[Failure]:
    for status, response in operation["responses"].items():
        if int(status) >= 400:
            (content,) = response["content"].values()
            told: Schema = next(iter(content["schema"].get("properties", {}).values()), {})
            yield Failure(int(status), response["description"], told.get("enum", ()))


def _all_codes(description: dict[str, Any]) -> list[Failure]:
    """Every status that an operation names, and those that any address may answer."""
    found: dict[int, dict[str, None]] = {405: {"method_not_allowed": None}}
    sentences = {405: description["components"]["responses"]["method_not_allowed"]["description"]}
    for operation in (row for methods in description["paths"].values() for row in methods.values()):
        for failure in _failures(operation):
            found.setdefault(failure.status, {}).update(dict.fromkeys(failure.codes))
            sentences[failure.status] = failure.sentence
    anywhere = {
        414: ("The address is too long.", "uri_too_long"),
        431: ("The headers are too large.", "headers_too_large"),
        500: ("Our fault; the request id names it in the log.", "internal_error"),
    }
    for status, (sentence, code) in anywhere.items():
        found[status], sentences[status] = {code: None}, sentence
    return [Failure(status, sentences[status], list(found[status])) for status in sorted(found)]


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower())


def _pretty(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _prose(text: str) -> Markup:
    """A sentence with its words in backquotes set as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False)))  # noqa: S704
