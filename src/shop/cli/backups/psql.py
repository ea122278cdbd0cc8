"""`shop psql`: opens psql on the shop's database."""

import asyncio
import os
import signal
import subprocess
import sys

import click

from shop.actions.backups.restores import find_target_state
from shop.cli.prepare import database, load_settings
from shop.db.dumps import client_command
from shop.migrations.upgrade import current_revision


@click.command(epilog="Example: shop psql -- -c 'select count(*) from orders'")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def psql(arguments: tuple[str, ...]) -> None:
    """Open psql on the shop's database; arguments after `--` go to psql.

    An embedded database is started if needed. Changes bypass the shop: it writes no events or audit entries for them,
    and checks nothing.
    """
    with database(load_settings()) as (url, embedded):
        asyncio.run(current_revision(url))
        command, environ = client_command(url, find_target_state(url).postgres_version, arguments)
        if embedded is None:
            os.execve(command[0], command, environ)  # noqa: S606  No shell.
        # Ctrl-C cancels a statement of psql; this process stops the database afterward.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        status = subprocess.call(command, env=environ)  # noqa: S603
    sys.exit(status)
