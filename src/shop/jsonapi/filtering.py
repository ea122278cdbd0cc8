"""Which records are asked for: `filter[email_cont]=…`, in the predicates of the family.

filter[<field>_<predicate>]         a field of the record
filter[<relation>_<field>_<predicate>]   a field of a related one
filter[<one>_or_<other>_<predicate>]     either
filter[m]=or                        one filter is enough; `and`, or nothing: all must fit
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

import msgspec

from shop.base.errors import Malformed
from shop.base.kinds import split_kind
from shop.base.listing import Condition, Path
from shop.base.moments import read_moment
from shop.jsonapi.resource import Money

COMPARING = ("eq", "not_eq", "gt", "gteq", "lt", "lteq")
MATCHING = ("matches", "does_not_match")
"""Patterns of SQL: `%` stands for any text, `_` for any character, a backslash before either for itself."""
TEXTUAL = ("cont", "not_cont", "i_cont", "start", "end", *MATCHING)
LISTING = ("in", "not_in")
YES_OR_NO = ("true", "false")
ASKING = (*YES_OR_NO, "null", "not_null", "present", "blank")
PREDICATES = (*COMPARING, *TEXTUAL, *LISTING, *ASKING)
# The longest first: `not_eq` ends with `eq`.
LONGEST_FIRST = sorted(PREDICATES, key=len, reverse=True)
_OPPOSITE = {
    "true": "false",
    "false": "true",
    "null": "not_null",
    "not_null": "null",
    "present": "blank",
    "blank": "present",
}
_FLAGS = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
_COMBINING = {"or": True, "and": False, "": False}
_IGNORED = frozenset({"m", "show_deleted"})
MOST_VALUES = 500
MOST_CONDITIONS = 20
LONGEST_PATTERN = 255
MOST_WILDCARDS = 10
"""Each of them multiplies what the database may have to try."""


class Filterable(msgspec.Struct, frozen=True):
    """A field that may be filtered by: how it is reached, and of which kind it is."""

    path: Path
    kind: Any
    others: tuple[Path, ...] = ()
    """Where else it stands: a name may be of several relations, and one that fits is enough."""


def read_conditions(params: Mapping[str, Any], allowed: Mapping[str, Filterable]) -> tuple[tuple[Condition, ...], bool]:
    """The conditions, and whether one of them is enough. A name that is not allowed is an error: a typo must not return
    everything.
    """
    filters = params.get("filter")
    if filters is None or filters == "":
        return (), False
    if not isinstance(filters, dict):
        raise Malformed("Filters are sent as filter[name_predicate]=value.", code="unknown_filter")
    if len(filters) > MOST_CONDITIONS:
        raise Malformed(f"At most {MOST_CONDITIONS} filters can be sent at once.", code="unknown_filter")
    read = [_condition(name, value, allowed) for name, value in filters.items() if name not in _IGNORED]
    return tuple(condition for condition in read if condition), _fits_any(filters.get("m", ""))


def _fits_any(word: Any) -> bool:
    if not isinstance(word, str) or word not in _COMBINING:
        raise Malformed("The filter 'm' takes `or` or `and`.", code="bad_filter")
    return _COMBINING[word]


def _condition(name: str, value: Any, allowed: Mapping[str, Filterable]) -> Condition | None:
    """None for a value that was left empty, as forms send it; its name must be known all the same."""
    fields, predicate = _split(name, allowed)
    _check_kinds(name, predicate, {split_kind(field.kind)[0] for field in fields})
    if value == "":
        return None
    kind = fields[0].kind
    if predicate in ASKING:
        return Condition(_paths(fields), predicate if _is_yes(name, value) else _OPPOSITE[predicate], None)
    if predicate in LISTING and not isinstance(value, dict):
        values = value if isinstance(value, list) else str(value).split(",")
        if len(values) > MOST_VALUES:
            raise Malformed(f"The filter {name!r} takes at most {MOST_VALUES} values.", code="bad_filter")
        return Condition(_paths(fields), predicate, [_read(name, item, kind) for item in values])
    if predicate in MATCHING:
        _check_pattern(name, str(value))
    return Condition(_paths(fields), predicate, _read(name, value, kind))


def _check_pattern(name: str, pattern: str) -> None:
    backslashes = len(pattern) - len(pattern.rstrip("\\"))
    if len(pattern) > LONGEST_PATTERN or pattern.count("%") > MOST_WILDCARDS or backslashes % 2:
        raise Malformed(
            f"The filter {name!r} takes a pattern of at most {LONGEST_PATTERN} characters and {MOST_WILDCARDS} `%`,"
            " which does not end with a backslash.",
            code="bad_filter",
        )


def _split(name: str, allowed: Mapping[str, Filterable]) -> tuple[list[Filterable], str]:
    for predicate in LONGEST_FIRST:
        if name.endswith(f"_{predicate}"):
            fields = name.removesuffix(f"_{predicate}")
            names = [fields] if fields in allowed else fields.split("_or_")
            if all(field in allowed for field in names):
                return [allowed[field] for field in names], predicate
    raise Malformed(
        f"There is no filter {name[:100]!r}; filters are a field and a predicate. Fields: {', '.join(allowed)}. "
        f"Predicates: {', '.join(PREDICATES)}.",
        code="unknown_filter",
    )


def _check_kinds(name: str, predicate: str, kinds: set[Any]) -> None:
    """What the database would refuse in its own words: text looked for in a number, one value for two kinds."""
    if predicate in TEXTUAL and kinds != {str}:
        raise Malformed(f"The filter {name!r} looks into text, and this field has none.", code="unknown_filter")
    if predicate in YES_OR_NO and kinds != {bool}:
        raise Malformed(f"The filter {name!r} asks yes or no, and this field says neither.", code="unknown_filter")
    if predicate not in ASKING and len(kinds) > 1:
        raise Malformed(f"The filter {name!r} has fields of different kinds.", code="unknown_filter")


def _paths(fields: Sequence[Filterable]) -> tuple[Path, ...]:
    return tuple(path for field in fields for path in (field.path, *field.others))


def _is_yes(name: str, value: Any) -> bool:
    text = str(value).lower()
    if text not in _FLAGS:
        raise Malformed(f"The filter {name!r} takes true or false.", code="bad_filter")
    return _FLAGS[text]


def _read(name: str, value: Any, kind: Any) -> Any:
    try:
        return read_text(value, kind)
    except (ValueError, KeyError, InvalidOperation, OverflowError):
        raise Malformed(
            f"The filter {name!r} cannot be compared with {str(value)[:100]!r}.", code="bad_filter"
        ) from None


def read_text(value: Any, kind: Any) -> Any:
    """A value of the address as what it is compared with."""
    if isinstance(value, dict | list):
        raise ValueError
    text, plain = str(value), split_kind(kind)[0]
    if plain in {Money, Decimal}:
        amount = Decimal(text)
        # By the exponent too: a number of twenty characters may have a million digits.
        if not amount.is_finite() or abs(amount) >= 10**15 or abs(int(amount.as_tuple().exponent)) > 20:
            raise ValueError
        return amount
    if plain is int:
        number = int(text)
        if abs(number) >= 2**63:
            raise ValueError
        return number
    if plain is bool:
        return _FLAGS[text.lower()]
    if plain is UUID:
        return UUID(text)
    if plain is datetime:
        return read_moment(text)
    return text
