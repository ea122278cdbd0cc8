"""Migrations run while the shop serves: no statement waits long for a lock or holds one for long."""

import asyncio
from collections.abc import Callable
from time import monotonic

import asyncpg
import pytest
from alembic import command
from alembic.script import ScriptDirectory

from shop.actions.backups.copies import CopyFigures, list_additions, list_differences
from shop.migrations.upgrade import alembic_config, current_revision, list_statements, newest_revision, upgrade
from tests.service import KEYS, SHOP, clean_environ


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


@pytest.mark.torture
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


def test_every_migration_has_a_title_and_can_be_planned() -> None:
    """The title is the first line, which `shop migrate` prints."""
    revisions = list(ScriptDirectory.from_config(alembic_config("")).walk_revisions())

    assert [each.revision for each in revisions if not each.doc.partition("\n")[0].endswith(".")] == []
    assert [each.revision for each in revisions if not list_statements(each.revision)] == []


@pytest.mark.torture
async def test_the_upgrade_from_the_first_release_is_rehearsed_without_a_problem(
    own_database: Callable[..., str],
) -> None:
    """Its migrations add a payment method and a shipping method, which is no problem."""
    url = own_database(template="template0")
    await asyncio.to_thread(command.upgrade, alembic_config(url), "0023")

    status, output = await run_shop(url, "upgrade", "--rehearse")

    assert (status, output.splitlines()[-1]) == (0, "The rehearsal succeeded.")
    assert "added by the migrations: shipping_methods has 1 rows instead of 0" in output


@pytest.mark.torture
async def test_a_rehearsal_migrates_a_copy_and_reports_its_locks(own_database: Callable[..., str]) -> None:
    url = await new_outdated_database(own_database)

    status, output = await run_shop(url, "upgrade", "--rehearse")

    assert (status, output.splitlines()[-1]) == (0, "The rehearsal succeeded.")
    steps = output.split("Lists the tags of customers without reading all customers.\n")[1].splitlines()
    assert steps[0].strip() == "users Share"
    assert f"  {newest_revision()}  " in output
    assert "  ok    row counts and totals" in output
    assert await current_revision(url) == "0049"


@pytest.mark.torture
async def test_an_upgrade_says_what_it_needs(own_database: Callable[..., str]) -> None:
    _, outdated = await run_shop(await new_outdated_database(own_database), "upgrade")
    _, current = await run_shop(own_database(), "upgrade")

    assert f"from revision 0049 to {newest_revision()}:\n  shop backup " in outdated
    assert "up to date" in current


def test_a_rehearsal_finds_rows_and_money_that_a_migration_lost() -> None:
    before = CopyFigures({"orders": 3, "carts": 2}, {"orders in USD": "500", "stock": "7"})
    after = CopyFigures({"orders": 2, "carts": 2, "brands": 1}, {"orders in USD": "400", "stock": "7"})

    more = CopyFigures({"orders": 3, "carts": 4, "brands": 1}, {"orders in USD": "500", "stock": "7"})

    assert list_differences(before, before) == []
    assert (list_differences(before, more), list_additions(before, more)) == ([], ["carts has 4 rows instead of 2"])
    assert list_differences(before, after) == [
        "orders has 2 rows instead of 3",
        "orders in USD: 400 instead of 500",
    ]
