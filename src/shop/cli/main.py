"""The `shop` command and its subcommands."""

import signal
import sys
from importlib import import_module
from typing import cast

import click

from shop import __version__
from shop.base.errors import CannotStart

COMMANDS = {
    "admin": "access.admin",
    "app": "access.applications",
    "archive": "backups.archive",
    "backup": "backups.backup",
    "doctor": "doctor",
    "export": "bulk",
    "extension": "extensions.commands",
    "import": "bulk:import_",
    "keys": "access.keys",
    "migrate": "database",
    "psql": "backups.psql",
    "restore": "backups.restore",
    "routes": "routes",
    "serve": "server.serve",
    "sessions": "access.sessions",
    "stress": "stress",
    "upgrade": "upgrade",
    "verify": "verify",
    "worker": "server.worker",
}
"""The module of each command, and the name of its function if that is another one."""


class CommandGroup(click.Group):
    """Loads only the command that runs: a worker of `shop serve` keeps what its parent loads."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, function = COMMANDS[cmd_name].partition(":")
        return cast(click.Command, getattr(import_module(f"shop.cli.{module}"), function or cmd_name))


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="shop")
def shop() -> None:
    """The shop service: a Storefront API, a Platform API and a dashboard, with one PostgreSQL database."""


def _load_log() -> None:
    """Loads the library of the log without two that it would load: `rich` with its lexers (10 MB of each worker), for
    tracebacks with the values of variables, which may contain tokens and are never logged, and `greenlet`.
    """
    names = ("rich", "greenlet")
    loaded_modules = {name: sys.modules[name] for name in names if name in sys.modules}
    sys.modules.update(dict.fromkeys(names))  # type: ignore[arg-type]
    try:
        import_module("structlog")
    finally:
        for name in names:
            del sys.modules[name]
        sys.modules.update(loaded_modules)


def main() -> None:
    _load_log()
    # Exit by exception, so that cleanup runs and stops the embedded database.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        shop()
    except CannotStart as reason:
        click.echo(f"shop: {reason}", err=True)
        sys.exit(1)
