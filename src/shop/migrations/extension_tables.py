"""The tables of extensions: each has migrations and a version table of its own, beside those of the shop."""

import io
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import asyncpg
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import MetaData
from sqlalchemy.exc import DBAPIError

from shop.base.errors import CannotStart
from shop.db.hosts import Hosts, connect_to
from shop.migrations.foreign_changes import ForeignChange
from shop.migrations.upgrade import alembic_config, read_statements

_VERSION_TABLE = re.compile("x_([a-z][a-z0-9]*)_version", re.ASCII)
_TABLES = """select c.relname from pg_class c
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and c.relname like $1
    order by c.relname"""


def version_table(name: str) -> str:
    return f"x_{name}_version"


def extension_config(url: str, name: str, folder: Path, metadata: MetaData) -> Config:
    """Returns the configuration of an extension's migrations, which run in the environment of the shop's."""
    config = alembic_config(url)
    config.set_main_option("version_locations", str(folder))
    config.set_main_option("path_separator", "newline")
    config.stdout = io.StringIO()
    config.attributes["extension"] = name
    config.attributes["metadata"] = metadata
    config.attributes["version_table"] = version_table(name)
    return config


def upgrade_extension(
    url: str, name: str, folder: Path, metadata: MetaData, *, on_step: Callable[..., None] | None = None
) -> None:
    """Migrates the tables of an extension to its newest revision; calls `on_step` as `upgrade` does."""
    config = extension_config(url, name, folder, metadata)
    config.attributes["on_version_apply"] = on_step
    try:
        command.upgrade(config, "head")
    except ForeignChange as error:
        raise CannotStart(f"The extension {name} cannot be migrated: {error}. Update or uninstall it.") from None
    except DBAPIError as error:
        reason = str(error.orig).splitlines()[0].rpartition(">: ")[2]
        raise CannotStart(f"The extension {name} cannot be migrated ({reason}).") from None
    except Exception as error:
        # The code of others: whatever it raises, the extension is named.
        raise CannotStart(f"The extension {name} cannot be migrated ({type(error).__name__}: {error}).") from None


def downgrade_extension(url: str, name: str, folder: Path, metadata: MetaData) -> None:
    """Removes the tables of an extension by its own migrations."""
    command.downgrade(extension_config(url, name, folder, metadata), "base")


def list_outdated(name: str, folder: Path) -> frozenset[str | None]:
    """Returns all known revisions of an extension except the newest, and None for no revision."""
    script = ScriptDirectory.from_config(extension_config("", name, folder, MetaData()))
    heads = script.get_heads()
    if len(heads) != 1:
        raise CannotStart(
            f"The extension {name} has {len(heads)} newest migrations instead of one. Update or uninstall it."
        )
    return frozenset([None, *(revision.revision for revision in script.walk_revisions())]) - {heads[0]}


def list_pending_revisions(name: str, folder: Path, current: str | None) -> list[str]:
    """Returns the revisions that the tables of an extension lack, oldest first; none for those of a newer version."""
    if current not in list_outdated(name, folder):
        return []
    script = ScriptDirectory.from_config(extension_config("", name, folder, MetaData()))
    return [each.revision for each in script.iterate_revisions("head", current or "base")][::-1]


def list_extension_statements(name: str, folder: Path, metadata: MetaData, revision: str) -> list[str]:
    """Returns the statements of a revision of an extension, in the order in which they run."""
    return read_statements(extension_config("", name, folder, metadata), revision)


async def list_revisions(url: str) -> Mapping[str, str | None]:
    """Returns the revision of each extension that has tables in the database, by name."""
    connection = await Hosts(url).connect(partial(connect_to, seconds=5))
    try:
        names = [row[0] for row in await connection.fetch(_TABLES, r"x\_%\_version")]
        matches = {name: match[1] for name in names if (match := _VERSION_TABLE.fullmatch(name))}
        return {
            extension: await connection.fetchval(f"select version_num from {name}")  # noqa: S608  A name that matches.
            for name, extension in matches.items()
        }
    finally:
        await connection.close()


async def list_tables(url: str, name: str) -> list[str]:
    """Returns the tables of an extension, also of one that is not installed."""
    connection = await Hosts(url).connect(partial(connect_to, seconds=5))
    try:
        return [row[0] for row in await connection.fetch(_TABLES, rf"x\_{name}\_%")]
    finally:
        await connection.close()


async def drop_tables(url: str, name: str) -> list[str]:
    """Drops all tables of an extension in one transaction; returns their names."""
    connection: asyncpg.Connection = await Hosts(url).connect(partial(connect_to, seconds=5))
    try:
        async with connection.transaction():
            await connection.execute("set local lock_timeout = '2s'")
            names = [row[0] for row in await connection.fetch(_TABLES, rf"x\_{name}\_%")]
            if names:
                await connection.execute(f"drop table {', '.join(names)}")
            return names
    except asyncpg.LockNotAvailableError:
        raise CannotStart(f"The tables of {name} are in use; uninstall it, restart the shop, and try again.") from None
    finally:
        await connection.close()
