"""Parses filters such as `filter[email_cont]=…`, with the predicates of Spree (Ransack).

filter[<field>_<predicate>]              a field of the record
filter[<relation>_<field>_<predicate>]   a field of a related record
filter[<one>_or_<other>_<predicate>]     either field
filter[m]=or                             any filter may match; by default, or with `and`, all must match
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec

from shop.base.errors import Malformed
from shop.base.input_types import split_kind
from shop.base.listing import Condition, Path
from shop.base.values import read_boolean, read_decimal, read_id, read_integer, read_time
from shop.jsonapi.resource import Money

COMPARISONS = ("eq", "not_eq", "gt", "gteq", "lt", "lteq")
PATTERN_PREDICATES = ("matches", "does_not_match")
"""SQL patterns: `%` matches any text, `_` any character; a backslash escapes either."""
TEXT_PREDICATES = ("cont", "not_cont", "i_cont", "start", "end", *PATTERN_PREDICATES)
LIST_PREDICATES = ("in", "not_in")
YES_OR_NO = ("true", "false")
UNARY = (*YES_OR_NO, "null", "not_null", "present", "blank")
PREDICATES = (*COMPARISONS, *TEXT_PREDICATES, *LIST_PREDICATES, *UNARY)
# Longest first, because `not_eq` ends with `eq`.
PREDICATES_LONGEST_FIRST = sorted(PREDICATES, key=len, reverse=True)
_OPPOSITE = {
    "true": "false",
    "false": "true",
    "null": "not_null",
    "not_null": "null",
    "present": "blank",
    "blank": "present",
}
_COMBINING = {"or": True, "and": False, "": False}
_NOT_CONDITIONS = frozenset({"m", "show_deleted"})
MAX_VALUES = 500
MAX_CONDITIONS = 20
MAX_PATTERN_LENGTH = 255
MAX_WILDCARDS = 10
"""The maximum number of wildcards: each one multiplies the work of the database."""


class Filterable(msgspec.Struct, frozen=True):
    """A field that can be filtered by: its path and type."""

    path: Path
    kind: Any
    others: tuple[Path, ...] = ()
    """Further paths of the same name; a record matches if any path matches."""


def read_conditions(
    params: Mapping[str, Any], filterables: Mapping[str, Filterable]
) -> tuple[tuple[Condition, ...], bool]:
    """Returns the conditions, and whether one match is enough. An unknown name is an error: a typo must not return all
    records.
    """
    filters = params.get("filter")
    if filters is None or filters == "":
        return (), False
    if not isinstance(filters, dict):
        raise Malformed("Send filters as filter[name_predicate]=value.", code="unknown_filter")
    if len(filters) > MAX_CONDITIONS:
        raise Malformed(f"At most {MAX_CONDITIONS} filters can be sent at once.", code="unknown_filter")
    read = [_condition(name, value, filterables) for name, value in filters.items() if name not in _NOT_CONDITIONS]
    return tuple(condition for condition in read if condition), _matches_any(filters.get("m", ""))


def _matches_any(word: Any) -> bool:
    if not isinstance(word, str) or word not in _COMBINING:
        raise Malformed("The filter 'm' takes `or` or `and`.", code="bad_filter")
    return _COMBINING[word]


def _condition(name: str, value: Any, filterables: Mapping[str, Filterable]) -> Condition | None:
    """Returns a condition, or None for an empty value, as forms send it; the name is validated in either case."""
    fields, predicate = _split(name, filterables)
    _check_kinds(name, predicate, {split_kind(field.kind)[0] for field in fields})
    if value == "":
        return None
    kind = fields[0].kind
    if predicate in UNARY:
        return Condition(_paths(fields), predicate if _is_yes(name, value) else _OPPOSITE[predicate], None)
    if predicate in LIST_PREDICATES and not isinstance(value, dict):
        values = value if isinstance(value, list) else str(value).split(",")
        if len(values) > MAX_VALUES:
            raise Malformed(f"The filter {name!r} takes at most {MAX_VALUES} values.", code="bad_filter")
        return Condition(_paths(fields), predicate, [_read(name, item, kind) for item in values])
    if predicate in PATTERN_PREDICATES:
        _check_pattern(name, str(value))
    return Condition(_paths(fields), predicate, _read(name, value, kind))


def _check_pattern(name: str, pattern: str) -> None:
    backslashes = len(pattern) - len(pattern.rstrip("\\"))
    if len(pattern) > MAX_PATTERN_LENGTH or pattern.count("%") > MAX_WILDCARDS or backslashes % 2:
        raise Malformed(
            f"The filter {name!r} takes a pattern of at most {MAX_PATTERN_LENGTH} characters and {MAX_WILDCARDS} `%`,"
            " which does not end with a backslash.",
            code="bad_filter",
        )


def _split(name: str, filterables: Mapping[str, Filterable]) -> tuple[list[Filterable], str]:
    for predicate in PREDICATES_LONGEST_FIRST:
        if name.endswith(f"_{predicate}"):
            fields = name.removesuffix(f"_{predicate}")
            names = [fields] if fields in filterables else fields.split("_or_")
            if all(field in filterables for field in names):
                return [filterables[field] for field in names], predicate
    raise Malformed(
        f"There is no filter {name[:100]!r}; filters are a field and a predicate. Fields: {', '.join(filterables)}. "
        f"Predicates: {', '.join(PREDICATES)}.",
        code="unknown_filter",
    )


def _check_kinds(name: str, predicate: str, kinds: set[Any]) -> None:
    """Rejects conditions that the database would reject: a text search in a number, or one value for two types."""
    if predicate in TEXT_PREDICATES and kinds != {str}:
        raise Malformed(f"The filter {name!r} requires a text field.", code="unknown_filter")
    if predicate in YES_OR_NO and kinds != {bool}:
        raise Malformed(f"The filter {name!r} requires a boolean field.", code="unknown_filter")
    if predicate not in UNARY and len(kinds) > 1:
        raise Malformed(f"The filter {name!r} combines fields of different types.", code="unknown_filter")


def _paths(fields: Sequence[Filterable]) -> tuple[Path, ...]:
    return tuple(path for field in fields for path in (field.path, *field.others))


def _is_yes(name: str, value: Any) -> bool:
    try:
        return read_boolean(value)
    except ValueError:
        raise Malformed(f"The filter {name!r} takes true or false.", code="bad_filter") from None


def _read(name: str, value: Any, kind: Any) -> Any:
    read = _READERS.get(split_kind(kind)[0])
    try:
        # A list may have spaces after its commas.
        return read(value.strip() if isinstance(value, str) else value) if read else _read_text(value)
    except ValueError:
        raise Malformed(
            f"The filter {name!r} cannot be compared with {str(value)[:100]!r}.", code="bad_filter"
        ) from None


def _read_text(value: Any) -> str:
    if isinstance(value, dict | list):
        raise ValueError("must be text")
    return str(value)


def _read_amount(value: Any) -> Decimal:
    amount = read_decimal(value)
    if abs(amount) >= 10**15 or int(amount.as_tuple().exponent) < -20:
        raise ValueError("is too large or has too many digits")
    return amount


_READERS: Mapping[Any, Callable[[Any], Any]] = {
    bool: read_boolean,
    datetime: read_time,
    Decimal: _read_amount,
    int: read_integer,
    Money: _read_amount,
    UUID: read_id,
}
