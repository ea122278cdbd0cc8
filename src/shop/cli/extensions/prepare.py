"""Prepares the database for the installed extensions: their tables and their listeners."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from shop.actions.extensions.declarations import Extension
from shop.actions.extensions.listeners import register_listeners
from shop.app.extensions import load_extensions
from shop.base.config.settings import Settings
from shop.base.errors import CannotStart
from shop.base.lazy_modules import LazyModule
from shop.db.pool import open_database
from shop.models.shop_files.tables import ExtensionTableSet

if TYPE_CHECKING:
    from shop.migrations import extension_tables
else:
    extension_tables = LazyModule("shop.migrations.extension_tables")


def list_declarations(settings: Settings) -> list[Extension]:
    return [each.declaration for each in load_extensions(settings).installed_extensions.extensions]


class PendingMigration(msgspec.Struct, frozen=True):
    """A migration that the tables of an extension lack."""

    extension: str
    revision: str
    statements: list[str]


def list_pending_migrations(settings: Settings, url: str) -> list[PendingMigration]:
    """Returns what `upgrade_extensions` would run, in its order."""
    declarations = list_declarations(settings)
    revisions = asyncio.run(extension_tables.list_revisions(url)) if declarations else {}
    return [
        PendingMigration(
            each.name,
            revision,
            extension_tables.list_extension_statements(each.name, each.migrations, each.tables.metadata, revision),
        )
        for each in declarations
        if each.tables and each.migrations
        for revision in extension_tables.list_pending_revisions(each.name, each.migrations, revisions.get(each.name))
    ]


def upgrade_extensions(settings: Settings, url: str, *, on_step: Callable[..., None] | None = None) -> list[str]:
    """Migrates the tables of all extensions; returns the names of those that changed."""
    declarations = list_declarations(settings)
    if not declarations:
        return []
    before = asyncio.run(extension_tables.list_revisions(url))
    for extension in declarations:
        if extension.tables and extension.migrations and before.get(extension.name) in _outdated(extension):
            extension_tables.upgrade_extension(
                url, extension.name, extension.migrations, extension.tables.metadata, on_step=on_step
            )
    after = asyncio.run(extension_tables.list_revisions(url))
    return [f"{name} to revision {revision}" for name, revision in after.items() if revision != before.get(name)]


def ensure_extensions(settings: Settings, url: str, *, may_upgrade: bool) -> None:
    """Migrates the extensions if allowed; otherwise raises CannotStart if the tables of one are behind."""
    declarations = list_declarations(settings)
    if not declarations:
        return
    if may_upgrade:
        upgrade_extensions(settings, url)
    revisions = asyncio.run(extension_tables.list_revisions(url))
    for extension in declarations:
        if extension.migrations and revisions.get(extension.name) in _outdated(extension):
            raise CannotStart(
                f"The tables of the extension {extension.name} are behind its version {extension.version}; "
                "run `shop migrate` first."
            )
    asyncio.run(_register_listeners(settings, url))


def list_table_sets(settings: Settings, url: str) -> list[ExtensionTableSet]:
    """Returns the tables of all extensions, which are migrated, for the file of a whole shop."""
    revisions = asyncio.run(extension_tables.list_revisions(url))
    return [
        ExtensionTableSet(
            extension.name,
            extension.version,
            revisions[extension.name] or "",
            {revision for revision in (*_outdated(extension), revisions[extension.name]) if revision},
            extension.tables.metadata.sorted_tables,
        )
        for extension in list_declarations(settings)
        if extension.tables and extension.name in revisions
    ]


def _outdated(extension: Extension) -> frozenset[str | None]:
    return extension_tables.list_outdated(extension.name, extension.migrations) if extension.migrations else frozenset()


async def _register_listeners(settings: Settings, url: str) -> None:
    db = open_database(url, size=1)
    try:
        await register_listeners(db, load_extensions(settings).installed_extensions)
    finally:
        await db.close()
