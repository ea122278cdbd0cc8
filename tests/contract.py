"""Compares every response that the suite receives with `/openapi.json`: status, media type and body.

The HTTP clients of the suite pass each response to `check_response`; a difference fails the run at its end.
"""

import json
import re
from functools import cache
from typing import Any
from urllib.parse import quote

import httpx2
import jsonschema_rs

from shop.app.routes import documented_apis
from shop.site.reference import build_openapi
from shop.web.router import ABSENT

violations: dict[str, str] = {}
"""Each kind of difference, with an excerpt of the first such response."""
_MOST = 200
_EVERYWHERE = {405, 414, 431, 500, 503}
"""Statuses that the description has once for all paths."""
_ERRORS = ("ErrorBody", "OAuthErrorBody")
_URI = "urn:shop:openapi"


@cache
def _description() -> dict[str, Any]:
    return build_openapi(documented_apis())


@cache
def _registry() -> jsonschema_rs.Registry:
    return jsonschema_rs.Registry([(_URI, _description())])


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    """Paths without parameters come first, as OpenAPI demands; those with slashes in a parameter come last."""
    rest = {route.path.replace("*}", "}") for api in documented_apis() for route in api.routes if "*}" in route.path}
    paths = sorted(_description()["paths"], key=lambda path: (path in rest, path.count("{"), path))
    return [(re.compile(_pattern(path, has_rest=path in rest)), path) for path in paths]


def _pattern(path: str, *, has_rest: bool) -> str:
    pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path))
    return pattern.removesuffix("[^/]+") + ".+" if has_rest else f"{pattern}/?"


@cache
def _path_of(address: str) -> str | None:
    return next((path for pattern, path in _patterns() if pattern.fullmatch(address)), None)


@cache
def _validator(*keys: str) -> Any:
    pointer = "/".join(quote(key.replace("~", "~0").replace("/", "~1")) for key in keys)
    return jsonschema_rs.Draft202012Validator({"$ref": f"{_URI}#/{pointer}"}, registry=_registry())


def check_response(method: str, address: str, response: httpx2.Response) -> None:
    """Adds the differences between this response and the description to `violations`."""
    path = _path_of(address.partition("?")[0])
    if path is None or len(violations) > _MOST:
        return
    operation = _description()["paths"][path].get("get" if method == "HEAD" else method.lower())
    if response.status_code in _EVERYWHERE or (operation is None and (method == "OPTIONS" or (method, path) in ABSENT)):
        _check_error(f"{method} {path}", response)
    elif operation is None:
        violations.setdefault(f"{method} {path}: {response.status_code} and not 405", response.text[:300])
    else:
        _check_operation(method, path, operation, response)


def _check_error(name: str, response: httpx2.Response) -> None:
    """A response that any path may give has an error body too."""
    body = response.content
    if body and not any(_validator("components", "schemas", error).is_valid(json.loads(body)) for error in _ERRORS):
        violations.setdefault(f"{name}: {response.status_code} has no error body", response.text[:300])


def _check_operation(method: str, path: str, operation: dict[str, Any], response: httpx2.Response) -> None:
    name, status = f"{method} {path}", str(response.status_code)
    if status not in operation["responses"]:
        violations.setdefault(f"{name}: {status} is not described", response.text[:300])
        return
    media = response.headers.get("content-type", "").partition(";")[0]
    content = operation["responses"][status].get("content", {})
    if bool(media) != bool(content) or (media and media not in content):
        violations.setdefault(f"{name}: {status} is {media or 'empty'}, not {[*content]}", response.text[:300])
    elif media.endswith("json") and method != "HEAD":
        keys = ("paths", path, method.lower(), "responses", status, "content", media, "schema")
        is_ndjson = media == "application/x-ndjson"
        validator = _validator(*keys, "contentSchema") if is_ndjson else _validator(*keys)
        for text in response.content.splitlines() if is_ndjson else [response.content]:
            _check_body(f"{name}: {status}", validator, text)


def _check_body(name: str, validator: Any, text: bytes) -> None:
    for error in validator.iter_errors(json.loads(text)):
        pointer = "/".join("*" if isinstance(step, int) else step for step in error.instance_path)
        rule = "/".join(map(str, error.schema_path[-2:]))
        message = error.message if len(error.message) < 120 else f"violates {rule}"
        violations.setdefault(f"{name}: {pointer or 'body'}: {message}", text.decode()[:300])
