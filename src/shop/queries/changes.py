"""Which statements change a record of any declared table by the columns that are given."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast
from uuid import UUID

from sqlalchemy import ForeignKeyConstraint, Table, bindparam, delete, func, update
from sqlalchemy.dialects.postgresql import insert

from shop.db.pool import Session
from shop.db.statements import Statement, shaped_statement


async def insert_record(db: Session, table: Table, record_id: UUID, values: Mapping[str, Any]) -> None:
    given = {"id": record_id, **values}
    await db.one(_insert(table, tuple(sorted(given))), **_bound(given))


async def update_record(db: Session, table: Table, record_id: UUID, values: Mapping[str, Any]) -> None:
    await db.one(_update(table, tuple(sorted(values))), **_bound(values), record_id=record_id)


async def delete_record(db: Session, table: Table, record_id: UUID) -> bool:
    return await db.one(_delete(table), record_id=record_id) is not None


def columns_of(table: Table, constraint: str) -> tuple[str, ...]:
    """The columns that a constraint of this table speaks of; none for another table's."""
    found = next((item for item in table.constraints if item.name == constraint), None)
    if isinstance(found, ForeignKeyConstraint):
        return tuple(found.column_keys)
    return tuple(column.name for column in getattr(found, "columns", ()))


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
