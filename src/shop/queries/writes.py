"""Statements that insert, update and delete records of any declared table."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, cast
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKeyConstraint, Table, bindparam, delete, func, select, update
from sqlalchemy import all_ as sql_all
from sqlalchemy import column as sql_column
from sqlalchemy.dialects.postgresql import ARRAY, insert

from shop.base.ids import new_id
from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, dynamic_statement, statement

_LOCK_FORM = statement(select(func.pg_advisory_xact_lock(bindparam("form_key", type_=BigInteger))), lambda record: True)


async def insert_record(db: DatabaseSession, table: Table, record_id: UUID, values: Mapping[str, Any]) -> None:
    fields = {"id": record_id, **values}
    await db.one(_insert(table, tuple(sorted(fields))), **_parameters(fields))


async def lock_form(db: DatabaseSession, form_id: UUID) -> None:
    """Waits for a concurrent transaction that creates the record of the same form; locks until the transaction ends."""
    await db.one(_LOCK_FORM, form_key=int.from_bytes(form_id.bytes[8:], "big", signed=True))


async def update_record(db: DatabaseSession, table: Table, record_id: UUID, values: Mapping[str, Any]) -> None:
    await db.one(_update(table, tuple(sorted(values))), **_parameters(values), record_id=record_id)


async def delete_record(db: DatabaseSession, table: Table, record_id: UUID) -> bool:
    return await db.one(_delete(table), record_id=record_id) is not None


async def find_value(db: DatabaseSession, table: Table, record_id: UUID, name: str) -> Any:
    """Returns one column of a record."""
    return await db.one(_value(table, name), record_id=record_id)


@lru_cache(maxsize=64)
def _value(table: Table, name: str) -> Statement[Any]:
    clause = select(table.c[name]).where(table.c.id == bindparam("record_id", type_=table.c.id.type))
    return dynamic_statement(clause, lambda record: record[0])


async def replace_links(
    db: DatabaseSession,
    table: Table,
    owner: tuple[str, UUID],
    other: str,
    ids: Sequence[UUID],
    *,
    is_ordered: bool = False,
) -> None:
    """Replaces the links of one record in a join table, in this order if `is_ordered`."""
    column, owner_id = owner
    await db.all(_unlink(table, column, other), owner_id=owner_id, kept=list(ids))
    if ids:
        new_ids = [new_id() for _ in ids]
        await db.all(_link(table, column, other, is_ordered), owner_id=owner_id, others=list(ids), new_ids=new_ids)


@lru_cache(maxsize=64)
def _unlink(table: Table, column: str, other: str) -> Statement[UUID]:
    keep_ids = bindparam("kept", type_=ARRAY(table.c[other].type))
    clause = delete(table).where(
        table.c[column] == bindparam("owner_id", type_=table.c[column].type),
        # A join table may link its owner to more than one kind of record.
        table.c[other].is_not(None),
        table.c[other] != sql_all(keep_ids),
    )
    return dynamic_statement(clause.returning(table.c.id), lambda record: cast(UUID, record[0]))


@lru_cache(maxsize=64)
def _link(table: Table, column: str, other: str, is_ordered: bool) -> Statement[UUID]:
    kind = ARRAY(table.c.id.type)
    arrays = func.unnest(bindparam("new_ids", type_=kind), bindparam("others", type_=kind))
    rows = arrays.table_valued(
        sql_column("id", table.c.id.type), sql_column("other", table.c.id.type), with_ordinality="position", name="rows"
    ).render_derived()
    owner = bindparam("owner_id", type_=table.c[column].type)
    values = {"id": rows.c.id, column: owner, other: rows.c.other, "created_at": func.now(), "updated_at": func.now()}
    if is_ordered:
        values["position"] = rows.c.position
    insert_clause = insert(table).from_select(list(values), select(*values.values()))
    updates = {"position": insert_clause.excluded.position} if is_ordered else {"updated_at": table.c.updated_at}
    clause = insert_clause.on_conflict_do_update(index_elements=[column, other], set_=updates)
    return dynamic_statement(clause.returning(table.c.id), lambda record: cast(UUID, record[0]))


def columns_of(table: Table, constraint: str) -> tuple[str, ...]:
    """Returns the columns of a constraint; empty if it belongs to another table."""
    candidates: tuple[Any, ...] = (*table.constraints, *table.indexes)
    schema_item = next((item for item in candidates if item.name == constraint), None)
    if isinstance(schema_item, ForeignKeyConstraint):
        return tuple(schema_item.column_keys)
    return tuple(column.name for column in getattr(schema_item, "columns", ()))


def fields_of(table: Table, constraint: str) -> tuple[str, ...]:
    """Returns the field names of a constraint's columns in the API; links of other tables are lists of ids."""
    columns = columns_of(table, constraint)
    if columns:
        return columns
    for other in table.metadata.tables.values():
        if names := columns_of(other, constraint):
            return tuple(f"{name}s" if name.endswith("_id") else name for name in names)
    return ()


def _parameters(values: Mapping[str, Any]) -> dict[str, Any]:
    return {f"new_{name}": value for name, value in values.items()}


def _new(table: Table, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: bindparam(f"new_{name}", type_=table.c[name].type) for name in names}


@lru_cache(maxsize=512)
def _insert(table: Table, names: tuple[str, ...]) -> Statement[UUID]:
    stamps = {name: func.now() for name in ("created_at", "updated_at") if name in table.c}
    clause = insert(table).values(**_new(table, names), **stamps).returning(table.c.id)
    return dynamic_statement(clause, lambda record: cast(UUID, record[0]))


@lru_cache(maxsize=512)
def _update(table: Table, names: tuple[str, ...]) -> Statement[UUID]:
    stamps = {"updated_at": func.now()} if "updated_at" in table.c else {}
    clause = update(table).where(table.c.id == bindparam("record_id", type_=table.c.id.type))
    return dynamic_statement(
        clause.values(**_new(table, names), **stamps).returning(table.c.id), lambda record: cast(UUID, record[0])
    )


@lru_cache(maxsize=512)
def _delete(table: Table) -> Statement[UUID]:
    clause = delete(table).where(table.c.id == bindparam("record_id", type_=table.c.id.type)).returning(table.c.id)
    return dynamic_statement(clause, lambda record: cast(UUID, record[0]))
