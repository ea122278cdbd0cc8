"""`shop extension`: lists, checks, removes and generates extensions."""

import asyncio
import sys
from functools import partial
from pathlib import Path

import click

from shop.actions.extensions.listeners import forget_listeners
from shop.app.extension_checks import NAME
from shop.app.extensions import list_entry_points, select_entry_points
from shop.base.errors import CannotStart
from shop.cli.database_session import ready_database, run_action_on
from shop.cli.extensions.check import run_checks
from shop.cli.extensions.scaffold import write_package
from shop.cli.extensions.status import list_statuses, read_extension_records
from shop.cli.prepare import load_settings
from shop.migrations.extension_tables import drop_tables, list_tables
from shop.queries.extensions import listeners


@click.group(epilog="Example: shop extension list")
def extension() -> None:
    """Manage extensions: packages that add to the shop."""


@extension.command("list", epilog="Example: shop extension list")
def list_() -> None:
    """List installed extensions, their tables and listeners, and data of extensions that are not installed.

    Exits non-zero if one cannot be loaded.
    """
    settings = load_settings()
    stored_state = read_extension_records(settings)
    statuses = list_statuses(settings, stored_state)
    for status in statuses:
        click.echo(f"{status.name} ({status.package})")
        for line in [status.error] if status.error else status.lines:
            click.echo(f"  {line}")
    for name in sorted(stored_state.names - {status.name for status in statuses}):
        click.echo(f"{name}: not installed, but its data is left; `shop extension remove {name}` deletes it")
    if not statuses and not stored_state.names:
        click.echo("No extension is installed. To write one: shop extension new NAME")
    if any(status.error for status in statuses):
        sys.exit(1)


@extension.command(epilog="Example: shop extension check loyalty")
@click.argument("name")
def check(name: str) -> None:
    """Check an installed extension: its declaration, its imports, and its migrations on a temporary database."""
    points = list_entry_points()
    if name not in points:
        raise CannotStart(f"{name} is not installed (installed: {', '.join(points) or 'none'}).")
    for line in run_checks(points[name]):
        click.echo(f"  ok    {line}")


@extension.command(epilog="Example: shop extension remove loyalty")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
def remove(name: str, yes: bool) -> None:
    """Delete the tables of an extension, the progress of its listeners and its webhooks. Uninstall its package first.

    Payments made with it remain, and can no longer be captured, voided or refunded.
    """
    if not NAME.fullmatch(name):
        raise CannotStart("The name of an extension has 2 to 20 lower-case letters and digits.")
    settings = load_settings()
    if name in {point.name for point in select_entry_points(settings)}:
        raise CannotStart(
            f"{name} is installed; uninstall its package and restart the shop, or leave it out of SHOP_EXTENSIONS."
        )
    with ready_database(settings) as url:
        tables = asyncio.run(list_tables(url, name))
        if not tables and not run_action_on(url, settings, lambda ctx: listeners.has_listeners(ctx.db, name)):
            raise CannotStart(f"There is no data of an extension {name}.")
        click.echo(f"This deletes {', '.join(tables) or 'no table'} and the progress of the listeners of {name}.")
        if not yes:
            click.confirm("All data of the extension is lost. Continue?", abort=True)
        asyncio.run(drop_tables(url, name))
        run_action_on(url, settings, partial(forget_listeners, name=name, tables=tables))
    click.echo(f"Removed the data of {name}.")


@extension.command(epilog="Example: shop extension new reviews --dir ~/src")
@click.argument("name")
@click.option(
    "--dir",
    "directory",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    help="Where to create the folder; here by default.",
)
def new(name: str, directory: Path) -> None:
    """Generate the package of a new extension, with a resource, a listener, an endpoint, a page and tests."""
    if not NAME.fullmatch(name):
        raise CannotStart("The name of an extension has 2 to 20 lower-case letters and digits.")
    folder = write_package(name, directory)
    click.echo(f"Created {folder}. Next:")
    click.echo(f"  pip install -e {folder}")
    click.echo(f"  shop extension check {name}")
    click.echo("  shop serve --demo")
