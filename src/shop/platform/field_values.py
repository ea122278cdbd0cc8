"""Reads a wrapped or bare body into typed values. No member is silently ignored: an unknown or read-only member is an
error, unless it has its current value.
"""

import types
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache, lru_cache
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec

from shop.base.errors import Invalid, Malformed
from shop.base.texts import is_prose
from shop.base.values import REQUIRED, read_decimal, read_time
from shop.platform.collection import Collection
from shop.web.input.inputs import InvalidFields, read_value
from shop.web.input.request import Request

MAX_NAME_LENGTH = 255
UNKNOWN = "is not a known field"
READ_ONLY = "is read-only"

RENDERING = frozenset({"include", "fields", "image_transformation", "locale"})
"""Response parameters that are allowed beside the object, in the body or the query."""


def read_values(
    params: Mapping[str, Any], collection: Collection, *, is_new: bool, current: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Returns the values to set. `current` has the members of an existing record and of its nested records, which may
    be sent back unchanged.
    """
    members, other_names = _object(params, collection, is_new=is_new)
    errors = {name: [_unsettable(name, collection)] for name in other_names}
    values: dict[str, Any] = {}
    for sent_name, value in members.items():
        name = collection.aliases.get(sent_name, sent_name)
        try:
            values[name] = _read_member(name, value, collection, is_new=is_new)
        except ValueError as error:
            if current is None or not is_unchanged(sent_name, value, current):
                errors |= _path_errors(sent_name, error)
        nested = (current or {}).get(name, {}) if name in collection.nested else {}
        errors |= {path: [UNKNOWN] for path in _unknown_paths(value, collection.writable.get(name), name, nested)}
    required_names = [name for name in collection.required if is_new or name in values]
    errors |= {name: [REQUIRED] for name in required_names if _is_blank(values.get(name))} | errors
    if errors:
        raise Invalid(errors)
    return collection.translate(values) if collection.translate else values


def members_of(request: Request, collection: Collection) -> dict[str, Any]:
    """Returns the parameters of a write request: body members, and query parameters that name writable members."""
    body, settable_names = request.body_params(), {collection.resource.type, *collection.writable, *collection.aliases}
    return {name: value for name, value in request.params.items() if name in body or name in settable_names}


def body_members(request: Request, collection: Collection) -> dict[str, Any]:
    """Returns the body members of an operation, bare or wrapped in the resource name."""
    members = {name: value for name, value in request.body_params().items() if name not in RENDERING}
    inner = members.pop(collection.resource.type, {})
    if not isinstance(inner, dict):
        raise Malformed(f'"{collection.resource.type}" must be an object.')
    return members | inner


def operation_params(request: Request, collection: Collection) -> Mapping[str, Any]:
    """Returns the parameters of an operation, bare or wrapped in the resource name."""
    inner = request.params.get(collection.resource.type)
    return inner if isinstance(inner, dict) else request.params


def check_members(members: Mapping[str, Any], member_names: Iterable[str], current: Mapping[str, Any]) -> None:
    """Raises for body members that the operation does not accept and that differ from their current value."""
    extra = {name: value for name, value in members.items() if name not in member_names}
    wrong = [name for name, value in extra.items() if not is_unchanged(name, value, current)]
    if wrong:
        raise Invalid({name: [READ_ONLY if name in current else UNKNOWN] for name in wrong})


def is_unchanged(name: str, value: Any, current: Mapping[str, Any]) -> bool:
    """Returns whether a member has its current value; forms send numbers and booleans as text."""
    if name not in current:
        return False
    if isinstance(value, dict | list) or isinstance(current[name], dict | list):
        return bool(value == current[name])
    return bool(_comparable(value) == _comparable(current[name]))


def _comparable(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return "" if value is None else str(value).lower()
    for read in (read_decimal, read_time):
        with suppress(ValueError):
            return read(value)
    return str(value)


def _read_member(name: str, value: Any, collection: Collection, *, is_new: bool) -> Any:
    if name not in collection.writable or (name in collection.create_only and not is_new):
        raise ValueError(_unsettable(name, collection))
    longest = collection.longest.get(name)
    read = _long_text(value, longest) if longest else read_value(value, collection.writable[name])
    _check_length(read, name, collection.actions.records.table)
    return read


def _path_errors(name: str, error: ValueError) -> dict[str, list[str]]:
    """Returns the errors of nested fields by path, or the error of the member itself."""
    nested: Mapping[str, list[str]] = error.errors if isinstance(error, InvalidFields) else {"": [str(error)]}
    # An item that is not an object is an error of the list.
    return {f"{name}.{path}" if path.strip("0123456789") else name: sentences for path, sentences in nested.items()}


def _unknown_paths(value: Any, kind: Any, path: str, current: Mapping[str, Any]) -> Iterator[str]:
    """Yields the paths of nested members that the type does not have and that differ from their current value."""
    fields = _struct_fields(kind)
    if isinstance(value, list) and get_origin(kind) is list:
        for index, item in enumerate(value):
            members = current.get(str(item.get("id")), {}) if isinstance(item, dict) else {}
            yield from _unknown_paths(item, get_args(kind)[0], f"{path}.{index}", members)
    elif isinstance(value, dict) and fields:
        for name, member in value.items():
            if name in fields:
                yield from _unknown_paths(member, fields[name], f"{path}.{name}", {})
            elif not is_unchanged(name, member, current):
                yield f"{path}.{name}"


@cache
def _struct_fields(kind: Any) -> Mapping[str, Any]:
    """Returns the types of the fields of a struct; none for another type."""
    parts = get_args(kind) if get_origin(kind) in {Union, types.UnionType} else (kind,)
    structs = [part for part in parts if isinstance(part, type) and issubclass(part, msgspec.Struct)]
    return get_type_hints(structs[0]) if structs else {}


def _unsettable(name: str, collection: Collection) -> str:
    if name in collection.writable:
        return "cannot be changed after creation"
    resource = collection.resource
    return READ_ONLY if name in {"id", "type", *resource.kinds(), *resource.relations} else UNKNOWN


def _object(
    params: Mapping[str, Any], collection: Collection, *, is_new: bool
) -> tuple[Mapping[str, Any], Iterable[str]]:
    """Returns the members of the object, and the names of other members beside a wrapped object."""
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


def _check_length(value: Any, name: str, table: Any) -> None:
    """Raises if a name or an indexed text is too long: index entries have a size limit."""
    if isinstance(value, str) and len(value) > MAX_NAME_LENGTH and (name == "name" or _is_indexed(table, name)):
        raise ValueError(f"must be text of at most {MAX_NAME_LENGTH} characters")


@lru_cache(maxsize=512)
def _is_indexed(table: Any, name: str) -> bool:
    unique = [item for item in table.constraints if hasattr(item, "columns")]
    return any(name in item.columns for item in (*table.indexes, *unique))


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _long_text(value: Any, longest: int) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or len(value.encode(errors="replace")) > longest or not is_prose(value):
        raise ValueError(f"must be text of at most {longest // 1024} KiB")
    return value
