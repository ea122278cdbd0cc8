"""`shop upgrade`: says what an upgrade needs, and rehearses it on a copy of the database."""

import asyncio
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

import click

from shop.actions.backups.copies import CopyFigures, copy_database, list_additions, list_differences, read_figures
from shop.actions.backups.restores import find_target_state
from shop.base.config.settings import Settings
from shop.cli.backups.arguments import LATEST, Progress, read_backup
from shop.cli.backups.verification import check_version, print_result
from shop.cli.extensions.prepare import list_pending_migrations, upgrade_extensions
from shop.cli.prepare import database, load_settings, temporary_database
from shop.cli.verify import run_checks
from shop.db.pool import Database, open_database
from shop.migrations.rehearsal import Step, rehearse
from shop.migrations.upgrade import current_revision, list_pending, newest_revision
from shop.migrations.upgrade import upgrade as upgrade_tables

T = TypeVar("T")
_STEPS = """\
  shop backup               saves what the shop has now
  shop upgrade --rehearse   runs the migrations on a copy, and reports their time and locks
  shop migrate              runs them, while the previous version serves
Then restart each process, one after another. docs/upgrading.md explains the steps."""


@click.command(epilog="Example: shop upgrade --rehearse")
@click.option("--rehearse", "is_rehearsal", is_flag=True, help="Run the migrations on a copy of the database.")
@click.option("--backup", "name", help="Rehearse with this backup instead of the newest one or the live database.")
def upgrade(is_rehearsal: bool, name: str | None) -> None:
    """Show what an upgrade to this version needs, or rehearse it.

    A rehearsal restores the newest backup of SHOP_BACKUP_URL into a temporary database, or copies the live one if there
    is no such setting. It migrates the copy, reports the time and the locks of each migration, compares row counts and
    totals, runs the checks of `shop verify`, and removes the copy. Exits non-zero if a check fails.
    """
    settings = load_settings()
    if is_rehearsal:
        sys.exit(1 if _rehearse(settings, name) else 0)
    with database(settings) as (url, _):
        current = asyncio.run(current_revision(url))
        counts = Counter(each.extension for each in list_pending_migrations(settings, url))
    pending = list_pending(current)
    if not pending and not counts:
        click.echo(f"The database is up to date (revision {current}); restart the processes of the previous version.")
        return
    own = f"{len(pending)} migrations to run, from revision {current or 'none'} to {newest_revision()}"
    lines = [own if pending else "No migrations of the shop to run"]
    lines += [f"{count} of the extension {name}" for name, count in counts.items()]
    click.echo(f"{'; '.join(lines)}:\n{_STEPS}")


def _rehearse(settings: Settings, name: str | None) -> int:
    """Returns the number of problems."""
    with temporary_database() as url:
        _fill(settings, name, url)
        before = _run(url, read_figures)
        current = asyncio.run(current_revision(url))
        tables = before.row_counts.keys()
        steps = rehearse(tables, partial(upgrade_tables, url))
        steps += rehearse(tables, partial(upgrade_extensions, settings, url))
        _print_steps(current, steps)
        problem_count = _compare(before, _run(url, read_figures)) + asyncio.run(run_checks(url))
    click.echo(f"{problem_count} problems found." if problem_count else "The rehearsal succeeded.")
    return problem_count


def _fill(settings: Settings, name: str | None, target_url: str) -> None:
    version = find_target_state(target_url).postgres_version
    if name or settings.backup_url:
        backup = read_backup(settings, name or LATEST)
        check_version(backup)
        backup.check_files(Progress())
        click.echo(f"Restoring {backup} ...", err=True)
        backup.load_database(target_url, version, must_drop=False)
        return
    click.echo("Copying the database ...", err=True)
    with database(settings) as (url, _):
        _run(url, lambda db: copy_database(db, url, target_url, version))


def _print_steps(current: str | None, steps: list[Step]) -> None:
    if not steps:
        click.echo(f"No migrations to run: the copy is at revision {current}.")
    for step in steps:
        locks = ", ".join(step.locks) or "no lock that blocks writes"
        click.echo(f"  {step.revision}  {step.seconds:8.3f} s  {step.title}\n{'':21}{locks}")


def _compare(before: CopyFigures, after: CopyFigures) -> int:
    differences = list_differences(before, after)
    print_result("row counts and totals", differences)
    for line in list_additions(before, after):
        click.echo(f"          added by the migrations: {line}")
    return len(differences)


def _run(url: str, work: Callable[[Database], Awaitable[T]]) -> T:
    async def run() -> T:
        db = open_database(url, size=1)
        try:
            return await work(db)
        finally:
            await db.close()

    return asyncio.run(run())
