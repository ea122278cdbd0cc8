"""Prepares the database for the installed extensions: their tables and their listeners."""

import asyncio

from shop.actions.extensions.declarations import Extension
from shop.actions.extensions.listeners import register_listeners
from shop.app.extensions import load_extensions
from shop.base.config.settings import Settings
from shop.base.errors import CannotStart
from shop.db.pool import open_database
from shop.migrations.extension_tables import list_outdated, list_revisions, upgrade_extension


def list_declarations(settings: Settings) -> list[Extension]:
    return [each.declaration for each in load_extensions(settings).installed_extensions.extensions]


def upgrade_extensions(settings: Settings, url: str) -> list[str]:
    """Migrates the tables of all extensions; returns the names of those that changed."""
    declarations = list_declarations(settings)
    if not declarations:
        return []
    before = asyncio.run(list_revisions(url))
    for extension in declarations:
        if extension.tables and extension.migrations and before.get(extension.name) in _outdated(extension):
            upgrade_extension(url, extension.name, extension.migrations, extension.tables.metadata)
    after = asyncio.run(list_revisions(url))
    return [f"{name} to revision {revision}" for name, revision in after.items() if revision != before.get(name)]


def ensure_extensions(settings: Settings, url: str, *, may_upgrade: bool) -> None:
    """Migrates the extensions if allowed; otherwise raises CannotStart if the tables of one are behind."""
    declarations = list_declarations(settings)
    if not declarations:
        return
    if may_upgrade:
        upgrade_extensions(settings, url)
    revisions = asyncio.run(list_revisions(url))
    for extension in declarations:
        if extension.migrations and revisions.get(extension.name) in _outdated(extension):
            raise CannotStart(
                f"The tables of the extension {extension.name} are behind its version {extension.version}; "
                "run `shop migrate` first."
            )
    asyncio.run(_register_listeners(settings, url))


def _outdated(extension: Extension) -> frozenset[str | None]:
    return list_outdated(extension.name, extension.migrations) if extension.migrations else frozenset()


async def _register_listeners(settings: Settings, url: str) -> None:
    db = open_database(url, size=1)
    try:
        await register_listeners(db, load_extensions(settings).installed_extensions)
    finally:
        await db.close()
