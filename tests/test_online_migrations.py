"""Migrations run while the shop serves: no statement waits long for a lock or holds one for long."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from time import monotonic

import asyncpg
import pytest
from alembic import command
from alembic.script import ScriptDirectory

from shop.actions.backups.copies import CopyFigures, list_differences
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


async def run_shop(url: str, *arguments: str) -> tuple[int | None, str]:
    """The exit status and the output of a command."""
    process = await asyncio.create_subprocess_exec(
        SHOP,
        *arguments,
        env=clean_environ(SHOP_DATABASE_URL=url, SHOP_SECRET_KEYS=KEYS),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    output, _ = await process.communicate()
    return process.returncode, output.decode()


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
    _, plan = await run_shop(url, "migrate", "--plan")
    assert "-- revision 0050\nBEGIN;\nCREATE INDEX ix_users_tagged ON users (created_at) WHERE tags <> '{}';" in plan
    assert await current_revision(url) == "0049"
    assert (await run_shop(url, "migrate"))[0] == 0
    assert (await run_shop(url, "migrate", "--plan"))[
        1
    ] == f"-- The database is up to date (revision {newest_revision()}).\n"


async def test_a_rehearsal_migrates_a_copy_and_reports_its_locks(own_database: Callable[..., str]) -> None:
    url = await new_outdated_database(own_database)

    status, output = await run_shop(url, "upgrade", "--rehearse")

    assert (status, output.splitlines()[-1]) == (0, "The rehearsal succeeded.")
    steps = output.split("Lists the tags of customers without reading all customers.\n")[1].splitlines()
    assert steps[0].strip() == "users Share"
    assert f"  {newest_revision()}  " in output
    assert "  ok    row counts and totals" in output
    assert await current_revision(url) == "0049"


async def test_an_upgrade_says_what_it_needs(own_database: Callable[..., str]) -> None:
    _, outdated = await run_shop(await new_outdated_database(own_database), "upgrade")
    _, current = await run_shop(own_database(), "upgrade")

    assert f"from revision 0049 to {newest_revision()}:\n  shop backup " in outdated
    assert "up to date" in current


def test_a_rehearsal_finds_rows_and_money_that_a_migration_lost() -> None:
    before = CopyFigures({"orders": 3, "carts": 2}, {"orders in USD": "500", "stock": "7"})
    after = CopyFigures({"orders": 2, "carts": 2, "brands": 1}, {"orders in USD": "400", "stock": "7"})

    assert list_differences(before, before) == []
    assert list_differences(before, after) == [
        "orders has 2 rows instead of 3",
        "orders in USD: 400 instead of 500",
    ]
