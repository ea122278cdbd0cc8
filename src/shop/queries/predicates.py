"""SQL for the predicates of filters."""

from collections.abc import Callable
from typing import Any, cast

from sqlalchemy import ColumnElement, Numeric, Text, and_, bindparam, func, literal, or_, select
from sqlalchemy import all_ as sql_all
from sqlalchemy import any_ as sql_any
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import ARRAY

from shop.base.money import MINOR_UNITS

PREDICATES: dict[str, Callable[[Any, Any], ColumnElement[bool]]] = {
    "eq": lambda column, value: column == value,
    "not_eq": lambda column, value: column.is_distinct_from(value),
    "gt": lambda column, value: column > value,
    "gteq": lambda column, value: column >= value,
    "lt": lambda column, value: column < value,
    "lteq": lambda column, value: column <= value,
    "cont": lambda column, value: column.ilike(value),
    "i_cont": lambda column, value: column.ilike(value),
    "not_cont": lambda column, value: func.coalesce(column, "").not_ilike(value),
    "start": lambda column, value: column.ilike(value),
    "end": lambda column, value: column.ilike(value),
    # As in Ransack, the caller supplies the wildcards.
    "matches": lambda column, value: column.ilike(value),
    "does_not_match": lambda column, value: func.coalesce(column, "").not_ilike(value),
    "in": lambda column, value: column == sql_any(value),
    "not_in": lambda column, value: func.coalesce(column == sql_any(value), False).is_(False),
    "true": lambda column, _: column.is_(True),
    "false": lambda column, _: column.is_not(True),
    "null": lambda column, _: column.is_(None),
    "not_null": lambda column, _: column.is_not(None),
    "present": lambda column, _: func.coalesce(sql_cast(column, Text), "") != "",
    "blank": lambda column, _: func.coalesce(sql_cast(column, Text), "") == "",
}
PATTERNS = {"cont": "%{}%", "i_cont": "%{}%", "not_cont": "%{}%", "start": "{}%", "end": "%{}"}


def compare_amount(column: Any, currency: Any, predicate: str, name: str) -> ColumnElement[bool]:
    """Compares an amount with a parameter in the minor units of each row's currency. Converts the parameter, not the
    column, because dividing a million rows takes seconds.
    """
    if predicate not in _COMPARING:
        return PREDICATES[predicate](column, bindparam(name, type_=Text()))
    is_list = predicate in {"in", "not_in"}
    value = bindparam(name, type_=ARRAY(Numeric()) if is_list else Numeric())
    clauses = [
        and_(_has_digits(currency, digits), PREDICATES[predicate](column, _minor(value, digits, is_list=is_list)))
        for digits in (2, *MINOR_UNITS)
    ]
    return or_(*clauses)


_COMPARING = frozenset({"eq", "not_eq", "gt", "gteq", "lt", "lteq", "in", "not_in"})


def _minor(value: Any, digits: int, *, is_list: bool) -> Any:
    if not is_list:
        return value * literal(10**digits, Numeric())
    each = func.unnest(value).table_valued("amount", name=f"asked_{digits}").render_derived()
    return select(each.c.amount * literal(10**digits, Numeric())).scalar_subquery()


def _has_digits(currency: Any, digits: int) -> ColumnElement[bool]:
    """Returns whether a currency has this many decimal digits; those not in `MINOR_UNITS` have two."""
    codes_by_digits = {each: literal(codes.split(), ARRAY(Text())) for each, codes in MINOR_UNITS.items()}
    if digits in codes_by_digits:
        return cast(ColumnElement[bool], currency == sql_any(codes_by_digits[digits]))
    return and_(*(currency != sql_all(codes) for codes in codes_by_digits.values()))
