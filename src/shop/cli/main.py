"""The `shop` command and its subcommands."""

import signal
import sys

import click

from shop import __version__
from shop.base.errors import CannotStart
from shop.cli.access.admin import admin
from shop.cli.access.applications import app
from shop.cli.access.keys import keys
from shop.cli.access.sessions import sessions
from shop.cli.backups.backup import backup
from shop.cli.backups.psql import psql
from shop.cli.backups.restore import restore
from shop.cli.bulk import export, import_
from shop.cli.database import migrate
from shop.cli.doctor import doctor
from shop.cli.extensions.commands import extension
from shop.cli.routes import routes
from shop.cli.server.serve import serve
from shop.cli.server.worker import worker
from shop.cli.stress import stress
from shop.cli.upgrade import upgrade
from shop.cli.verify import verify


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="shop")
def shop() -> None:
    """The shop service: a Storefront API, a Platform API and a dashboard, with one PostgreSQL database."""


shop.add_command(serve)
shop.add_command(migrate)
shop.add_command(upgrade)
shop.add_command(worker)
shop.add_command(app)
shop.add_command(admin)
shop.add_command(sessions)
shop.add_command(keys)
shop.add_command(import_)
shop.add_command(export)
shop.add_command(routes)
shop.add_command(doctor)
shop.add_command(extension)
shop.add_command(stress)
shop.add_command(verify)
shop.add_command(backup)
shop.add_command(restore)
shop.add_command(psql)


def main() -> None:
    # Exit by exception, so that cleanup runs and stops the embedded database.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        shop()
    except CannotStart as reason:
        click.echo(f"shop: {reason}", err=True)
        sys.exit(1)
