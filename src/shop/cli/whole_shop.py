"""`shop export --all` and `shop import --all`: the whole shop as one file."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import click

from shop.actions.context import Context
from shop.actions.extensions.listeners import register_listeners
from shop.actions.shop_files.exports import ExportReport, export_shop
from shop.actions.shop_files.imports import ShopImportReport, import_shop
from shop.app.extensions import load_extensions
from shop.cli.database_session import ready_database, run_action_on
from shop.cli.extensions.prepare import ensure_extensions, list_table_sets
from shop.cli.prepare import load_settings
from shop.cli.verify import run_checks
from shop.migrations.extension_tables import list_revisions
from shop.migrations.upgrade import newest_revision, outdated_revisions

Advance = Callable[[int], None]


def export_whole_shop(path: Path, *, with_secrets: bool, advance: Advance) -> None:
    settings = load_settings()
    with ready_database(settings) as url:
        ensure_extensions(settings, url, may_upgrade=settings.database_url is None)
        extensions = list_table_sets(settings, url)

        async def work(ctx: Context) -> ExportReport:
            return await export_shop(ctx, path, extensions=extensions, with_secrets=with_secrets, advance=advance)

        report = run_action_on(url, settings, work)
        other_names = sorted(set(asyncio.run(list_revisions(url))) - {each.name for each in extensions})
    click.echo(f"Exported {report.rows} rows of {report.tables} tables and {report.files} image files to {path}.")
    if report.missing_files:
        click.echo(f"{report.missing_files} image files are missing in the image store.", err=True)
    for name in other_names:
        click.echo(f"The data of the extension {name} is not in the file: it is not installed.", err=True)
    click.echo("The file contains personal data; keep it private.", err=True)


def import_whole_shop(path: Path, *, is_dry_run: bool, may_skip: bool, advance: Advance) -> None:
    """Imports a file into an empty shop and runs the integrity checks. Exits with 1 if the shop stays empty, with 2 if
    the imported shop has problems.
    """
    revisions = {newest_revision(), *outdated_revisions()}

    settings = load_settings()
    with ready_database(settings) as url:
        ensure_extensions(settings, url, may_upgrade=settings.database_url is None)
        extensions = list_table_sets(settings, url)

        async def work(ctx: Context) -> ShopImportReport:
            options = {"is_dry_run": is_dry_run, "may_skip": may_skip}
            report = await import_shop(
                ctx, path, revisions=revisions, extensions=extensions, advance=advance, **options
            )
            await register_listeners(ctx.shared.database, load_extensions(settings).installed_extensions)
            return report

        report = run_action_on(url, settings, work)
        for name in report.skipped:
            click.echo(f"Left out the data of the extension {name}: it is not installed.", err=True)
        counts = f"{report.rows} rows of {report.tables} tables and {report.files} image files"
        if is_dry_run:
            click.echo(f"The file is valid: {counts} (dry run: nothing was saved).")
            return
        click.echo(f"Imported {counts}.")
        problem_count = asyncio.run(run_checks(url))
    if problem_count:
        click.echo(f"{problem_count} {'problem' if problem_count == 1 else 'problems'} found.", err=True)
        sys.exit(2)
    click.echo("No problems found.")
