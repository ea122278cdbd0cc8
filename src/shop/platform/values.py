"""How a body becomes values: the wrapped object or the bare one, each field checked for its kind."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from shop.base.errors import Invalid, Malformed
from shop.base.kinds import split_kind
from shop.base.moments import read_moment
from shop.base.texts import is_prose
from shop.platform.collection import Collection

LONGEST_TEXT = 5_000
LARGEST_OBJECT = 16_384
_WORDS = {
    str: f"must be text of at most {LONGEST_TEXT} characters",
    int: "must be a whole number",
    bool: "must be true or false",
    UUID: "must be an id",
    datetime: "must be a time like 2026-01-31T12:00:00Z",
    dict[str, Any]: f"must be an object of at most {LARGEST_OBJECT} bytes",
}


def read_values(params: Mapping[str, Any], collection: Collection, *, is_new: bool) -> dict[str, Any]:
    given = _object(params, collection, is_new=is_new)
    errors: dict[str, list[str]] = {}
    values: dict[str, Any] = {}
    for name, kind in collection.writable.items():
        if name in given and (is_new or name not in collection.once):
            try:
                values[name] = _read(given[name], kind)
            except ValueError as error:
                errors[name] = [str(error)]
    if is_new:
        errors |= {name: ["must be given"] for name in collection.required if values.get(name) in {None, ""}} | errors
    if errors:
        raise Invalid(errors)
    return values


def _object(params: Mapping[str, Any], collection: Collection, *, is_new: bool) -> Mapping[str, Any]:
    name = collection.resource.type
    wrapped = params.get(name)
    if isinstance(wrapped, dict):
        return wrapped
    if wrapped is None and set(params) & set(collection.writable):
        return params
    if collection.is_lenient and not is_new and wrapped is None:
        return {}
    raise Malformed(f'The body must have an object "{name}".')


def _read(value: Any, kind: Any) -> Any:
    plain, is_nullable = split_kind(kind)
    if value is None or (value == "" and plain is not str):
        if is_nullable:
            return None
        raise ValueError("cannot be empty")
    read = _READERS[plain](value)
    if read is None:
        raise ValueError(_WORDS[plain])
    return read


def _text(value: Any) -> str | None:
    fits = isinstance(value, str) and len(value) <= LONGEST_TEXT
    return value if fits and is_prose(value) else None


def _whole(value: Any) -> int | None:
    if isinstance(value, str) and value.lstrip("-").isdigit() and value.isascii() and len(value) < 19:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _flag(value: Any) -> bool | None:
    return {"true": True, "1": True, "false": False, "0": False}.get(str(value).lower())


def _id(value: Any) -> UUID | None:
    try:
        return UUID(value) if isinstance(value, str) and len(value) == 36 else None
    except ValueError:
        return None


def _moment(value: Any) -> datetime | None:
    try:
        return read_moment(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _mapping(value: Any) -> dict[str, Any] | None:
    return value if isinstance(value, dict) and len(msgspec.json.encode(value)) <= LARGEST_OBJECT else None


_READERS: dict[Any, Any] = {
    str: _text,
    int: _whole,
    bool: _flag,
    UUID: _id,
    datetime: _moment,
    dict[str, Any]: _mapping,
}
