"""`shop migrate`: migrates the database, or prints what this would do."""

import asyncio
from typing import Any

import click

from shop.app.extensions import load_extensions
from shop.cli.extensions.prepare import PendingMigration, ensure_extensions, list_pending_migrations, upgrade_extensions
from shop.cli.prepare import database, load_settings
from shop.migrations.upgrade import current_revision, list_pending, list_statements, newest_revision, upgrade


@click.command(epilog="Example: SHOP_DATABASE_URL=postgresql://shop@db/shop shop migrate")
@click.option("--plan", is_flag=True, help="Print the statements instead of running them.")
def migrate(plan: bool) -> None:
    """Migrate the configured database. Safe to run on several machines at once, and while the shop is running."""
    settings = load_settings()
    load_extensions(settings)
    with database(settings) as (url, _):
        before = asyncio.run(current_revision(url))
        if plan:
            _print_plan(before, list_pending_migrations(settings, url))
            return
        upgrade(url, on_step=_print_step, on_retry=_print_retry)
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


def _print_plan(current: str | None, extension_migrations: list[PendingMigration]) -> None:
    pending = list_pending(current)
    for revision in pending:
        _print_statements(f"revision {revision}", list_statements(revision))
    for each in extension_migrations:
        _print_statements(f"extension {each.extension}, revision {each.revision}", each.statements)
    if not pending and not extension_migrations:
        click.echo(f"-- The database is up to date (revision {current}).")


def _print_statements(title: str, statements: list[str]) -> None:
    click.echo(f"-- {title}")
    for statement in statements:
        click.echo(f"{statement};")
    click.echo()


def _print_step(*, step: Any, **_values: Any) -> None:
    click.echo(f"  {step.up_revision_id}  {step.up_revision.doc.partition(chr(10))[0]}", err=True)


def _print_retry() -> None:
    click.echo("  waiting: another transaction holds a lock of this table", err=True)
