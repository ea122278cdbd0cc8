"""`shop export --all` and `shop import --all`: the whole shop as one file."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import click

from shop.actions.context import Context
from shop.actions.shop_files.exports import ExportReport, export_shop
from shop.actions.shop_files.imports import ShopImportReport, import_shop
from shop.cli.database_session import ready_database, run_action_on
from shop.cli.prepare import load_settings
from shop.cli.verify import run_checks
from shop.migrations.upgrade import newest_revision, outdated_revisions

Advance = Callable[[int], None]


def export_whole_shop(path: Path, *, with_secrets: bool, advance: Advance) -> None:
    async def work(ctx: Context) -> ExportReport:
        return await export_shop(ctx, path, with_secrets=with_secrets, advance=advance)

    settings = load_settings()
    with ready_database(settings) as url:
        report = run_action_on(url, settings, work)
    click.echo(f"Exported {report.rows} rows of {report.tables} tables and {report.files} image files to {path}.")
    if report.missing_files:
        click.echo(f"{report.missing_files} image files are missing in the image store.", err=True)
    click.echo("The file contains personal data; keep it private.", err=True)


def import_whole_shop(path: Path, *, is_dry_run: bool, advance: Advance) -> None:
    """Imports a file into an empty shop and runs the integrity checks. Exits with 1 if the shop stays empty, with 2 if
    the imported shop has problems.
    """
    revisions = {newest_revision(), *outdated_revisions()}

    async def work(ctx: Context) -> ShopImportReport:
        return await import_shop(ctx, path, revisions=revisions, is_dry_run=is_dry_run, advance=advance)

    settings = load_settings()
    with ready_database(settings) as url:
        report = run_action_on(url, settings, work)
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
