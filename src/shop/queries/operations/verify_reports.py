"""Compares the daily figures of reports with the orders, payments and refunds of the day."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from sqlalchemy import Date, Table, Text, and_, bindparam, func, literal, or_, select
from sqlalchemy import cast as sql_cast

from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, statement
from shop.queries.operations.report_sources import SOURCES
from shop.queries.operations.verify_promotions import Finding

_day = sql_cast(bindparam("day"), Date)


def _build_check(table: Table, source: Any) -> Statement[Finding]:
    """Builds a check that returns the figures of a day that differ, are missing, or should not exist."""
    keys = [column.name for column in table.primary_key.columns]
    figures = [column.name for column in table.c if column.name not in keys]
    stored_rows, expected = (
        select(table).where(table.c.day == _day).subquery("stored_rows"),
        source.subquery("expected"),
    )
    is_same_key = and_(*(stored_rows.c[name] == expected.c[name] for name in keys))
    label = func.concat_ws(
        " ", *(sql_cast(func.coalesce(stored_rows.c[name], expected.c[name]), Text()) for name in keys), type_=Text()
    )
    message = func.concat(
        literal(f"{table.name} has ", Text()),
        func.concat_ws(", ", *(func.coalesce(sql_cast(stored_rows.c[name], Text()), "none") for name in figures)),
        literal(", but the day has ", Text()),
        func.concat_ws(", ", *(func.coalesce(sql_cast(expected.c[name], Text()), "none") for name in figures)),
        literal(f" ({', '.join(figures)})", Text()),
    )
    return statement(
        select(label, message)
        .select_from(stored_rows.join(expected, is_same_key, full=True))
        .where(or_(*(stored_rows.c[name].is_distinct_from(expected.c[name]) for name in figures))),
        lambda record: (str(record[0]), str(record[1])),
    )


_CHECKS: Mapping[str, Statement[Finding]] = {table.name: _build_check(table, query) for table, query in SOURCES.items()}


async def list_day_findings(db: DatabaseSession, day: date, bounds: tuple[datetime, datetime]) -> list[Finding]:
    """Returns the figures of a day that its orders, payments and refunds do not give."""
    findings: list[Finding] = []
    for check in _CHECKS.values():
        findings += await db.all(check, day=day, starts_at=bounds[0], ends_at=bounds[1])
    return findings
