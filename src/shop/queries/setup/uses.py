"""Counts the rows that refer to a record and prevent its deletion."""

from functools import lru_cache
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, Table, bindparam, func, literal_column, select, union_all

from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, dynamic_statement, into

COUNT_LIMIT = 1000


class Use(msgspec.Struct, frozen=True):
    """A table that refers to a record, with the number of its rows, at most one more than COUNT_LIMIT."""

    table: str
    count: int


async def list_uses(db: DatabaseSession, table: Table, record_id: UUID) -> list[Use]:
    """Returns the tables whose rows refer to a record, without those that are deleted together with it."""
    uses = _uses_statement(table)
    return [each for each in await db.all(uses, record_id=record_id) if each.count] if uses else []


@lru_cache(maxsize=32)
def _uses_statement(table: Table) -> Statement[Use] | None:
    columns = [
        (other, column)
        for other in sorted(table.metadata.tables.values(), key=lambda each: each.name)
        for column in other.c
        for key in column.foreign_keys
        if key.column is table.c.id and key.ondelete is None
    ]
    counts = [_count(other, column) for other, column in columns]
    return dynamic_statement(union_all(*counts) if len(counts) > 1 else counts[0], into(Use)) if counts else None


def _count(table: Table, column: Any) -> Any:
    limit: Any = literal_column(str(COUNT_LIMIT + 1))
    rows: Any = select(literal_column("1")).where(column == bindparam("record_id", type_=column.type)).limit(limit)
    count: Any = func.count(type_=BigInteger).label("count")
    return select(literal_column(f"'{table.name}'").label("table"), count).select_from(rows.subquery())
