"""Extensions and the database: migrations, upgrades of the shop, removal."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from alembic import command

from shop.migrations.upgrade import alembic_config, newest_revision
from tests.cli.command import external
from tests.cluster import execute
from tests.extensions.packages import ExtendedService, install, install_loyalty, run_shop
from tests.service import Service

_TABLES = "select count(*) from pg_class where relname like 'x\\_loyalty\\_%' and relkind = 'r'"
_ACCOUNT = "insert into x_loyalty_accounts values (gen_random_uuid(), gen_random_uuid(), 5, now(), now())"
_FOREIGN = """
revision = "foreign_0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade():
    op.execute("{statement}")
"""
_FOREIGN_EXTENSION = """
from pathlib import Path

from shop.extension import Extension, ExtensionTables

EXTENSION = Extension(name="foreign", version="1", api_version=1, tables=ExtensionTables("foreign"),
    migrations=Path(__file__).parent / "migrations")
"""


@asynccontextmanager
async def connect(url: str) -> AsyncIterator[Any]:
    """A connection of one test: its database is dropped afterwards."""
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()


@pytest.mark.torture
async def test_an_extension_survives_an_upgrade_of_the_shop(own_database: Callable[..., str], tmp_path: Path) -> None:
    url = own_database()
    install_loyalty(tmp_path)
    behind = run_shop(tmp_path, "serve", "--port", "0", **external(url))
    first = run_shop(tmp_path, "migrate", **external(url))
    execute(url, _ACCOUNT)
    # The schema of an older version of the shop, with the tables of the extension.
    await asyncio.to_thread(command.downgrade, alembic_config(url), "-1")
    older = run_shop(tmp_path, "serve", "--port", "0", **external(url))
    second = run_shop(tmp_path, "migrate", **external(url))

    assert "The tables of the extension loyalty are behind its version 1.0.0; run `shop migrate`" in behind.stderr
    assert "Migrated the extension loyalty to revision loyalty_0001." in first.stdout
    assert "The database is behind this program" in older.stderr
    assert f"to revision {newest_revision()}." in second.stdout
    async with connect(url) as db:
        assert await db.fetchval("select balance from x_loyalty_accounts") == 5


@pytest.mark.torture
async def test_an_upgrade_is_planned_with_the_migrations_of_extensions(
    own_database: Callable[..., str], tmp_path: Path
) -> None:
    url = own_database()
    install_loyalty(tmp_path)
    plan, needs = (
        run_shop(tmp_path, *words, **external(url)).stdout for words in (("migrate", "--plan"), ("upgrade",))
    )
    async with connect(url) as db:
        count = await db.fetchval(_TABLES)
    run_shop(tmp_path, "migrate", **external(url))
    later = run_shop(tmp_path, "migrate", "--plan", **external(url))

    assert plan.startswith("-- extension loyalty, revision loyalty_0001\nBEGIN;\n")
    assert "CREATE TABLE x_loyalty_accounts (" in plan
    assert "INSERT INTO x_loyalty_version (version_num) VALUES ('loyalty_0001')" in plan
    assert needs.startswith("No migrations of the shop to run; 1 of the extension loyalty:\n  shop backup ")
    assert count == 0
    assert later.stdout == f"-- The database is up to date (revision {newest_revision()}).\n"


@pytest.mark.torture
async def test_an_upgrade_is_rehearsed_with_the_migrations_of_extensions(
    own_database: Callable[..., str], tmp_path: Path
) -> None:
    url = own_database()
    install_loyalty(tmp_path)
    await asyncio.to_thread(command.downgrade, alembic_config(url), "-1")
    result = run_shop(tmp_path, "upgrade", "--rehearse", **external(url))

    titles = [line.split()[0] for line in result.stdout.splitlines() if " s  " in line]
    assert (result.returncode, titles) == (0, [newest_revision(), "loyalty_0001"]), result.stdout
    async with connect(url) as db:
        assert await db.fetchval(_TABLES) == 0


@pytest.mark.torture
async def test_the_shop_serves_without_an_extension_whose_data_is_left_until_it_is_removed(
    own_database: Callable[..., str], tmp_path: Path
) -> None:
    url, packages, empty = own_database(), tmp_path / "packages", tmp_path / "empty"
    packages.mkdir()
    empty.mkdir()
    install_loyalty(packages)
    assert run_shop(packages, "migrate", **external(url)).returncode == 0
    installed = run_shop(packages, "extension", "remove", "loyalty", "--yes", **external(url))
    # A payment method of the extension remains, and is not offered.
    execute(
        url,
        "insert into payment_methods (id, name, type, active, display_on, auto_capture, position, created_at,"
        " updated_at) values (gen_random_uuid(), 'Points', 'x_loyalty_points', true, 'both', true, 0, now(), now())",
    )
    service = Service(**external(url), SHOP_X_LOYALTY_POINTS_PER_UNIT="2")
    status = service.get("/readyz").status_code
    service.stop()
    listing = run_shop(empty, "extension", "list", **external(url))
    asked = run_shop(empty, "extension", "remove", "loyalty", **external(url))
    async with connect(url) as db:
        count_before = await db.fetchval(_TABLES)
        removal = run_shop(empty, "extension", "remove", "loyalty", "--yes", **external(url))
        count_after = await db.fetchval(_TABLES)
        listener_count = await db.fetchval("select count(*) from extension_listeners")
        audit = await db.fetchrow("select actor_kind, detail from audit_events where action = 'extension_removed'")

    assert "loyalty is installed; uninstall its package" in installed.stderr
    assert status == 200
    assert "loyalty: not installed, but its data is left; `shop extension remove loyalty` deletes it" in listing.stdout
    assert (asked.returncode, count_before) == (1, 3)
    assert (removal.returncode, count_after, listener_count) == (0, 0, 0), removal.stderr
    assert audit["actor_kind"] == "command line"
    assert "x_loyalty_accounts" in audit["detail"]


def foreign_package(directory: Path, statement: str) -> None:
    """An extension whose migration changes what is not its own."""
    package = directory / "source" / "foreign"
    (package / "migrations").mkdir(parents=True)
    (package / "__init__.py").write_text(_FOREIGN_EXTENSION)
    source = f'"""Changes the shop."""\n\nfrom alembic import op\n{_FOREIGN.format(statement=statement)}'
    (package / "migrations" / "0001_foreign.py").write_text(source)
    install(directory, "foreign", package, "foreign:EXTENSION")


@pytest.mark.parametrize(
    "statement",
    ["alter table orders add column x_foreign text", "create table points (id bigint)", "drop table timeline_entries"],
)
@pytest.mark.torture
async def test_a_migration_that_changes_the_shop_is_refused_and_undone(
    statement: str, own_database: Callable[..., str], tmp_path: Path
) -> None:
    url = own_database()
    foreign_package(tmp_path, statement)

    result = run_shop(tmp_path, "migrate", **external(url))

    assert result.returncode == 1
    assert "The extension foreign cannot be migrated: its migration changes the" in result.stderr
    async with connect(url) as db:
        columns = "select count(*) from information_schema.columns where column_name = 'x_foreign'"
        assert await db.fetchval(columns) == 0
        assert await db.fetchval("select to_regclass('points')") is None
        assert await db.fetchval("select to_regclass('timeline_entries')") is not None


@pytest.mark.torture
async def test_an_extension_can_be_left_out(own_database: Callable[..., str], tmp_path: Path) -> None:
    install(tmp_path, "broken", Path(shutil.__file__), "no_such_module:EXTENSION")
    url = own_database()

    refused = run_shop(tmp_path, "serve", "--port", "0", **external(url))
    service = ExtendedService(tmp_path, **external(url), SHOP_EXTENSIONS="off", SHOP_DRAIN_SECONDS="0")
    service.stop()

    assert refused.returncode == 1
    assert "The extension broken (shop-broken 1.0.0) cannot be loaded: ModuleNotFoundError" in refused.stderr
