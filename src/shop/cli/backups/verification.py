"""Verifies a backup: restores it into a temporary embedded database, and runs the integrity checks there."""

import asyncio

import click

from shop.actions.backups.restores import StoredBackup, find_target_state, list_count_differences
from shop.base.errors import BackupError
from shop.cli.backups.arguments import Progress
from shop.cli.prepare import temporary_database
from shop.cli.verify import run_checks
from shop.migrations.upgrade import newest_revision, outdated_revisions, upgrade


def check_version(backup: StoredBackup) -> None:
    """Raises BackupError for a backup of a newer version: its migrations are not known here."""
    manifest = backup.manifest
    if manifest.revision not in {*outdated_revisions(), newest_revision()}:
        raise BackupError(
            f"{backup} was made by shop {manifest.shop_version} with migration {manifest.revision}, which is newer "
            "than this program; install that version of the shop."
        )


def verify_backup(backup: StoredBackup) -> int:
    """Prints the result of each check; returns the number of problems."""
    check_version(backup)
    backup.check_files(Progress())
    click.echo("  ok    checksums")
    with temporary_database() as url:
        backup.load_database(url, find_target_state(url).postgres_version, must_drop=False)
        click.echo("  ok    restore")
        problems = list_count_differences(url, backup.manifest)
        print_result("row counts", problems)
        missing = [f"the image store had no {name}" for name in backup.manifest.missing_media]
        print_result("images", missing)
        upgrade(url)
        problem_count = len(problems) + len(missing) + asyncio.run(run_checks(url))
    noun = "problem" if problem_count == 1 else "problems"
    click.echo(f"{problem_count or 'No'} {noun} found.")
    return problem_count


def print_result(name: str, problems: list[str]) -> None:
    click.echo(f"  {'FAIL' if problems else 'ok  '}  {name}")
    for problem in problems:
        click.echo(f"          {problem}")
