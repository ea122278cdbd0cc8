"""Which statements change a record of any declared table by the columns that are given."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, cast
from uuid import UUID

from sqlalchemy import ForeignKeyConstraint, Table, bindparam, delete, func, select, update
from sqlalchemy import all_ as sql_all
from sqlalchemy import column as sql_column
from sqlalchemy.dialects.postgresql import ARRAY, insert

from shop.base.ids import new_id
from shop.db.pool import Session
from shop.db.statements import Statement, shaped_statement


async def insert_record(db: Session, table: Table, record_id: UUID, values: Mapping[str, Any]) -> None:
    given = {"id": record_id, **values}
    await db.one(_insert(table, tuple(sorted(given))), **_bound(given))


async def update_record(db: Session, table: Table, record_id: UUID, values: Mapping[str, Any]) -> None:
    await db.one(_update(table, tuple(sorted(values))), **_bound(values), record_id=record_id)


async def delete_record(db: Session, table: Table, record_id: UUID) -> bool:
    return await db.one(_delete(table), record_id=record_id) is not None


async def find_value(db: Session, table: Table, record_id: UUID, name: str) -> Any:
    """One column of a record."""
    return await db.one(_value(table, name), record_id=record_id)


@lru_cache(maxsize=64)
def _value(table: Table, name: str) -> Statement[Any]:
    clause = select(table.c[name]).where(table.c.id == bindparam("record_id", type_=table.c.id.type))
    return shaped_statement(clause, lambda record: record[0])


async def replace_links(
    db: Session, table: Table, owner: tuple[str, UUID], other: str, ids: Sequence[UUID], *, is_ordered: bool = False
) -> None:
    """Of a table that joins two: those of one record are these afterwards, in this order where it is the owner's to
    say.
    """
    column, owner_id = owner
    await db.all(_unlink(table, column, other), owner_id=owner_id, kept=list(ids))
    if ids:
        new_ids = [new_id() for _ in ids]
        await db.all(_link(table, column, other, is_ordered), owner_id=owner_id, others=list(ids), new_ids=new_ids)


@lru_cache(maxsize=64)
def _unlink(table: Table, column: str, other: str) -> Statement[UUID]:
    kept = bindparam("kept", type_=ARRAY(table.c[other].type))
    clause = delete(table).where(
        table.c[column] == bindparam("owner_id", type_=table.c[column].type),
        # A table may join its owner with more than one kind of others.
        table.c[other].is_not(None),
        table.c[other] != sql_all(kept),
    )
    return shaped_statement(clause.returning(table.c.id), lambda record: cast(UUID, record[0]))


@lru_cache(maxsize=64)
def _link(table: Table, column: str, other: str, is_ordered: bool) -> Statement[UUID]:
    kind = ARRAY(table.c.id.type)
    given = func.unnest(bindparam("new_ids", type_=kind), bindparam("others", type_=kind))
    rows = given.table_valued(
        sql_column("id", table.c.id.type), sql_column("other", table.c.id.type), with_ordinality="place", name="rows"
    ).render_derived()
    owner = bindparam("owner_id", type_=table.c[column].type)
    values = {"id": rows.c.id, column: owner, other: rows.c.other, "created_at": func.now(), "updated_at": func.now()}
    if is_ordered:
        values["position"] = rows.c.place
    made = insert(table).from_select(list(values), select(*values.values()))
    changed = {"position": made.excluded.position} if is_ordered else {"updated_at": table.c.updated_at}
    clause = made.on_conflict_do_update(index_elements=[column, other], set_=changed)
    return shaped_statement(clause.returning(table.c.id), lambda record: cast(UUID, record[0]))


def columns_of(table: Table, constraint: str) -> tuple[str, ...]:
    """The columns that a constraint of this table speaks of; none for another table's."""
    named: tuple[Any, ...] = (*table.constraints, *table.indexes)
    found = next((item for item in named if item.name == constraint), None)
    if isinstance(found, ForeignKeyConstraint):
        return tuple(found.column_keys)
    return tuple(column.name for column in getattr(found, "columns", ()))


def fields_of(table: Table, constraint: str) -> tuple[str, ...]:
    """What a caller knows these columns as: a product's sku is its master's, and its links stand in lists of ids."""
    found = columns_of(table, constraint)
    if found:
        return found
    for other in table.metadata.tables.values():
        if names := columns_of(other, constraint):
            return tuple(f"{name}s" if name.endswith("_id") else name for name in names)
    return ()


def _bound(values: Mapping[str, Any]) -> dict[str, Any]:
    return {f"new_{name}": value for name, value in values.items()}


def _new(table: Table, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: bindparam(f"new_{name}", type_=table.c[name].type) for name in names}


@lru_cache(maxsize=512)
def _insert(table: Table, names: tuple[str, ...]) -> Statement[UUID]:
    stamps = {name: func.now() for name in ("created_at", "updated_at") if name in table.c}
    clause = insert(table).values(**_new(table, names), **stamps).returning(table.c.id)
    return shaped_statement(clause, lambda record: cast(UUID, record[0]))


@lru_cache(maxsize=512)
def _update(table: Table, names: tuple[str, ...]) -> Statement[UUID]:
    stamps = {"updated_at": func.now()} if "updated_at" in table.c else {}
    clause = update(table).where(table.c.id == bindparam("record_id", type_=table.c.id.type))
    return shaped_statement(
        clause.values(**_new(table, names), **stamps).returning(table.c.id), lambda record: cast(UUID, record[0])
    )


@lru_cache(maxsize=512)
def _delete(table: Table) -> Statement[UUID]:
    clause = delete(table).where(table.c.id == bindparam("record_id", type_=table.c.id.type)).returning(table.c.id)
    return shaped_statement(clause, lambda record: cast(UUID, record[0]))
