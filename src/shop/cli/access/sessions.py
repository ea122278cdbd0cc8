"""`shop sessions`: ends sessions of customers, applications and operators."""

import click
import msgspec
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from shop.actions.access.session_admin import EndedSessions, end_all_sessions, end_sessions_of
from shop.actions.context import Context
from shop.cli.database_session import run_action
from shop.cli.prepare import load_settings


@click.group(epilog="Example: shop sessions end --user ada@example.com")
def sessions() -> None:
    """Manage sessions of customers, applications and operators."""


@sessions.command(epilog="Example: shop sessions end --user ada@example.com")
@click.option("--all", "all_sessions", is_flag=True, help="End all sessions: customers, applications and operators.")
@click.option(
    "--user", "email", metavar="EMAIL", help="End the sessions of the customer and the operator with this e-mail."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for scripts.")
def end(all_sessions: bool, email: str | None, as_json: bool) -> None:
    """End sessions immediately: their access and refresh tokens stop working in every process.

    People sign in again as usual, and applications get new tokens with their secret. Order tokens stay valid;
    `shop keys void-before` invalidates those too.
    """
    if all_sessions == bool(email):
        raise click.UsageError("Give either --all or --user EMAIL.")

    async def work(ctx: Context) -> EndedSessions:
        if email:
            return await end_sessions_of(ctx, email)
        console = Console(stderr=True)
        columns = (BarColumn(), TextColumn("{task.completed:.0f} sessions"), TimeElapsedColumn())
        with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
            task = bar.add_task("", total=None)
            return await end_all_sessions(ctx, lambda count: bar.advance(task, count))

    counts = run_action(load_settings(), work)
    if as_json:
        click.echo(msgspec.json.encode(counts).decode())
        return
    click.echo(
        f"Ended {counts.customers} sessions of customers, {counts.applications} of applications, "
        f"{counts.operators} of operators."
    )
