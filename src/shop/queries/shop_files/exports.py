"""Reads the rows of a table as JSON lines."""

from collections.abc import Callable, Sequence
from typing import Any, cast

from sqlalchemy import ColumnElement, LargeBinary, Numeric, Table, Text, func, literal_column, select
from sqlalchemy import cast as sql_cast

from shop.db.pool import DatabaseSession
from shop.db.statements import dynamic_statement, statement

_LIFT_LIMITS = statement(
    select(
        func.set_config("statement_timeout", "0", True),
        func.set_config("idle_in_transaction_session_timeout", "0", True),
        func.set_config("lock_timeout", "30s", True),
    ),
    lambda record: cast(str, record[0]),
)
_NOW = statement(
    select(func.to_char(func.now(), literal_column("""'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'"""))),
    lambda record: cast(str, record[0]),
)


async def lift_time_limits(db: DatabaseSession) -> None:
    """Lets the statements of this transaction, and the pauses between them, take any time; locks take 30 seconds."""
    db.seconds = float("inf")
    await db.one(_LIFT_LIMITS)


async def read_time(db: DatabaseSession) -> str:
    """Returns the time of the transaction, in UTC."""
    return cast(str, await db.one(_NOW))


async def copy_rows(db: DatabaseSession, table: Table, columns: Sequence[str], write: Callable[[bytes], None]) -> None:
    """Streams the rows as JSON lines, ordered by primary key."""
    rest = b""

    async def unescape(data: bytes) -> None:
        nonlocal rest
        # COPY escapes only backslashes: JSON text contains no other character that it escapes.
        lines, newline, rest = (rest + data).rpartition(b"\n")
        write((lines + newline).replace(b"\\\\", b"\\"))

    await db.copy_out(_select_lines(table, columns), unescape)


def _select_lines(table: Table, columns: Sequence[str]) -> str:
    row = select(*(as_json(table.c[name]).label(name) for name in columns)).order_by(*table.primary_key.columns)
    lines = row.subquery("line")
    return dynamic_statement(
        select(sql_cast(func.row_to_json(lines.table_valued()), Text)), lambda record: record[0]
    ).sql


def as_json(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """Returns bytes as base64 and decimal numbers as text, so that no reader rounds them; others as they are."""
    if isinstance(column.type, Numeric):
        return sql_cast(column, Text)
    if isinstance(column.type, LargeBinary):
        base64_text = func.encode(column, literal_column("'base64'"))
        return func.translate(base64_text, literal_column("E'\\n'"), literal_column("''"))
    return column
