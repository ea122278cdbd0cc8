"""Statements that read the records of any declared table: filtered lists, one record by its key, relations.

Each combination of filters and sort order has its own statement, compiled once and cached.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Select,
    Table,
    Text,
    and_,
    bindparam,
    func,
    literal_column,
    or_,
    select,
)
from sqlalchemy import tuple_ as sql_tuple
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.base.listing import DEFAULT_SIZE, Condition, ListQuery, Page, Path, Sort
from shop.base.record import Link
from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, dynamic_statement, into, into_parts
from shop.queries.lookups import INDEXED_PREDICATES, Lookup, within_hours
from shop.queries.predicates import PATTERNS, PREDICATES, compare_amount

_ID = PG_UUID(as_uuid=True)


class Records(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """A table that can be listed and read: its row type, additional columns and relations."""

    table: Table
    row: Any
    extras: Mapping[str, ColumnElement[Any]] = {}
    """Additional columns, by the name of their field in the row."""
    amounts: frozenset[str] = frozenset()
    """Columns in minor units of the row's `currency`."""
    searches: Mapping[str, ColumnElement[Any]] = {}
    """Expressions for filters only, not returned."""
    lookups: Mapping[str, Lookup] = {}
    """Columns that are looked up through an indexed copy in another table."""
    hour: str | None = None
    """The indexed column with the hour of `updated_at`, which has no index."""
    shown: ColumnElement[bool] | None = None
    """The condition for a row to be visible, for tables with soft-deleted rows."""
    relation_links: dict[str, "RelationLink"] = {}
    nothing: dict[str, Link] = {}
    """Relations that are always empty in this shop."""


class RelationLink(msgspec.Struct, frozen=True, eq=False):
    """A relation: by a foreign key of this table, or by a foreign key of the related table; or many-to-many through the
    table `between`, whose `column` refers to this table and whose `other` refers to the related one.
    """

    records: Records
    column: str
    is_many: bool
    between: Table | None = None
    other: str = ""
    only: ColumnElement[bool] | None = None
    """Limits the related rows; `None` for all."""
    most: int | None = None
    """Links only this many of the newest rows, for relations that grow without limit."""
    by_type: Mapping[str, "RelationLink"] = {}
    """For a polymorphic relation: the relation for each value of `type_column`."""
    type_column: str = ""

    @property
    def shown(self) -> list[ColumnElement[bool]]:
        return [*_visible(self.records), *([] if self.only is None else [self.only])]


Shape = tuple[tuple[tuple[tuple[Path, ...], str], ...], bool]
"""The cache key of a filter's statement: fields and predicates, and whether any of them is enough."""

LinkedRow = tuple[Any, Sequence[Sequence[UUID]]]
"""A row, and the ids of its related records for each of the relations asked for."""

_Parameter = tuple[tuple[Path, ...], str, str]
"""A condition and the name of its parameter."""


async def list_records(db: DatabaseSession, records: Records, criteria: ListQuery) -> list[Any]:
    """Returns one page. With a cursor, reads one record more than the page size to detect a next page."""
    return [row for row, _ in await list_linked_records(db, records, criteria, ())]


async def list_linked_records(
    db: DatabaseSession, records: Records, criteria: ListQuery, links: Sequence[RelationLink]
) -> list[LinkedRow]:
    """Returns one page like `list_records`, each row with the ids of its records in these to-many relations."""
    page, values, shape = criteria.page, values_of(criteria.conditions), shape_of(criteria)
    # Without conditions, a page of the usual size has a constant limit, so that its plan is kept. PostgreSQL plans a
    # statement with an unknown limit or offset each time, which takes as long as its execution.
    size = page.size if page.size == DEFAULT_SIZE and not criteria.conditions else None
    if isinstance(page, Page):
        paging = "number" if page.offset else "first number"
        values |= {"skip": page.offset, "most": page.size}
    else:
        last_value, last_id = page.after or (None, None)
        paging = "first" if last_id is None else "after none" if last_value is None else "after"
        values |= {"last_value": last_value, "last_id": last_id, "most": page.size + 1}
    then = criteria.secondary_sorts
    return await db.all(_list_statement(records, shape, criteria.sort, paging, then, tuple(links), size), **values)


async def find_record(db: DatabaseSession, records: Records, by: str, value: Any) -> Any | None:
    return await db.one(_find_statement(records, by, False), value=value)


async def lock_record(db: DatabaseSession, records: Records, record_id: UUID) -> Any | None:
    return await db.one(_find_statement(records, "id", True), value=record_id)


def shape_of(criteria: ListQuery) -> Shape:
    return tuple((condition.paths, condition.predicate) for condition in criteria.conditions), criteria.matches_any


def values_of(conditions: Sequence[Condition]) -> dict[str, Any]:
    return {f"v{index}": _value(condition) for index, condition in enumerate(conditions) if condition.value is not None}


def _value(condition: Condition) -> Any:
    pattern = PATTERNS.get(condition.predicate)
    if pattern is None:
        return condition.value
    text = condition.value.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return pattern.format(text)


@lru_cache(maxsize=1024)
def _list_statement(
    records: Records,
    shape: Shape,
    sort: Sort,
    paging: str,
    then: tuple[Sort, ...] = (),
    links: tuple[RelationLink, ...] = (),
    size: int | None = None,
) -> Statement[LinkedRow]:
    columns = records.table.c
    column, key = _sorted(records, sort), columns.id
    clause = select_rows(records).where(*where_clauses(records, shape))
    lookup = records.lookups.get(sort.name)
    if lookup and lookup.is_complete:
        clause, column = lookup.joined(clause, key), lookup.column
    if paging.startswith("after"):
        clause = clause.where(_behind(column, key, sort, is_none=paging == "after none"))
    down = sort.is_descending
    order = [column.desc() if down else column] if sort.name != "id" else []
    if records.hour and sort.name == "updated_at":
        # The index returns the hours in order; only the rows of one hour are sorted at a time.
        hour = columns[records.hour]
        order.insert(0, hour.desc() if down else hour)
        if paging == "after":
            last_value = bindparam("last_value", type_=column.type)
            clause = clause.where(within_hours(hour, "lteq" if down else "gteq", last_value))
    order += [_sorted(records, each).desc() if each.is_descending else _sorted(records, each) for each in then]
    clause = clause.order_by(*order, key.desc() if down else key)
    most = None if size is None else literal_column(str(size if paging.endswith("number") else size + 1), BigInteger)
    clause = clause.limit(bindparam("most", type_=BigInteger) if most is None else most)
    if paging == "number":
        clause = clause.offset(bindparam("skip", type_=BigInteger))
    # Outside of the page, whose order it keeps: an offset would evaluate them for the rows that it skips too.
    page = clause.subquery("page")
    ids = [func.array(select_ids(link, page.c.id).correlate(page).scalar_subquery()) for link in links]
    return dynamic_statement(select(page, *ids), into_parts(records.row, len(page.c)))


def _sorted(records: Records, sort: Sort) -> Any:
    return records.extras.get(sort.name, records.table.c.get(sort.name))


def _behind(column: Any, key: Any, sort: Sort, *, is_none: bool) -> ColumnElement[bool]:
    """Returns the condition for rows after a cursor. Null is the largest value, as PostgreSQL sorts it."""
    down, last_id = sort.is_descending, bindparam("last_id", type_=key.type)
    later_id = key < last_id if down else key > last_id
    if sort.name == "id":
        return cast(ColumnElement[bool], later_id)
    if is_none:
        either: ColumnElement[bool] = or_(column.is_not(None), later_id)
        return either if down else and_(column.is_(None), later_id)
    last = sql_tuple(bindparam("last_value", type_=column.type), last_id)
    later: ColumnElement[bool] = sql_tuple(column, key) < last if down else sql_tuple(column, key) > last
    return later if down or not getattr(column, "nullable", True) else or_(later, column.is_(None))


@lru_cache(maxsize=512)
def _find_statement(records: Records, by: str, is_locked: bool) -> Statement[Any]:
    column = records.table.c[by]
    clause = select_rows(records).where(column == bindparam("value", type_=column.type), *_visible(records))
    return dynamic_statement(clause.with_for_update(of=records.table) if is_locked else clause, into(records.row))


def select_ids(link: RelationLink, our_id: Any) -> Select[Any]:
    table, between = link.records.table, link.between
    column, order = table.c[link.column] if between is None else between.c[link.column], sort_column(table)
    clause = select(table.c.id)
    if between is not None:
        clause = clause.join(between, between.c[link.other] == table.c.id)
        order = between.c.position if "position" in between.c else order
    clause = clause.where(column == our_id, *link.shown)
    if link.most is not None:
        return clause.order_by(table.c.id.desc()).limit(link.most)
    return clause.order_by(order, table.c.id)


def sort_column(table: Table) -> ColumnElement[Any]:
    """Returns the order of related records: by `position` where the table has one, else by id."""
    return table.c.position if "position" in table.c else table.c.id


def select_rows(records: Records) -> Select[Any]:
    return select(records.table, *(column.label(name) for name, column in records.extras.items()))


def _visible(records: Records) -> list[ColumnElement[bool]]:
    return [] if records.shown is None else [records.shown]


def where_clauses(records: Records, shape: Shape) -> list[ColumnElement[bool]]:
    conditions, matches_any = shape
    parameters = [(paths, predicate, f"v{index}") for index, (paths, predicate) in enumerate(conditions)]
    combine = or_ if matches_any else and_
    return [*_visible(records), *([combine(*_clauses(records, parameters, combine))] if parameters else [])]


def _clauses(
    records: Records, parameters: Sequence[_Parameter], combine: Callable[..., Any]
) -> list[ColumnElement[bool]]:
    """Combines all conditions on a to-one relation into one subquery: planning a join for each takes half a second."""
    clauses, of_one = [], dict[str, list[_Parameter]]()
    for paths, predicate, name in parameters:
        first, *rest = paths[0]
        if len(paths) == 1 and rest and not records.relation_links[first].is_many:
            of_one.setdefault(first, []).append(((tuple(rest),), predicate, name))
        else:
            clauses.append(or_(*(_clause(records, path, predicate, name) for path in paths)))
    for first, conditions in of_one.items():
        link = records.relation_links[first]
        clauses.append(_names(records, link, combine(*_clauses(link.records, conditions, combine))))
    return clauses


def _names(records: Records, link: RelationLink, condition: ColumnElement[bool]) -> ColumnElement[bool]:
    column = records.extras[link.column] if link.column in records.extras else records.table.c[link.column]
    return cast(ColumnElement[bool], column.in_(select(link.records.table.c.id).where(condition)))


def _clause(records: Records, path: Path, predicate: str, name: str) -> ColumnElement[bool]:
    if len(path) > 1:
        link = records.relation_links[path[0]]
        condition = _clause(link.records, path[1:], predicate, name)
        if link.between is not None:
            fitting = select(link.records.table.c.id).where(condition, *link.shown)
            owner_ids = select(link.between.c[link.column]).where(link.between.c[link.other].in_(fitting))
            return records.table.c.id.in_(owner_ids)
        if link.is_many:
            owner_ids = select(link.records.table.c[link.column]).where(condition, *link.shown)
            return records.table.c.id.in_(owner_ids)
        return _names(records, link, condition)
    return _own_clause(records, path[0], predicate, name)


def _own_clause(records: Records, field: str, predicate: str, name: str) -> ColumnElement[bool]:
    column: Any = records.extras[field] if field in records.extras else records.searches.get(field)
    column = records.table.c[field] if column is None else column
    kind: Any = column.type
    if field in records.lookups and predicate in INDEXED_PREDICATES:
        return records.lookups[field].fits(records.table.c.id, predicate, PREDICATES[predicate], name)
    if field in records.amounts:
        currency = records.extras.get("currency", records.table.c.get("currency"))
        return compare_amount(column, currency, predicate, name)
    if predicate in {"in", "not_in"}:
        kind = ARRAY(kind)
    value = bindparam(name, type_=Text() if predicate in PATTERNS else kind)
    clause = PREDICATES[predicate](column, value)
    if records.hour and field == "updated_at" and predicate in INDEXED_PREDICATES - {"in"}:
        return and_(clause, within_hours(records.table.c[records.hour], predicate, value))
    return clause
