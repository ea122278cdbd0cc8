"""Reads the struct that describes a body or query: converts each member to the type of its field, and reports all
errors at once, each under the path of its field.

Members without a field are ignored. A field's `Meta` may have in `extra`:

    read    a function that reads the value, in place of the default for its type
    code    the error code, used if all invalid fields have the same code
    absent  the value to use if a required field is absent, null or empty, in place of an error
"""

import types
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from functools import cache, partial
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints
from uuid import UUID

import msgspec
from msgspec import NODEFAULT, Meta, UnsetType

from shop.base.errors import Invalid, Malformed
from shop.base.values import (
    EMPTY,
    MAX_TEXT_LENGTH,
    REQUIRED,
    read_boolean,
    read_decimal,
    read_id,
    read_integer,
    read_text,
    read_time,
)
from shop.rules.metadata import METADATA_ERROR, is_metadata

T = TypeVar("T")
Members = Mapping[str, Any]
Read = Callable[[Any], Any]
MAX_ITEMS = 200
"""The maximum number of items in a list, unless its `Meta` has a limit."""
MAX_ITEM_LENGTH = 100
"""The maximum length of a text in a list, unless its `Meta` has a limit."""
_ITEM_NAMES = {str: "texts", UUID: "ids", int: "whole numbers"}


class InvalidFields(ValueError):
    """The errors and error codes of nested fields by path."""

    def __init__(self, errors: dict[str, list[str]], codes: set[str | None]) -> None:
        super().__init__("has invalid fields")
        self.errors, self.codes = errors, codes


def read_input(kind: type[T], members: Members) -> T:
    """Returns the struct that the members describe; raises Invalid with the errors of all fields.

    A struct whose only field is a required struct is a wrapper: errors are named by the fields of the inner one.
    """
    struct: Any = kind
    wrapper = _wrapper(struct)
    if wrapper:
        name, inner = wrapper
        return kind(**{name: read_input(inner, get_object(members, name))})
    try:
        return cast(T, _struct_reader(struct)(members))
    except InvalidFields as invalid:
        (code,) = invalid.codes if len(invalid.codes) == 1 else (None,)
        raise Invalid(invalid.errors, code=code) from None


def read_valid_input(kind: type[T], members: Members) -> tuple[T, dict[str, list[str]]]:
    """Returns the struct of the valid members and the errors of the invalid ones. The action reports these errors
    together with its own.
    """
    try:
        return read_input(kind, members), {}
    except Invalid as invalid:
        names = {path.partition(".")[0] for path in invalid.errors}
        valid_members = {name: value for name, value in members.items() if name not in names}
        return read_input(kind, valid_members), {path: list(texts) for path, texts in invalid.errors.items()}


def get_object(members: Members, name: str) -> Members:
    """Returns an object in the body; raises Malformed if it is missing."""
    value = members.get(name)
    if not isinstance(value, dict):
        raise Malformed(f'The body must have an object "{name}".')
    return value


def read_filters(kind: type[T], members: Members) -> T:
    """Returns the struct of the members of `filter[…]`; raises Malformed for unknown and for invalid filters."""
    filters = members.get("filter")
    if filters in (None, ""):
        return kind()
    if not isinstance(filters, dict):
        raise Malformed("Send filters as filter[name]=value.", code="unknown_filter")
    names = cast(Any, kind).__struct_fields__
    for name in filters:
        if name not in names:
            allowed_names = ", ".join(names) or "none"
            raise Malformed(f"There is no filter {name[:100]!r}; allowed: {allowed_names}.", code="unknown_filter")
    try:
        # A form sends an empty text for a filter that is not set.
        return read_input(kind, {name: value for name, value in filters.items() if value not in ("", [])})
    except Invalid as invalid:
        sentences = [f"The filter {name!r} {messages[0]}." for name, messages in invalid.errors.items()]
        code = "bad_filter" if invalid.code == Invalid.code else invalid.code
        raise Malformed(" ".join(sentences), code=code) from None


def read_value(value: Any, kind: Any) -> Any:
    """Converts the value of a record's field to its type; raises ValueError with the reason if it is invalid.

    As in Rails, an empty text clears a field that is not text and may be null.
    """
    if value == "" and _split(kind)[0] is not str:
        value = None
    return _reader(kind)(value)


@cache
def _struct_reader(kind: Any) -> Read:
    hints = get_type_hints(kind, include_extras=True)
    fields = [
        (field.name, _reader(hints[field.name]), _is_required(field), _extra(hints[field.name]))
        for field in msgspec.structs.fields(kind)
    ]

    def read(members: Any) -> Any:
        if not isinstance(members, dict):
            raise ValueError("must be an object")
        values: dict[str, Any] = {}
        errors: dict[str, list[str]] = {}
        codes: set[str | None] = set()
        for name, reader, is_required, extra in fields:
            is_empty = members.get(name) in (None, "")
            if is_empty and is_required and "absent" in extra:
                values[name] = extra["absent"]
                continue
            if name not in members:
                if is_required:
                    errors[name] = [REQUIRED]
                    codes.add(extra.get("code"))
                continue
            try:
                values[name] = reader(members[name])
            except InvalidFields as nested:
                errors |= {f"{name}.{path}": messages for path, messages in nested.errors.items()}
                codes |= {extra["code"]} if "code" in extra else nested.codes
            except ValueError as error:
                errors[name] = [REQUIRED if is_required and is_empty else str(error)]
                codes.add(extra.get("code"))
        if errors:
            raise InvalidFields(errors, codes)
        return kind(**values)

    return read


@cache
def _wrapper(kind: Any) -> tuple[str, Any] | None:
    """Returns the name and the struct of the only field of a wrapper."""
    first, *others = [*msgspec.structs.fields(kind), None]
    if first is None or others != [None] or not _is_required(first):
        return None
    inner = _split(get_type_hints(kind, include_extras=True)[first.name])[0]
    return (first.name, inner) if _is_struct(inner) else None


def _is_required(field: msgspec.structs.FieldInfo) -> bool:
    return field.default is NODEFAULT and field.default_factory is NODEFAULT


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


@cache
def _reader(hint: Any) -> Read:
    """Returns the function that reads a value of a type, with the constraints of its annotation."""
    kind, is_nullable, meta = _split(hint)
    read: Read = _extra(hint).get("read") or _plain_reader(kind, meta)

    def read_or_null(value: Any) -> Any:
        if value is not None:
            return read(value)
        if is_nullable:
            return None
        raise ValueError(EMPTY)

    return read_or_null


def _split(hint: Any) -> tuple[Any, bool, dict[str, Any]]:
    """Splits an annotation into its type, whether it may be null, and its constraints."""
    if get_origin(hint) is Annotated:
        kind, is_nullable, meta = _split(get_args(hint)[0])
        for each in get_args(hint)[1:]:
            limits = {name: getattr(each, name) for name in ("ge", "le", "min_length", "max_length")}
            meta |= {name: limit for name, limit in limits.items() if limit is not None}
        return kind, is_nullable, meta
    if get_origin(hint) not in {Union, types.UnionType}:
        return hint, False, {}
    parts = [part for part in get_args(hint) if part not in (type(None), UnsetType)]
    # An amount is a decimal, as text or as a number.
    (part,) = parts if len(parts) == 1 else [part for part in parts if part is Decimal]
    kind, is_nullable, meta = _split(part)
    return kind, is_nullable or type(None) in get_args(hint), meta


def _extra(hint: Any) -> dict[str, Any]:
    """Returns the merged `extra` of all annotations of a type."""
    extra: dict[str, Any] = {}
    for part in get_args(hint) if get_origin(hint) in {Annotated, Union, types.UnionType} else ():
        extra |= (part.extra or {}) if isinstance(part, Meta) else _extra(part)
    return extra


def _plain_reader(kind: Any, meta: Mapping[str, Any]) -> Read:
    if _is_struct(kind):
        return _struct_reader(kind)
    if get_origin(kind) is Literal:
        return partial(_read_choice, choices=get_args(kind))
    if get_origin(kind) is list:
        return _list_reader(get_args(kind)[0], meta)
    if get_origin(kind) is dict and kind != dict[str, Any]:
        return partial(_read_mapping, read=_reader(get_args(kind)[1]))
    return partial(_READERS[kind], **_limits(kind, meta))


def _limits(kind: Any, meta: Mapping[str, Any]) -> dict[str, Any]:
    if kind is str:
        return {"least": meta.get("min_length", 0), "longest": meta.get("max_length", MAX_TEXT_LENGTH)}
    return {"least": meta.get("ge"), "most": meta.get("le")} if kind is int else {}


def _read_text(value: Any, least: int, longest: int) -> str:
    text = read_text(value, longest)
    if len(text.strip()) < least:
        raise ValueError(REQUIRED)
    return text


def _read_bounded(value: Any, least: int | None, most: int | None) -> int:
    number = read_integer(value)
    if (least is None or number >= least) and (most is None or number <= most):
        return number
    if least is not None and most is not None:
        raise ValueError(f"must be a whole number from {least} to {most}")
    raise ValueError(f"must be {least} or more" if most is None else f"must be at most {most}")


def _read_choice(value: Any, choices: tuple[Any, ...]) -> Any:
    if value not in choices:
        raise ValueError(f"must be one of {', '.join(map(str, choices))}")
    return value


def _read_metadata(value: Any) -> dict[str, Any]:
    if not is_metadata(value):
        raise ValueError(METADATA_ERROR)
    return cast(dict[str, Any], value)


def _read_mapping(value: Any, read: Read) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("must be an object")
    return dict(_gather(list(value.items()), read))


def _list_reader(item: Any, meta: Mapping[str, Any]) -> Read:
    least, most = meta.get("min_length", 0), meta.get("max_length", MAX_ITEMS)
    item_kind, _, item_meta = _split(item)
    count = f"{least} to {most}" if least else f"at most {most}"
    sentence = f"must be a list of {count} {_ITEM_NAMES.get(item_kind, 'objects')}"
    longest = item_meta.get("max_length", MAX_ITEM_LENGTH) if item_kind is str else None
    read = _reader(Annotated[item, Meta(min_length=1, max_length=longest)] if longest else item)

    def read_list(value: Any) -> list[Any]:
        """Reads a list, or comma-separated text, as forms and queries send it."""
        is_text = isinstance(value, str) and item_kind in _ITEM_NAMES
        items = [part.strip() for part in value.split(",") if part.strip()] if is_text else value
        if not isinstance(items, list) or not least <= len(items) <= most:
            raise ValueError(sentence)
        if item_kind in _ITEM_NAMES:
            return [_read_item(each, read, sentence) for each in items]
        return [read_item for _, read_item in _gather(list(enumerate(items)), read)]

    return read_list


def _read_item(value: Any, read: Read, sentence: str) -> Any:
    try:
        return read(value)
    except ValueError:
        raise ValueError(sentence) from None


def _gather(items: list[tuple[Any, Any]], read: Read) -> list[tuple[Any, Any]]:
    """Reads all items; raises the errors of all, each under its key or index."""
    values: list[tuple[Any, Any]] = []
    errors: dict[str, list[str]] = {}
    codes: set[str | None] = set()
    for key, value in items:
        try:
            values.append((key, read(value)))
        except InvalidFields as nested:
            errors |= {f"{key}.{path}": messages for path, messages in nested.errors.items()}
            codes |= nested.codes
        except ValueError as error:
            errors[str(key)] = [str(error)]
            codes.add(None)
    if errors:
        raise InvalidFields(errors, codes)
    return values


_READERS: dict[Any, Callable[..., Any]] = {
    str: _read_text,
    int: _read_bounded,
    bool: read_boolean,
    UUID: read_id,
    datetime: read_time,
    Decimal: read_decimal,
    dict[str, Any]: _read_metadata,
}
