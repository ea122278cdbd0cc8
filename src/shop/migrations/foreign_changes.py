"""Refuses migrations of extensions that change anything but their own tables."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, text

# Columns, indexes, triggers and functions of everything but the extension's tables and the days of the event log.
_SCHEMA = """
    with foreign_tables as (
        select c.oid, c.relname from pg_class c
        where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'i', 'I', 'S', 'f')
            and c.relname not like :own_tables and c.relname not like :own_indexes
            and c.relname !~ '^(pk|fk|uq|ix|ck)_x_' and c.relname !~ '^events_(default|[0-9]{8})'
    )
    select 'table ' || relname from foreign_tables
    union all
    select 'column ' || t.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || ' '
            || a.attnotnull || ' ' || a.atthasdef
        from foreign_tables t join pg_attribute a on a.attrelid = t.oid where a.attnum > 0 and not a.attisdropped
    union all
    select 'constraint ' || t.relname || '.' || c.conname || ' ' || pg_get_constraintdef(c.oid)
        from foreign_tables t join pg_constraint c on c.conrelid = t.oid
    union all
    select 'trigger ' || t.relname || '.' || g.tgname
        from foreign_tables t join pg_trigger g on g.tgrelid = t.oid
    union all
    select 'function ' || p.oid::regprocedure::text || ' ' || md5(p.prosrc)
        from pg_proc p where p.pronamespace = current_schema()::regnamespace
"""


class ForeignChange(Exception):
    """A migration of an extension changes something that is not its own."""


def watch_changes(connection: Connection, name: str) -> Callable[..., None]:
    """Returns what Alembic calls at the end of each revision, in its transaction."""
    patterns = {"own_tables": rf"x\_{name}\_%", "own_indexes": rf"ix\_x\_{name}\_%"}

    def read_schema() -> set[str]:
        return {row[0] for row in connection.execute(text(_SCHEMA), patterns)}

    before = read_schema()
    connection.commit()

    def check(**_facts: Any) -> None:
        changes = sorted(before ^ read_schema())
        if changes:
            raise ForeignChange(f"its migration changes the {changes[0]}, which is not one of its own tables")

    return check
