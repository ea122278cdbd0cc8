"""Migrations match the declared tables, several processes may run them at once, and every statement fits the schema."""

import asyncio
import pkgutil
import subprocess
from collections.abc import Callable
from importlib import import_module
from typing import Any

import asyncpg
import pytest
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

import shop.models
import shop.queries
from shop.db.rows import metadata
from shop.db.statements import STATEMENTS
from shop.migrations.upgrade import (
    MODEL_MODULES,
    PARTITION,
    alembic_config,
    current_revision,
    list_revisions,
    newest_revision,
    upgrade,
)
from tests.service import KEYS, SHOP, clean_environ

# The schema as the database has it: `alembic check` does not compare CHECK constraints or predicates of indexes.
SCHEMA_QUERIES = {
    "columns": """select table_name, column_name, data_type, is_nullable, column_default from information_schema.columns
        where table_schema = 'public' order by 1, 2""",
    "constraints": """select conrelid::regclass::text, conname, pg_get_constraintdef(oid) from pg_constraint
        where connamespace = 'public'::regnamespace order by 1, 2""",
    "indexes": "select tablename, indexname, indexdef from pg_indexes where schemaname = 'public' order by 1, 2",
    "options": """select relname, reloptions from pg_class
        where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1""",
}


# Columns that an INSERT must name: without a default, and not filled by the database.
REQUIRED_COLUMNS = """select table_name || '.' || column_name from information_schema.columns
    where table_schema = 'public' and is_nullable = 'NO' and column_default is null
    and is_identity = 'NO' and is_generated = 'NEVER'"""
LAST_UNCHECKED = "0024"
"""The newest migration of the first release: no process of an older version runs while it is applied."""


async def read_required_columns(url: str) -> set[str]:
    connection = await asyncpg.connect(url)
    try:
        return {row[0] for row in await connection.fetch(REQUIRED_COLUMNS)}
    finally:
        await connection.close()


def find_new_required_columns(before: set[str], after: set[str]) -> list[str]:
    """Returns the columns that processes of the previous version do not fill; a table that is new they do not use."""
    tables = {column.partition(".")[0] for column in before}
    return sorted(column for column in after - before if column.partition(".")[0] in tables)


def modules_of(package: Any) -> list[str]:
    modules = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    return [module.name for module in modules if not module.ispkg]


async def read_schema(url: str) -> dict[str, list[tuple[Any, ...]]]:
    connection = await asyncpg.connect(url)
    try:
        rows_by_name = {
            name: [tuple(row) for row in await connection.fetch(query)] for name, query in SCHEMA_QUERIES.items()
        }
    finally:
        await connection.close()
    return {
        name: [row for row in rows if row[0] != "alembic_version" and not PARTITION.fullmatch(row[0])]
        for name, rows in rows_by_name.items()
    }


def test_alembic_finds_no_missing_migration(database_url: str) -> None:
    command.check(alembic_config(database_url))


async def test_the_migrated_schema_equals_the_declared_tables(
    own_database: Callable[..., str], database_url: str
) -> None:
    url = own_database(template="template0")
    for module in MODEL_MODULES:
        import_module(module)
    engine = create_async_engine("postgresql+asyncpg://", async_creator=lambda: asyncpg.connect(url))
    async with engine.begin() as connection:
        await connection.run_sync(metadata.create_all)
        await connection.execute(text("select 1"))
    await engine.dispose()

    assert await read_schema(url) == await read_schema(database_url)


async def test_every_statement_can_be_prepared_against_the_migrated_schema(db: Any) -> None:
    for module in modules_of(shop.queries):
        import_module(module)

    assert STATEMENTS
    for statement in STATEMENTS:
        await db.prepare(statement.sql)


@pytest.mark.torture
def test_four_concurrent_migrations_all_succeed(own_database: Callable[..., str]) -> None:
    url = own_database(template="template0")
    environ = clean_environ(SHOP_DATABASE_URL=url, SHOP_SECRET_KEYS=KEYS)
    running = [
        subprocess.Popen([SHOP, "migrate"], env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for _ in range(4)
    ]

    # Generous: four starts need 13 s of CPU, and a busy machine leaves little of it.
    outputs = [process.communicate(timeout=300)[0] for process in running]

    assert [process.returncode for process in running] == [0, 0, 0, 0], outputs
    assert asyncio.run(current_revision(url)) == newest_revision()


async def test_a_database_ahead_of_this_program_is_not_changed(own_database: Callable[..., str]) -> None:
    url = own_database()
    connection = await asyncpg.connect(url)
    await connection.execute("update alembic_version set version_num = 'ffff'")
    await connection.close()

    await asyncio.to_thread(upgrade, url)

    assert await current_revision(url) == "ffff"


@pytest.mark.parametrize("column", ["total", "item_total"])
async def test_inconsistent_totals_are_refused_by_the_database(db: Any, column: str) -> None:
    insert = f"""insert into orders (id, number, currency, created_at, updated_at, {column})
        values (gen_random_uuid(), $1, 'USD', now(), now(), 5)"""
    with pytest.raises(asyncpg.CheckViolationError):
        await db.execute(insert, f"X{column}")


async def test_the_previous_version_can_insert_after_each_migration(own_database: Callable[..., str]) -> None:
    """In a rolling upgrade, processes of the previous version work with the new schema until they are replaced."""
    script = ScriptDirectory.from_config(alembic_config(""))
    revisions = [each.revision for each in script.walk_revisions(LAST_UNCHECKED, "head")][::-1]
    url = own_database(template="template0") if len(revisions) > 1 else ""
    before: set[str] = set()

    for revision in revisions if url else ():
        await asyncio.to_thread(command.upgrade, alembic_config(url), revision)
        after = await read_required_columns(url)
        columns = find_new_required_columns(before, after)
        assert not before or not columns, (
            f"migration {revision} requires {', '.join(columns)}: INSERTs of the previous version would fail. "
            "Add a server default, or allow NULL and require the column in the next release."
        )
        before = after


CHANGES = {
    "alter table policies add column author text not null": ["policies.author"],
    "alter table policies alter column body set not null": ["policies.body"],
    "alter table policies add column author text not null default ''": [],
    "alter table policies add column author text": [],
    "alter table policies add column number bigint generated always as identity": [],
    "create table brands (id uuid not null, name text not null)": [],
}


async def test_a_column_that_becomes_required_is_found(own_database: Callable[..., str]) -> None:
    url = own_database()
    before = await read_required_columns(url)
    connection = await asyncpg.connect(url)
    columns = {}

    for change in CHANGES:
        transaction = connection.transaction()
        await transaction.start()
        await connection.execute(change)
        after = {row[0] for row in await connection.fetch(REQUIRED_COLUMNS)}
        columns[change] = find_new_required_columns(before, after)
        await transaction.rollback()
    await connection.close()

    assert columns == CHANGES


def test_the_names_of_the_files_are_the_revisions_in_their_order() -> None:
    revisions = ScriptDirectory.from_config(alembic_config("")).walk_revisions()

    assert list_revisions() == [each.revision for each in revisions][::-1]
