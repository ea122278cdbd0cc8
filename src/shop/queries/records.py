"""Statements that read the records of any declared table: filtered lists, one record by its key, relations.

Each combination of filters and sort order has its own statement, compiled once and cached.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
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
    or_,
    select,
)
from sqlalchemy import cast as sql_cast
from sqlalchemy import tuple_ as sql_tuple
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.base.listing import Condition, ListQuery, Page, Path, Sort
from shop.base.record import Link
from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, any_of, dynamic_statement, explain, into, opaque_param
from shop.queries.lookups import INDEXED_PREDICATES, Lookup, within_hours
from shop.queries.predicates import PATTERNS, PREDICATES, compare_amount

_ID = PG_UUID(as_uuid=True)
EXACT = 10_000
"""Totals are counted up to this number; above it the planner's estimate is used."""


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

_Parameter = tuple[tuple[Path, ...], str, str]
"""A condition and the name of its parameter."""


async def list_records(db: DatabaseSession, records: Records, criteria: ListQuery) -> list[Any]:
    """Returns one page. With a cursor, reads one record more than the page size to detect a next page."""
    page, values = criteria.page, _values(criteria.conditions)
    shape = _shape(criteria)
    if isinstance(page, Page):
        query = _list_statement(records, shape, criteria.sort, "number", criteria.secondary_sorts)
        return await db.all(query, **values, skip=page.offset, most=page.size)
    values["most"] = page.size + 1
    if page.after is None:
        return await db.all(_list_statement(records, shape, criteria.sort, "first"), **values)
    last_value, last_id = page.after
    if last_value is None:
        return await db.all(_list_statement(records, shape, criteria.sort, "after none"), **values, last_id=last_id)
    return await db.all(
        _list_statement(records, shape, criteria.sort, "after"), **values, last_value=last_value, last_id=last_id
    )


async def count_records(db: DatabaseSession, records: Records, criteria: ListQuery) -> tuple[int, bool]:
    """Returns the total number of records and whether it is an estimate."""
    shape, values = _shape(criteria), _values(criteria.conditions)
    count = await db.one(_count_statement(records, shape), **values) or 0
    if count <= EXACT:
        return count, False
    return max(await db.one(_estimate_statement(records, shape), **values) or 0, EXACT + 1), True


async def find_record(db: DatabaseSession, records: Records, by: str, value: Any) -> Any | None:
    return await db.one(_find_statement(records, by, False), value=value)


async def lock_record(db: DatabaseSession, records: Records, record_id: UUID) -> Any | None:
    return await db.one(_find_statement(records, "id", True), value=record_id)


async def list_related_records(db: DatabaseSession, link: RelationLink, ids: Iterable[UUID]) -> list[Any]:
    """Returns the related rows of all these records in one statement."""
    unique_ids = list(set(ids))
    return await db.all(_select_related(link), ids=unique_ids) if unique_ids else []


async def list_related_ids(
    db: DatabaseSession, link: Sequence[RelationLink], ids: Sequence[UUID]
) -> list[dict[UUID, list[UUID]]]:
    """Returns the related ids by record id for each to-many relation, in one statement; enough to render links."""
    rows = await db.all(_select_related_ids(tuple(link)), ids=ids) if ids and link else []
    return [{row[0]: row[index] for row in rows} for index in range(1, len(link) + 1)]


def _shape(criteria: ListQuery) -> Shape:
    return tuple((condition.paths, condition.predicate) for condition in criteria.conditions), criteria.matches_any


def _values(conditions: Sequence[Condition]) -> dict[str, Any]:
    return {f"v{index}": _value(condition) for index, condition in enumerate(conditions) if condition.value is not None}


def _value(condition: Condition) -> Any:
    pattern = PATTERNS.get(condition.predicate)
    if pattern is None:
        return condition.value
    text = condition.value.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return pattern.format(text)


@lru_cache(maxsize=1024)
def _list_statement(
    records: Records, shape: Shape, sort: Sort, paging: str, then: tuple[Sort, ...] = ()
) -> Statement[Any]:
    columns = records.table.c
    column, key = _sorted(records, sort), columns.id
    clause = _select(records).where(*_where(records, shape))
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
    clause = clause.order_by(*order, key.desc() if down else key).limit(bindparam("most", type_=BigInteger))
    if paging == "number":
        clause = clause.offset(bindparam("skip", type_=BigInteger))
    return dynamic_statement(clause, into(records.row))


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
def _count_statement(records: Records, shape: Shape) -> Statement[int]:
    sample = select(records.table.c.id).where(*_where(records, shape)).limit(EXACT + 1).subquery()
    return dynamic_statement(select(func.count()).select_from(sample), lambda record: cast(int, record[0]))


@lru_cache(maxsize=512)
def _estimate_statement(records: Records, shape: Shape) -> Statement[int]:
    return explain(select(records.table.c.id).where(*_where(records, shape)), plan_rows)


def plan_rows(record: Any) -> int:
    return int(msgspec.json.decode(record[0])[0]["Plan"]["Plan Rows"])


@lru_cache(maxsize=512)
def _find_statement(records: Records, by: str, is_locked: bool) -> Statement[Any]:
    column = records.table.c[by]
    clause = _select(records).where(column == bindparam("value", type_=column.type), *_visible(records))
    return dynamic_statement(clause.with_for_update(of=records.table) if is_locked else clause, into(records.row))


@lru_cache(maxsize=512)
def _select_related(link: RelationLink) -> Statement[Any]:
    is_inverse = link.is_many and link.between is None and link.most is None
    records, by = link.records, link.column if is_inverse else "id"
    column = records.table.c[by]
    # A record referred to by id is read even when it is hidden; to-many relations contain visible rows only.
    conditions = [] if by == "id" else link.shown
    clause = _select(records).where(column == any_of("ids", column.type), *conditions)
    return dynamic_statement(clause.order_by(_sort_column(records.table), records.table.c.id), into(records.row))


@lru_cache(maxsize=512)
def _select_related_ids(relations: tuple[RelationLink, ...]) -> Statement[Any]:
    owners = func.unnest(opaque_param("ids", ARRAY(_ID))).table_valued("id", name="ours").render_derived()
    related_ids = [
        func.array(select_ids(link, sql_cast(owners.c.id, _ID)).correlate(owners).scalar_subquery())
        for link in relations
    ]
    return dynamic_statement(select(sql_cast(owners.c.id, _ID), *related_ids), lambda record: record)


def select_ids(link: RelationLink, our_id: Any) -> Select[Any]:
    table, between = link.records.table, link.between
    column, order = table.c[link.column] if between is None else between.c[link.column], _sort_column(table)
    clause = select(table.c.id)
    if between is not None:
        clause = clause.join(between, between.c[link.other] == table.c.id)
        order = between.c.position if "position" in between.c else order
    clause = clause.where(column == our_id, *link.shown)
    if link.most is not None:
        return clause.order_by(table.c.id.desc()).limit(link.most)
    return clause.order_by(order, table.c.id)


def _sort_column(table: Table) -> ColumnElement[Any]:
    """Returns the order of related records: by `position` where the table has one, else by id."""
    return table.c.position if "position" in table.c else table.c.id


def _select(records: Records) -> Select[Any]:
    return select(records.table, *(column.label(name) for name, column in records.extras.items()))


def _visible(records: Records) -> list[ColumnElement[bool]]:
    return [] if records.shown is None else [records.shown]


def _where(records: Records, shape: Shape) -> list[ColumnElement[bool]]:
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
