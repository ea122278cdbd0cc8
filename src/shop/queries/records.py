"""Which statements read the records of any declared table: lists with filters, one by its key, relations.

A statement's shape depends on the request (which filters, which order), so it is compiled once per shape and kept.
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

from shop.base.listing import Condition, Page, Path, Sort, Wishes
from shop.base.loaded import Link
from shop.db.pool import Session
from shop.db.statements import Statement, among, into, planned, shaped_statement, unseen
from shop.queries.lookups import COMPARED, Lookup, within_hours
from shop.queries.predicates import PATTERNS, PREDICATES, compare_amount

_ID = PG_UUID(as_uuid=True)
EXACT = 10_000
"""Totals are counted up to here; beyond, the planner's estimate is enough."""


class Records(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """A table that is listed and shown: its row type, what is read with each row, how relations are reached."""

    table: Table
    row: Any
    extras: Mapping[str, ColumnElement[Any]] = {}
    """Columns beside the table's own, by the row's name for them."""
    amounts: frozenset[str] = frozenset()
    """Columns in minor units of the row's `currency`."""
    searches: Mapping[str, ColumnElement[Any]] = {}
    """Expressions that are filtered by and not shown."""
    lookups: Mapping[str, Lookup] = {}
    """Columns that are found by the index of a copy in another table."""
    hour: str | None = None
    """The indexed column with the hour of `updated_at`, which itself is not indexed."""
    shown: ColumnElement[bool] | None = None
    """What a row must fulfil to be seen; some are kept and hidden."""
    kin: dict[str, "Kin"] = {}
    nothing: dict[str, Link] = {}
    """Relations of which the shop keeps nothing yet."""


class Kin(msgspec.Struct, frozen=True, eq=False):
    """A relation: by a column of ours that names one of theirs, or by a column of theirs that names ours; or to many by
    a table between, whose `column` names ours and whose `other` names theirs.
    """

    records: Records
    column: str
    is_many: bool
    between: Table | None = None
    other: str = ""
    only: ColumnElement[bool] | None = None
    """Of theirs, those that belong to the relation; none for all."""
    most: int | None = None
    """Of many, only so many of the newest are linked: some relations grow without end."""
    by_type: Mapping[str, "Kin"] = {}
    """For a relation to one of several types: that to each, by the value of our `type_column`."""
    type_column: str = ""

    @property
    def shown(self) -> list[ColumnElement[bool]]:
        return [*_shown(self.records), *([] if self.only is None else [self.only])]


Shape = tuple[tuple[tuple[tuple[Path, ...], str], ...], bool]
"""What a filter's statement depends on: fields and predicates, and whether one of them is enough."""

_Asked = tuple[tuple[Path, ...], str, str]
"""A condition, and the name of its parameter."""


async def list_records(db: Session, records: Records, wishes: Wishes) -> list[Any]:
    """One page. By place, one record more than its size is read, which tells whether another page follows."""
    page, values = wishes.page, _values(wishes.conditions)
    shape = _shape(wishes)
    if isinstance(page, Page):
        numbered = _listed(records, shape, wishes.sort, "number", wishes.then)
        return await db.all(numbered, **values, skip=page.offset, most=page.size)
    values["most"] = page.size + 1
    if page.after is None:
        return await db.all(_listed(records, shape, wishes.sort, "first"), **values)
    place, last_id = page.after
    if place is None:
        return await db.all(_listed(records, shape, wishes.sort, "after none"), **values, last_id=last_id)
    return await db.all(_listed(records, shape, wishes.sort, "after"), **values, place=place, last_id=last_id)


async def count_records(db: Session, records: Records, wishes: Wishes) -> tuple[int, bool]:
    """How many records there are in all, and whether that is an estimate."""
    shape, values = _shape(wishes), _values(wishes.conditions)
    count = await db.one(_counted(records, shape), **values) or 0
    if count <= EXACT:
        return count, False
    return max(await db.one(_estimated(records, shape), **values) or 0, EXACT + 1), True


async def find_record(db: Session, records: Records, by: str, value: Any) -> Any | None:
    return await db.one(_found(records, by, False), value=value)


async def lock_record(db: Session, records: Records, record_id: UUID) -> Any | None:
    return await db.one(_found(records, "id", True), value=record_id)


async def list_kin(db: Session, kin: Kin, ids: Iterable[UUID]) -> list[Any]:
    """The related rows of all these at once: one statement, however many there are."""
    wanted = list(set(ids))
    return await db.all(_kin_of(kin), ids=wanted) if wanted else []


async def list_kin_ids(db: Session, kin: Sequence[Kin], ids: Sequence[UUID]) -> list[dict[UUID, list[UUID]]]:
    """Of each relation to many their ids by ours, which is enough for links: one statement, however many there are."""
    rows = await db.all(_kin_ids_of(tuple(kin)), ids=ids) if ids and kin else []
    return [{row[0]: row[place] for row in rows} for place in range(1, len(kin) + 1)]


def _shape(wishes: Wishes) -> Shape:
    return tuple((condition.paths, condition.predicate) for condition in wishes.conditions), wishes.fits_any


def _values(conditions: Sequence[Condition]) -> dict[str, Any]:
    return {f"v{place}": _value(condition) for place, condition in enumerate(conditions) if condition.value is not None}


def _value(condition: Condition) -> Any:
    pattern = PATTERNS.get(condition.predicate)
    if pattern is None:
        return condition.value
    escaped = condition.value.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return pattern.format(escaped)


@lru_cache(maxsize=1024)
def _listed(records: Records, shape: Shape, sort: Sort, paging: str, then: tuple[Sort, ...] = ()) -> Statement[Any]:
    columns = records.table.c
    column, key = _sorted(records, sort), columns.id
    clause = _selected(records).where(*_where(records, shape))
    lookup = records.lookups.get(sort.name)
    if lookup and lookup.is_whole:
        clause, column = lookup.joined(clause, key), lookup.column
    if paging.startswith("after"):
        clause = clause.where(_behind(column, key, sort, is_none=paging == "after none"))
    down = sort.is_descending
    order = [column.desc() if down else column] if sort.name != "id" else []
    if records.hour and sort.name == "updated_at":
        # The index gives the hours in order, and the rows of one hour are sorted at a time.
        hour = columns[records.hour]
        order.insert(0, hour.desc() if down else hour)
        if paging == "after":
            place = bindparam("place", type_=column.type)
            clause = clause.where(within_hours(hour, "lteq" if down else "gteq", place))
    order += [_sorted(records, each).desc() if each.is_descending else _sorted(records, each) for each in then]
    clause = clause.order_by(*order, key.desc() if down else key).limit(bindparam("most", type_=BigInteger))
    if paging == "number":
        clause = clause.offset(bindparam("skip", type_=BigInteger))
    return shaped_statement(clause, into(records.row))


def _sorted(records: Records, sort: Sort) -> Any:
    return records.extras.get(sort.name, records.table.c.get(sort.name))


def _behind(column: Any, key: Any, sort: Sort, *, is_none: bool) -> ColumnElement[bool]:
    """What comes after a place. Nothing (null) counts as the largest, as the database sorts it."""
    down, last_id = sort.is_descending, bindparam("last_id", type_=key.type)
    later_id = key < last_id if down else key > last_id
    if sort.name == "id":
        return cast(ColumnElement[bool], later_id)
    if is_none:
        either: ColumnElement[bool] = or_(column.is_not(None), later_id)
        return either if down else and_(column.is_(None), later_id)
    place = sql_tuple(bindparam("place", type_=column.type), last_id)
    later: ColumnElement[bool] = sql_tuple(column, key) < place if down else sql_tuple(column, key) > place
    return later if down or not getattr(column, "nullable", True) else or_(later, column.is_(None))


@lru_cache(maxsize=512)
def _counted(records: Records, shape: Shape) -> Statement[int]:
    capped = select(records.table.c.id).where(*_where(records, shape)).limit(EXACT + 1).subquery()
    return shaped_statement(select(func.count()).select_from(capped), lambda record: cast(int, record[0]))


@lru_cache(maxsize=512)
def _estimated(records: Records, shape: Shape) -> Statement[int]:
    return planned(select(records.table.c.id).where(*_where(records, shape)), plan_rows)


def plan_rows(record: Any) -> int:
    return int(msgspec.json.decode(record[0])[0]["Plan"]["Plan Rows"])


@lru_cache(maxsize=512)
def _found(records: Records, by: str, is_locked: bool) -> Statement[Any]:
    column = records.table.c[by]
    clause = _selected(records).where(column == bindparam("value", type_=column.type), *_shown(records))
    return shaped_statement(clause.with_for_update(of=records.table) if is_locked else clause, into(records.row))


@lru_cache(maxsize=512)
def _kin_of(kin: Kin) -> Statement[Any]:
    is_theirs = kin.is_many and kin.between is None and kin.most is None
    records, by = kin.records, kin.column if is_theirs else "id"
    column = records.table.c[by]
    # Whoever names a record by its id sees it even when it is hidden; of many, only those that a list would show.
    shown = [] if by == "id" else kin.shown
    clause = _selected(records).where(column == among("ids", column.type), *shown)
    return shaped_statement(clause.order_by(_place(records.table), records.table.c.id), into(records.row))


@lru_cache(maxsize=512)
def _kin_ids_of(relations: tuple[Kin, ...]) -> Statement[Any]:
    ours = func.unnest(unseen("ids", ARRAY(_ID))).table_valued("id", name="ours").render_derived()
    theirs = [func.array(_ids_of(kin, sql_cast(ours.c.id, _ID)).correlate(ours).scalar_subquery()) for kin in relations]
    return shaped_statement(select(sql_cast(ours.c.id, _ID), *theirs), lambda record: record)


def _ids_of(kin: Kin, our_id: Any) -> Select[Any]:
    theirs, between = kin.records.table, kin.between
    column, order = theirs.c[kin.column] if between is None else between.c[kin.column], _place(theirs)
    clause = select(theirs.c.id)
    if between is not None:
        clause = clause.join(between, between.c[kin.other] == theirs.c.id)
        order = between.c.position if "position" in between.c else order
    clause = clause.where(column == our_id, *kin.shown)
    if kin.most is not None:
        return clause.order_by(theirs.c.id.desc()).limit(kin.most)
    return clause.order_by(order, theirs.c.id)


def _place(table: Table) -> ColumnElement[Any]:
    """Related records stand as people have ordered them, whether they are named or included."""
    return table.c.position if "position" in table.c else table.c.id


def _selected(records: Records) -> Select[Any]:
    return select(records.table, *(column.label(name) for name, column in records.extras.items()))


def _shown(records: Records) -> list[ColumnElement[bool]]:
    return [] if records.shown is None else [records.shown]


def _where(records: Records, shape: Shape) -> list[ColumnElement[bool]]:
    conditions, fits_any = shape
    asked = [(paths, predicate, f"v{place}") for place, (paths, predicate) in enumerate(conditions)]
    together = or_ if fits_any else and_
    return [*_shown(records), *([together(*_clauses(records, asked, together))] if asked else [])]


def _clauses(records: Records, asked: Sequence[_Asked], together: Callable[..., Any]) -> list[ColumnElement[bool]]:
    """What is asked of the one record that ours names is asked at once: to plan a join for each takes half a second."""
    clauses, of_one = [], dict[str, list[_Asked]]()
    for paths, predicate, name in asked:
        first, *rest = paths[0]
        if len(paths) == 1 and rest and not records.kin[first].is_many:
            of_one.setdefault(first, []).append(((tuple(rest),), predicate, name))
        else:
            clauses.append(or_(*(_clause(records, path, predicate, name) for path in paths)))
    for first, theirs in of_one.items():
        kin = records.kin[first]
        clauses.append(_names(records, kin, together(*_clauses(kin.records, theirs, together))))
    return clauses


def _names(records: Records, kin: Kin, theirs: ColumnElement[bool]) -> ColumnElement[bool]:
    ours = records.extras[kin.column] if kin.column in records.extras else records.table.c[kin.column]
    return cast(ColumnElement[bool], ours.in_(select(kin.records.table.c.id).where(theirs)))


def _clause(records: Records, path: Path, predicate: str, name: str) -> ColumnElement[bool]:
    if len(path) > 1:
        kin = records.kin[path[0]]
        theirs = _clause(kin.records, path[1:], predicate, name)
        if kin.between is not None:
            fitting = select(kin.records.table.c.id).where(theirs, *kin.shown)
            named = select(kin.between.c[kin.column]).where(kin.between.c[kin.other].in_(fitting))
            return records.table.c.id.in_(named)
        if kin.is_many:
            named = select(kin.records.table.c[kin.column]).where(theirs, *kin.shown)
            return records.table.c.id.in_(named)
        return _names(records, kin, theirs)
    return _own_clause(records, path[0], predicate, name)


def _own_clause(records: Records, field: str, predicate: str, name: str) -> ColumnElement[bool]:
    column: Any = records.extras[field] if field in records.extras else records.searches.get(field)
    column = records.table.c[field] if column is None else column
    kind: Any = column.type
    if field in records.lookups and predicate in COMPARED:
        return records.lookups[field].fits(records.table.c.id, predicate, PREDICATES[predicate], name)
    if field in records.amounts:
        currency = records.extras.get("currency", records.table.c.get("currency"))
        return compare_amount(column, currency, predicate, name)
    if predicate in {"in", "not_in"}:
        kind = ARRAY(kind)
    value = bindparam(name, type_=Text() if predicate in PATTERNS else kind)
    clause = PREDICATES[predicate](column, value)
    if records.hour and field == "updated_at" and predicate in COMPARED - {"in"}:
        return and_(clause, within_hours(records.table.c[records.hour], predicate, value))
    return clause
