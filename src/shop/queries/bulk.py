"""Bulk statements that write many rows of a table at once, passed as JSON and converted to the table's column types."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    Boolean,
    ColumnElement,
    Table,
    bindparam,
    column,
    delete,
    func,
    literal_column,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import JSONB, insert
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.base.errors import TransactionConflict
from shop.db.pool import DatabaseSession
from shop.db.rows import metadata
from shop.db.statements import Statement, any_of, dynamic_statement, parameter_rows, statement
from shop.models.catalog.products import variants
from shop.models.catalog.stock import stock_items
from shop.rules.imports.rows import Recount

Row = Mapping[str, Any]
_ID = PG_UUID(as_uuid=True)


def _first(record: Any) -> UUID:
    return cast(UUID, record[0])


async def insert_rows(db: DatabaseSession, table: str, rows: Sequence[Row]) -> None:
    """Inserts rows in the given order."""
    for names, batch in _by_names(rows).items():
        await db.all(_insert(metadata.tables[table], names), rows=batch)


async def insert_history(db: DatabaseSession, table: str, rows: Sequence[Row]) -> None:
    """Inserts rows with their own times of creation and update, instead of the current time."""
    for names, batch in _by_names(rows).items():
        await db.all(_insert(metadata.tables[table], names, keeps_times=True), rows=batch)


async def insert_missing(db: DatabaseSession, table: str, rows: Sequence[Row]) -> list[UUID]:
    """Inserts rows and skips those that conflict with existing ones; returns the ids of the inserted ones."""
    ids: list[UUID] = []
    for names, batch in _by_names(rows).items():
        ids += await db.all(_insert(metadata.tables[table], names, skips_conflicts=True), rows=batch)
    return ids


async def update_rows(db: DatabaseSession, table: str, rows: Sequence[Row]) -> None:
    """Updates each row by its id, in the columns it contains."""
    for names, batch in _by_names(rows).items():
        await db.all(_update(metadata.tables[table], names), rows=batch)


async def delete_rows(db: DatabaseSession, table: str, ids: Sequence[UUID]) -> None:
    if ids:
        await db.all(_delete(metadata.tables[table]), ids=list(ids))


async def remove_variants(db: DatabaseSession, ids: Sequence[UUID]) -> None:
    """Soft-deletes variants, as removing their product does."""
    if ids:
        await db.all(_REMOVE_VARIANTS, ids=list(ids))


async def recount(db: DatabaseSession, counts: Sequence[Recount]) -> None:
    """Sets stock counts; raises `Lost` when a count changed since it was read, so that the caller retries."""
    if not counts:
        return
    updated_ids = await db.all(
        _RECOUNT,
        id=[count.item_id for count in counts],
        before=[count.before for count in counts],
        after=[count.after for count in counts],
        backorderable=[count.backorderable for count in counts],
    )
    if len(updated_ids) != len(counts):
        raise TransactionConflict()


def _by_names(rows: Iterable[Row]) -> dict[tuple[str, ...], list[Row]]:
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(sorted(row)), []).append(row)
    return groups


def _rows_table(table: Table, names: Iterable[str], parameter: str = "rows") -> Any:
    """Returns the parameter as rows of the table."""
    read = func.jsonb_populate_recordset(literal_column(f"null::{table.name}"), bindparam(parameter, type_=JSONB))
    return read.table_valued(*(column(name, table.c[name].type) for name in names), name="given")


def insert_clause(
    table: Table,
    names: tuple[str, ...],
    parameter: str = "rows",
    *conditions: ColumnElement[bool],
    keeps_times: bool = False,
) -> Any:
    """Returns an INSERT of the rows that the parameter has as JSON, if the conditions hold."""
    source = _rows_table(table, names, parameter)
    values = {name: source.c[name] for name in names}
    if not keeps_times:
        values |= {name: func.now() for name in ("created_at", "updated_at") if name in table.c}
    return insert(table).from_select(list(values), select(*values.values()).where(*conditions))


@lru_cache(maxsize=256)
def _insert(
    table: Table, names: tuple[str, ...], *, skips_conflicts: bool = False, keeps_times: bool = False
) -> Statement[UUID]:
    clause = insert_clause(table, names, keeps_times=keeps_times)
    return dynamic_statement(
        (clause.on_conflict_do_nothing() if skips_conflicts else clause).returning(table.c.id), _first
    )


@lru_cache(maxsize=256)
def _update(table: Table, names: tuple[str, ...]) -> Statement[UUID]:
    source = _rows_table(table, names)
    values = {name: source.c[name] for name in names if name != "id"}
    values |= {"updated_at": func.now()} if "updated_at" in table.c else {}
    return dynamic_statement(
        update(table).where(table.c.id == source.c.id).values(values).returning(table.c.id), _first
    )


@lru_cache(maxsize=64)
def _delete(table: Table) -> Statement[UUID]:
    these = any_of("ids", _ID)
    return dynamic_statement(delete(table).where(table.c.id == these).returning(table.c.id), _first)


_REMOVE_VARIANTS = statement(
    update(variants)
    .where(variants.c.id == any_of("ids", _ID))
    .values(deleted_at=func.now(), updated_at=func.now())
    .returning(variants.c.id),
    _first,
)
_recounts = parameter_rows(id=_ID, before=BigInteger(), after=BigInteger(), backorderable=Boolean())
_RECOUNT = statement(
    update(stock_items)
    .where(stock_items.c.id == _recounts.c.id, stock_items.c.count_on_hand == _recounts.c.before)
    .values(count_on_hand=_recounts.c.after, backorderable=_recounts.c.backorderable, updated_at=func.now())
    .returning(stock_items.c.id),
    _first,
)
