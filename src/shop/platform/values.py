"""How a body becomes values: the wrapped object or the bare one, each field checked for its kind."""

import re
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any
from uuid import UUID

from shop.base.errors import Invalid, Malformed
from shop.base.ids import as_uuid
from shop.base.kinds import split_kind
from shop.base.moments import read_moment
from shop.base.texts import is_prose
from shop.platform.collection import Collection
from shop.rules.metadata import METADATA_ERROR, is_metadata

LONGEST_TEXT = 5_000
LONGEST_NAME = 255
MOST_ITEMS = 200
LONGEST_ITEM = 100
# What can be worked with without rounding.
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


def read_values(params: Mapping[str, Any], collection: Collection, *, is_new: bool) -> dict[str, Any]:
    given = _object(params, collection, is_new=is_new)
    errors: dict[str, list[str]] = {}
    values: dict[str, Any] = {}
    for name, kind in collection.writable.items():
        if name in given and (is_new or name not in collection.once):
            try:
                longest = collection.longest.get(name)
                values[name] = _long_text(given[name], longest) if longest else read_kind(given[name], kind)
                _check_length(values[name], name, collection.noun.records.table)
            except ValueError as error:
                errors[name] = [str(error)]
    needed = [name for name in collection.required if is_new or name in values]
    errors |= {name: ["must be given"] for name in needed if _is_blank(values.get(name))} | errors
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


def read_kind(value: Any, kind: Any) -> Any:
    """A value as a field of that kind has it; what cannot be one is a ValueError that says why."""
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
    """What is looked up by stands in an index, which has no room for long texts."""
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
        return read_moment(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _mapping(value: Any) -> dict[str, Any] | None:
    return value if is_metadata(value) else None


def _decimal(value: Any) -> Decimal | None:
    """As text or as a number; written out, so that a short one cannot stand for millions of digits."""
    text = str(value).strip() if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
    # Whole numbers are shown with a zero behind them, and what is shown can be sent.
    if len(text.removesuffix(".0")) > _DECIMAL_DIGITS or not _DECIMAL.fullmatch(text):
        return None
    return Decimal(text)


def _items(value: Any) -> list[Any] | None:
    """A list, or its parts in one text with commas between them, as forms send it."""
    given = [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value
    return given if isinstance(given, list) and len(given) <= MOST_ITEMS else None


def _texts(value: Any) -> list[str] | None:
    items = _items(value)
    fits = items is not None and all(_text(item) and len(item) <= LONGEST_ITEM for item in items)
    return items if fits else None


def _ids(value: Any) -> list[UUID] | None:
    ids = [as_uuid(item) for item in _items(value) or ()]
    return [found for found in ids if found] if _items(value) is not None and None not in ids else None


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
