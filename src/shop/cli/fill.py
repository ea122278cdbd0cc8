"""What is seen while the demo shop is put up."""

import sys
from time import monotonic

import click
from rich.console import Console
from rich.progress import Progress

from shop.actions.context import Context
from shop.base.settings import Settings
from shop.cli.acting import act_on
from shop.demo.load import Tell, load_demo
from shop.demo.shop import NAME


def fill(url: str, settings: Settings, *, is_try_out: bool) -> bool:
    """Whether the demo shop is there, put up now or before. Another shop is left as it is."""
    if not sys.stderr.isatty():
        return _fill(url, settings, lambda _done, _steps: None, is_try_out=is_try_out)
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(f"Putting up {NAME}", total=None)

        def show(done: int, steps: int) -> None:
            progress.update(task, completed=done, total=steps)

        return _fill(url, settings, show, is_try_out=is_try_out)


def _fill(url: str, settings: Settings, tell: Tell, *, is_try_out: bool) -> bool:
    begun = monotonic()
    if act_on(url, settings, lambda ctx: load_demo(ctx, tell), is_try_out=is_try_out):
        click.echo(f"  The demo shop {NAME} was put up in {monotonic() - begun:.1f} s.", err=True)
        return True
    return act_on(url, settings, _name) == NAME


async def _name(ctx: Context) -> str:
    return ctx.shared.shop.name
