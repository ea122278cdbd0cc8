"""Reads a body, wrapped or bare, into typed values. Nothing is dropped silently: an unknown or read-only member is an
error, unless it has its current value.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any
from uuid import UUID

from shop.base.errors import Invalid, Malformed
from shop.base.ids import as_uuid
from shop.base.kinds import split_kind
from shop.base.texts import is_prose
from shop.base.times import parse_time
from shop.platform.collection import Collection
from shop.rules.metadata import METADATA_ERROR, is_metadata
from shop.web.request import Request

LONGEST_TEXT = 5_000
LONGEST_NAME = 255
MOST_ITEMS = 200
LONGEST_ITEM = 100
UNKNOWN = "is not a known field"
READ_ONLY = "is read-only"
# The numbers that can be processed without rounding.
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)")
_DECIMAL_DIGITS = 28
_WORDS = {
    str: f"must be text of at most {LONGEST_TEXT} characters",
    int: "must be a whole number",
    bool: "must be true or false",
    UUID: "must be an id",
    datetime: "must be a time like 2026-01-31T12:00:00Z",
    dict[str, Any]: METADATA_ERROR,
    Decimal: "must be a decimal number like 19.99",
    list[str]: f"must be a list of at most {MOST_ITEMS} texts of at most {LONGEST_ITEM} characters",
    list[UUID]: f"must be a list of at most {MOST_ITEMS} ids",
    list[dict[str, Any]]: f"must be a list of at most {MOST_ITEMS} objects",
}


RENDERING = frozenset({"include", "fields", "image_transformation", "locale"})
"""Response parameters that may accompany the object, in the body or the query."""


def read_values(
    params: Mapping[str, Any], collection: Collection, *, is_new: bool, current: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the values to set. `current` has the members of an existing record, which may be sent back unchanged."""
    members, beside = _object(params, collection, is_new=is_new)
    errors = {name: [_unsettable(name, collection)] for name in beside}
    values: dict[str, Any] = {}
    for sent_name, value in members.items():
        name = collection.aliases.get(sent_name, sent_name)
        try:
            values[name] = _read_member(name, value, collection, is_new=is_new)
        except ValueError as error:
            if current is None or not is_unchanged(sent_name, value, current):
                errors[sent_name] = [str(error)]
    required_names = [name for name in collection.required if is_new or name in values]
    errors |= {name: ["must be given"] for name in required_names if _is_blank(values.get(name))} | errors
    if errors:
        raise Invalid(errors)
    return collection.translate(values) if collection.translate else values


def members_of(request: Request, collection: Collection) -> dict[str, Any]:
    """Return the parameters of a write request: body members, and query parameters that name writable members."""
    body, settable_names = request.body_params(), {collection.resource.type, *collection.writable, *collection.aliases}
    return {name: value for name, value in request.params.items() if name in body or name in settable_names}


def body_members(request: Request, collection: Collection) -> dict[str, Any]:
    """Return the body members of an operation, bare or wrapped in the resource name."""
    members = {name: value for name, value in request.body_params().items() if name not in RENDERING}
    inner = members.pop(collection.resource.type, {})
    if not isinstance(inner, dict):
        raise Malformed(f'"{collection.resource.type}" must be an object.')
    return members | inner


def operation_params(request: Request, collection: Collection) -> Mapping[str, Any]:
    """Return the parameters of an operation, bare or wrapped in the resource name."""
    inner = request.params.get(collection.resource.type)
    return inner if isinstance(inner, dict) else request.params


def check_members(members: Mapping[str, Any], member_names: Iterable[str], current: Mapping[str, Any]) -> None:
    """Raise for body members that the operation does not accept and that differ from their current value."""
    extra = {name: value for name, value in members.items() if name not in member_names}
    wrong = [name for name, value in extra.items() if not is_unchanged(name, value, current)]
    if wrong:
        raise Invalid({name: [READ_ONLY if name in current else UNKNOWN] for name in wrong})


def is_unchanged(name: str, value: Any, current: Mapping[str, Any]) -> bool:
    """Whether a member has its current value; forms send numbers and booleans as text."""
    if name not in current:
        return False
    if isinstance(value, dict | list) or isinstance(current[name], dict | list):
        return bool(value == current[name])
    return bool(_comparable(value) == _comparable(current[name]))


def _comparable(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return "" if value is None else str(value).lower()
    return next((read for reader in (_decimal, _moment) if (read := reader(value)) is not None), str(value))


def _read_member(name: str, value: Any, collection: Collection, *, is_new: bool) -> Any:
    if name not in collection.writable or (name in collection.once and not is_new):
        raise ValueError(_unsettable(name, collection))
    longest = collection.longest.get(name)
    read = _long_text(value, longest) if longest else read_kind(value, collection.writable[name])
    _check_length(read, name, collection.noun.records.table)
    return read


def _unsettable(name: str, collection: Collection) -> str:
    if name in collection.writable:
        return "cannot be changed after creation"
    resource = collection.resource
    return READ_ONLY if name in {"id", "type", *resource.kinds(), *resource.relations} else UNKNOWN


def _object(
    params: Mapping[str, Any], collection: Collection, *, is_new: bool
) -> tuple[Mapping[str, Any], Iterable[str]]:
    """Return the members of the wrapped or bare object, and the names beside a wrapped one."""
    name, resource = collection.resource.type, collection.resource
    members = {each: value for each, value in params.items() if each not in RENDERING}
    if isinstance(members.get(name), dict):
        inner: Mapping[str, Any] = members.pop(name)
        return inner, members
    # A bare object may have a member with the name of a response parameter, such as the locale of a page.
    members = {each: value for each, value in params.items() if each not in RENDERING - collection.writable.keys()}
    is_bare = not members.keys().isdisjoint({*collection.writable, *collection.aliases, *resource.kinds()})
    is_flat = bool(members) and not any(isinstance(value, dict) for value in members.values())
    if name not in members and (is_bare or is_flat or (collection.is_lenient and not is_new)):
        return members, ()
    raise Malformed(f'The body must have an object "{name}".')


def read_kind(value: Any, kind: Any) -> Any:
    """Convert a value to the type of a field; raise ValueError with the reason if it is invalid."""
    plain, is_nullable = split_kind(kind)
    if value is None or (value == "" and plain is not str):
        if is_nullable:
            return None
        raise ValueError("cannot be empty")
    read = _READERS[plain](value)
    if read is None:
        raise ValueError(_WORDS[plain])
    return read


def _check_length(value: Any, name: str, table: Any) -> None:
    """Raise if a name or an indexed text is too long: index entries have a size limit."""
    if isinstance(value, str) and len(value) > LONGEST_NAME and (name == "name" or _is_indexed(table, name)):
        raise ValueError(f"must be text of at most {LONGEST_NAME} characters")


@lru_cache(maxsize=512)
def _is_indexed(table: Any, name: str) -> bool:
    unique = [item for item in table.constraints if hasattr(item, "columns")]
    return any(name in item.columns for item in (*table.indexes, *unique))


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _text(value: Any) -> str | None:
    fits = isinstance(value, str) and len(value) <= LONGEST_TEXT
    return value if fits and is_prose(value) else None


def _long_text(value: Any, longest: int) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or len(value.encode(errors="replace")) > longest or not is_prose(value):
        raise ValueError(f"must be text of at most {longest // 1024} KiB")
    return value


def _whole(value: Any) -> int | None:
    if isinstance(value, str) and value.lstrip("-").isdigit() and value.isascii() and len(value) < 19:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _flag(value: Any) -> bool | None:
    return {"true": True, "1": True, "false": False, "0": False}.get(str(value).lower())


def _moment(value: Any) -> datetime | None:
    try:
        return parse_time(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _mapping(value: Any) -> dict[str, Any] | None:
    return value if is_metadata(value) else None


def _decimal(value: Any) -> Decimal | None:
    """Read a decimal, as text or number; no exponents, so that a short text cannot stand for millions of digits."""
    text = str(value).strip() if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
    # Integers are shown with `.0`, and clients may send back what they read.
    if len(text.removesuffix(".0")) > _DECIMAL_DIGITS or not _DECIMAL.fullmatch(text):
        return None
    return Decimal(text)


def _items(value: Any) -> list[Any] | None:
    """Read a list, or a comma-separated text, as forms send it."""
    items = [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value
    return items if isinstance(items, list) and len(items) <= MOST_ITEMS else None


def _texts(value: Any) -> list[str] | None:
    items = _items(value)
    fits = items is not None and all(_text(item) and len(item) <= LONGEST_ITEM for item in items)
    return items if fits else None


def _ids(value: Any) -> list[UUID] | None:
    ids = [as_uuid(item) for item in _items(value) or ()]
    return [record_id for record_id in ids if record_id] if _items(value) is not None and None not in ids else None


def _mappings(value: Any) -> list[dict[str, Any]] | None:
    fits = isinstance(value, list) and len(value) <= MOST_ITEMS and all(_mapping(item) is not None for item in value)
    return value if fits else None


_READERS: dict[Any, Any] = {
    str: _text,
    int: _whole,
    bool: _flag,
    UUID: as_uuid,
    datetime: _moment,
    dict[str, Any]: _mapping,
    Decimal: _decimal,
    list[str]: _texts,
    list[UUID]: _ids,
    list[dict[str, Any]]: _mappings,
}
