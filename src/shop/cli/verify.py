"""`shop verify`: recomputes what must add up, and says what does not."""

import asyncio
import sys

import click

from shop.actions.operations.verify import verify as look
from shop.cli.prepare import database, settings_here
from shop.db.pool import open_database

MOST = 20


@click.command(epilog="Example: shop verify || mail -s 'the shop does not add up' ops@example.org")
def verify() -> None:
    """Recompute every total, stock count and payment sum. Exits non-zero when something does not add up."""
    settings = settings_here()
    with database(settings) as (url, _):
        wrong = asyncio.run(_verify(url))
    if wrong:
        click.echo(f"{wrong} {'thing does' if wrong == 1 else 'things do'} not add up.")
        sys.exit(1)
    click.echo("Everything adds up.")


async def _verify(url: str) -> int:
    shop = open_database(url, size=1)
    wrong = 0
    try:
        async for name, found in look(shop.session()):
            click.echo(f"  {'ok  ' if not found else 'FAIL'}  {name}")
            for record, what in found[:MOST]:
                click.echo(f"          {record}: {what}")
            if len(found) > MOST:
                click.echo(f"          and {len(found) - MOST} more")
            wrong += len(found)
    finally:
        await shop.close()
    return wrong
