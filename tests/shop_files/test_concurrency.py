"""Changes during an export do not show in its file, and an import that is killed leaves an empty shop."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from tests.cli.command import Command, external
from tests.forkserver import ForkedCommand
from tests.service import clean_environ
from tests.shop_files.zip_files import read_member

WAITING = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"


async def wait_for_lock(db: Any) -> None:
    """Waits until a command waits for a lock of this test, or ends the test after a minute."""
    async with asyncio.timeout(60):
        while not await db.fetchval(WAITING):
            pass


async def test_an_export_reads_one_snapshot(shop: Command, own_database: Callable[..., str], tmp_path: Path) -> None:
    url, file = own_database(), tmp_path / "shop.zip"
    db, other = [await asyncpg.connect(url) for _ in range(2)]
    transaction = db.transaction()
    await transaction.start()
    await db.execute("lock table wished_items")
    export = asyncio.create_task(asyncio.to_thread(shop, "export", "--all", str(file), **external(url)))
    await wait_for_lock(other)
    user_id = uuid4()
    await other.execute(
        "insert into users (id, email, email_key, created_at, updated_at) values ($1, 'a@b.c', 'a@b.c', now(), now())",
        user_id,
    )
    await other.execute(
        "insert into orders (id, number, user_id, currency, created_at, updated_at)"
        " values (gen_random_uuid(), 'R1', $1, 'USD', now(), now())",
        user_id,
    )
    await transaction.rollback()
    result = await export
    await db.close()
    await other.close()

    assert result.returncode == 0, result
    assert (read_member(file, "records/users.jsonl"), read_member(file, "records/orders.jsonl")) == (b"", b"")


@pytest.mark.torture
async def test_an_import_that_is_killed_leaves_an_empty_shop(
    shop: Command, own_database: Callable[..., str], empty_shop: dict[str, str], tmp_path: Path
) -> None:
    source_url, url, file = own_database(), empty_shop["SHOP_DATABASE_URL"], tmp_path / "shop.zip"
    source, db, other = [await asyncpg.connect(each) for each in (source_url, url, url)]
    await source.execute("update shops set name = 'Moved'")
    await source.close()
    assert shop("export", "--all", str(file), **external(source_url)).returncode == 0
    output = tmp_path / "output"
    output.touch()
    transaction = db.transaction()
    await transaction.start()
    # One of the last rows that an import changes.
    await db.execute("update report_states set position = position")
    command = ForkedCommand(["import", "--all", str(file)], clean_environ(**empty_shop), output=output, log=output)
    await wait_for_lock(other)
    command.kill()
    await asyncio.to_thread(command.wait, 30)
    await transaction.rollback()
    name_after_kill = await db.fetchval("select name from shops")
    result = shop("import", "--all", str(file), **empty_shop)
    name = await db.fetchval("select name from shops")
    await db.close()
    await other.close()

    assert name_after_kill == "Shop"
    assert (result.returncode, name) == (0, "Moved"), result
