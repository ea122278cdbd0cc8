"""Statements that count the records of any declared table."""

from functools import lru_cache
from typing import Any, cast

import msgspec
from sqlalchemy import func, select

from shop.base.listing import ListQuery
from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, dynamic_statement, explain
from shop.queries.records import Records, Shape, shape_of, values_of, where_clauses

EXACT = 10_000
"""Totals are counted up to this number; above it the planner's estimate is used."""


async def count_records(db: DatabaseSession, records: Records, criteria: ListQuery) -> tuple[int, bool]:
    """Returns the total number of records and whether it is an estimate."""
    shape, values = shape_of(criteria), values_of(criteria.conditions)
    count = await db.one(_count_statement(records, shape), **values) or 0
    if count <= EXACT:
        return count, False
    return max(await db.one(_estimate_statement(records, shape), **values) or 0, EXACT + 1), True


@lru_cache(maxsize=512)
def _count_statement(records: Records, shape: Shape) -> Statement[int]:
    sample = select(records.table.c.id).where(*where_clauses(records, shape)).limit(EXACT + 1).subquery()
    return dynamic_statement(select(func.count()).select_from(sample), lambda record: cast(int, record[0]))


@lru_cache(maxsize=512)
def _estimate_statement(records: Records, shape: Shape) -> Statement[int]:
    return explain(select(records.table.c.id).where(*where_clauses(records, shape)), plan_rows)


def plan_rows(record: Any) -> int:
    return int(msgspec.json.decode(record[0])[0]["Plan"]["Plan Rows"])
