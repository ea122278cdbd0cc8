"""Lookups by columns without an index: through a copy in another table, or by hour."""

import operator
from collections.abc import Callable
from typing import Any, cast

import msgspec
from sqlalchemy import BigInteger, ColumnElement, Select, bindparam, func, literal_column, select
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import ARRAY

INDEXED_PREDICATES = frozenset({"eq", "gt", "gteq", "lt", "lteq", "in"})
"""Predicates that can use an index."""


class Lookup(msgspec.Struct, frozen=True, eq=False):
    """A column copied to another table, and the key column there that refers to the row."""

    key: Any
    column: Any
    is_complete: bool = False
    """Whether every row has a copy, so that lists can be sorted by it."""
    only: ColumnElement[bool] | None = None
    """An extra condition on the copy, the same as that of its partial index."""

    def fits(self, row_id: Any, predicate: str, compare: Callable[[Any, Any], Any], name: str) -> ColumnElement[bool]:
        kind = self.column.type
        value = bindparam(name, type_=ARRAY(kind) if predicate == "in" else kind)
        only = [] if self.only is None else [self.only]
        return cast(ColumnElement[bool], row_id.in_(select(self.key).where(compare(self.column, value), *only)))

    def joined(self, clause: Select[Any], row_id: Any) -> Select[Any]:
        return clause.join(self.key.table, self.key == row_id)


def hour_of(moment: Any) -> ColumnElement[int]:
    """Returns the hours since 1970, as in `updated_hour`."""
    return sql_cast(func.floor(func.date_part("epoch", moment) / literal_column("3600")), BigInteger)


def within_hours(hour: Any, predicate: str, moment: Any) -> ColumnElement[bool]:
    """Returns the condition on the hour that follows from a condition on a time."""
    compare = {"lt": operator.le, "lteq": operator.le, "eq": operator.eq}.get(predicate, operator.ge)
    return cast(ColumnElement[bool], compare(hour, hour_of(moment)))
