"""Whether every response that the suite receives is one that `/openapi.json` describes: status, media type and body.

The clients report each response as it passes; the run fails at its end if one was not as described.
"""

import json
import re
from functools import cache
from typing import Any
from urllib.parse import quote

import httpx
import jsonschema_rs

from shop.app import DOORS
from shop.site.reference import describe

violations: dict[str, str] = {}
"""What was not as described, with an excerpt of the first such response."""
_MOST = 200
_EVERYWHERE = {405, 414, 431, 500, 503}
"""Statuses that are described once for all addresses."""
_URI = "urn:shop:openapi"


@cache
def _description() -> dict[str, Any]:
    return describe(DOORS)


@cache
def _registry() -> jsonschema_rs.Registry:
    return jsonschema_rs.Registry([(_URI, _description())])


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    """Paths without parameters first, as OpenAPI prefers them."""
    paths = sorted(_description()["paths"], key=lambda path: (path.count("{"), path))
    return [(re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path))), path) for path in paths]


@cache
def _path_of(address: str) -> str | None:
    return next((path for pattern, path in _patterns() if pattern.fullmatch(address)), None)


@cache
def _validator(*keys: str) -> Any:
    pointer = "/".join(quote(key.replace("~", "~0").replace("/", "~1")) for key in keys)
    return jsonschema_rs.Draft202012Validator({"$ref": f"{_URI}#/{pointer}"}, registry=_registry())


def check_response(method: str, address: str, response: httpx.Response) -> None:
    """Notes what the description does not say of this response."""
    path = _path_of(address.partition("?")[0])
    operation = _description()["paths"][path].get(method.lower()) if path else None
    if operation is None or response.status_code in _EVERYWHERE or len(violations) > _MOST:
        return
    name, status = f"{method} {path}", str(response.status_code)
    if status not in operation["responses"]:
        violations.setdefault(f"{name}: {status} is not described", response.text[:300])
        return
    media = response.headers.get("content-type", "").partition(";")[0]
    described = operation["responses"][status].get("content", {})
    if bool(media) != bool(described) or (media and media not in described):
        violations.setdefault(f"{name}: {status} is {media or 'empty'}, not {[*described]}", response.text[:300])
    elif media.endswith("json"):
        keys = ("paths", path or "", method.lower(), "responses", status, "content", media, "schema")
        is_ndjson = media == "application/x-ndjson"
        validator = _validator(*keys, "contentSchema") if is_ndjson else _validator(*keys)
        for text in response.content.splitlines() if is_ndjson else [response.content]:
            _check_body(f"{name}: {status}", validator, text)


def _check_body(name: str, validator: Any, text: bytes) -> None:
    for error in validator.iter_errors(json.loads(text)):
        place = "/".join("*" if isinstance(step, int) else step for step in error.instance_path)
        rule = "/".join(map(str, error.schema_path[-2:]))
        message = error.message if len(error.message) < 120 else f"not as {rule} says"
        violations.setdefault(f"{name}: {place or 'body'}: {message}", text.decode()[:300])
