"""Loads the demo shop with a progress bar."""

import sys
from time import monotonic

import click
from rich.console import Console
from rich.progress import Progress

from shop.actions.context import Context
from shop.base.config.settings import Settings
from shop.cli.database_session import run_action_on
from shop.demo.load import ProgressCallback, load_demo
from shop.demo.pictures import Pictures
from shop.demo.shop import NAME


def load_demo_with_progress(url: str, settings: Settings, pictures: Pictures, *, is_try_out: bool) -> bool:
    """Loads the demo shop into an empty database; returns whether it exists. Leaves any other shop unchanged."""
    if not sys.stderr.isatty():
        return _load(url, settings, pictures, lambda _count, _steps: None, is_try_out=is_try_out)
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(f"Creating {NAME}", total=None)

        def show(count: int, steps: int) -> None:
            progress.update(task, completed=count, total=steps)

        return _load(url, settings, pictures, show, is_try_out=is_try_out)


def _load(
    url: str, settings: Settings, pictures: Pictures, report_progress: ProgressCallback, *, is_try_out: bool
) -> bool:
    start = monotonic()
    if run_action_on(url, settings, lambda ctx: load_demo(ctx, report_progress, pictures), is_try_out=is_try_out):
        click.echo(f"  Created the demo shop {NAME} in {monotonic() - start:.1f} s. Past orders follow.", err=True)
        return True
    return run_action_on(url, settings, _name) == NAME


async def _name(ctx: Context) -> str:
    return ctx.shared.shop.name
