"""`shop migrate`: migrates the database."""

import asyncio

import click

from shop.app.extensions import load_extensions
from shop.cli.extensions.prepare import ensure_extensions, upgrade_extensions
from shop.cli.prepare import database, load_settings
from shop.migrations.upgrade import current_revision, newest_revision, upgrade


@click.command(epilog="Example: SHOP_DATABASE_URL=postgresql://shop@db/shop shop migrate")
def migrate() -> None:
    """Migrate the configured database. Safe to run on several machines at once, and while the shop is running."""
    settings = load_settings()
    load_extensions(settings)
    with database(settings) as (url, _):
        before = asyncio.run(current_revision(url))
        upgrade(url)
        after = asyncio.run(current_revision(url))
        changes = upgrade_extensions(settings, url)
        ensure_extensions(settings, url, may_upgrade=False)
    if before == after:
        ahead = "" if after == newest_revision() else ", ahead of this program"
        click.echo(f"The database is up to date (revision {after}{ahead}).")
    else:
        click.echo(f"Migrated from {before or 'an empty database'} to revision {after}.")
    for change in changes:
        click.echo(f"Migrated the extension {change}.")
