"""`shop verify`: runs the integrity checks."""

import asyncio
import sys

import click

from shop.actions.operations.verify import find_inconsistencies
from shop.cli.prepare import database, load_settings
from shop.db.pool import open_database

MAX_FINDINGS = 20


@click.command(epilog="Example: shop verify || mail -s 'shop verify failed' ops@example.org")
def verify() -> None:
    """Compare stored totals, stock counts and payments with recalculated values. Exits non-zero if a check fails."""
    settings = load_settings()
    with database(settings) as (url, _):
        problem_count = asyncio.run(run_checks(url))
    if problem_count:
        click.echo(f"{problem_count} {'problem' if problem_count == 1 else 'problems'} found.")
        sys.exit(1)
    click.echo("No problems found.")


async def run_checks(url: str) -> int:
    """Prints the result of each check; returns the number of problems."""
    shop = open_database(url, size=1, is_prepared=False)
    problem_count = 0
    try:
        async for name, problems in find_inconsistencies(shop.session()):
            click.echo(f"  {'ok  ' if not problems else 'FAIL'}  {name}")
            for record, what in problems[:MAX_FINDINGS]:
                click.echo(f"          {record}: {what}")
            if len(problems) > MAX_FINDINGS:
                click.echo(f"          and {len(problems) - MAX_FINDINGS} more")
            problem_count += len(problems)
    finally:
        await shop.close()
    return problem_count
