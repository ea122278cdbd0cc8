"""Migrations run while the shop serves: no statement waits long for a lock or holds one for long."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from time import monotonic

import asyncpg
import pytest
from alembic import command
from alembic.script import ScriptDirectory

from shop.migrations.online_rules import find_violations
from shop.migrations.upgrade import alembic_config, current_revision, list_statements, newest_revision, upgrade
from tests.service import KEYS, SHOP, clean_environ

LAST_UNCHECKED = "0050"

ONLINE = [
    ["create table brands (id uuid not null)", "create index ix_brands on brands (id)", "insert into brands select 1"],
    ["alter table orders add column note text"],
    ["alter table orders add column note text default '' not null, add column size bigint default -1"],
    ["ALTER TABLE orders ADD COLUMN tags TEXT[] DEFAULT '{}'::text[] NOT NULL"],
    ["alter table orders add column changed_at timestamp with time zone default now()"],
    ["create index concurrently ix_orders_note on orders (note)"],
    ["alter table orders add constraint ck_note check (note <> '') not valid", "alter table orders drop constraint x"],
    ["alter table orders validate constraint ck_note"],
    ["alter table orders alter column note drop not null"],
    ["insert into shop_settings (name) values ('x')"],
    ["BEGIN", "UPDATE alembic_version SET version_num='2' WHERE alembic_version.version_num = '1'", "COMMIT"],
]
OFFLINE = [
    ["create index ix_orders_note on orders (note)"],
    ["drop index ix_orders_note"],
    ["alter table orders add column id2 uuid default gen_random_uuid()"],
    ["alter table orders add column user_id uuid references users (id)"],
    ["alter table orders add column number bigserial"],
    ["alter table orders add column note text, add column sum bigint generated always as (1) stored"],
    ["alter table orders add constraint ck_note check (note <> '')"],
    ["alter table orders alter column note type varchar(20)"],
    ["alter table orders alter column note set not null"],
    ["alter table orders drop column note"],
    ["alter table orders rename column note to notes"],
    ["alter table orders rename to purchases"],
    ["drop table orders"],
    ["update orders set note = ''"],
    ["delete from orders"],
    ["insert into order_notes select id from orders"],
    ["truncate orders"],
    ["create index concurrently ix_orders_note on orders (note)", "alter table orders add column note text"],
    ["alter table orders validate constraint ck_note", "alter table orders add column note text"],
]


def test_migrations_are_online_unless_they_say_why_not() -> None:
    script = ScriptDirectory.from_config(alembic_config(""))
    revisions = [each for each in script.walk_revisions(LAST_UNCHECKED, "head") if each.revision != LAST_UNCHECKED]
    violations = {
        each.revision: problems
        for each in revisions
        if "# offline: " not in Path(each.path).read_text()
        and (problems := find_violations(list_statements(each.revision)))
    }

    assert not violations, "see docs/upgrading.md"


@pytest.mark.parametrize("statements", ONLINE)
def test_statements_that_can_run_while_the_shop_serves(statements: list[str]) -> None:
    assert find_violations(statements) == []


@pytest.mark.parametrize("statements", OFFLINE)
def test_statements_that_would_stop_the_shop_are_refused(statements: list[str]) -> None:
    assert find_violations(statements)


async def new_outdated_database(own_database: Callable[..., str]) -> str:
    """A database that lacks the migration whose statement needs a lock of `users`, and all later ones."""
    url = own_database(template="template0")
    await asyncio.to_thread(command.upgrade, alembic_config(url), "0049")
    return url


async def test_a_migration_that_waits_for_a_lock_does_not_block_writes(own_database: Callable[..., str]) -> None:
    url = await new_outdated_database(own_database)
    connection, writer = await asyncpg.connect(url), await asyncpg.connect(url)
    retries: list[float] = []
    transaction = connection.transaction()
    await transaction.start()
    await connection.execute("lock table users in row exclusive mode")
    migration = asyncio.create_task(asyncio.to_thread(upgrade, url, on_retry=lambda: retries.append(monotonic())))

    # Each of these writes would wait for the migration, which waits for the open transaction.
    await writer.execute("set lock_timeout = '5s'")
    while len(retries) < 3:
        await writer.execute("update users set updated_at = now() where false")
    is_waiting = not migration.done()
    await transaction.rollback()
    await migration

    assert is_waiting
    assert await current_revision(url) == newest_revision()
    await connection.close()
    await writer.close()


async def test_the_plan_shows_the_statements_and_changes_nothing(own_database: Callable[..., str]) -> None:
    url = await new_outdated_database(own_database)
    environ = clean_environ(SHOP_DATABASE_URL=url, SHOP_SECRET_KEYS=KEYS)

    async def run(*arguments: str) -> str:
        process = await asyncio.create_subprocess_exec(
            SHOP, "migrate", *arguments, env=environ, stdout=asyncio.subprocess.PIPE
        )
        output, _ = await process.communicate()
        assert process.returncode == 0
        return output.decode()

    plan = await run("--plan")
    assert "-- revision 0050\nBEGIN;\nCREATE INDEX ix_users_tagged ON users (created_at) WHERE tags <> '{}';" in plan
    assert await current_revision(url) == "0049"
    await run()
    assert await run("--plan") == f"-- The database is up to date (revision {newest_revision()}).\n"
