"""`shop import` and `shop export`: bulk import and export as NDJSON."""

import sys
from collections.abc import AsyncIterator, Callable
from typing import Any, BinaryIO

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from shop.actions.context import Context
from shop.actions.imports import exports
from shop.actions.imports import runs as import_actions
from shop.actions.imports.batch_runner import ImportLine, ImportReport
from shop.cli.database_session import run_action
from shop.cli.prepare import load_settings
from shop.platform.bulk import parse_lines
from shop.platform.imports.import_rows import price_line, product_line
from shop.web.input.ndjson import RawLine

_CHUNK = 64 * 1024
_NOUNS = click.argument("noun", type=click.Choice(["products", "prices"]))
_IMPORTS: dict[str, tuple[Any, Callable[[RawLine], ImportLine[Any]]]] = {
    "products": (import_actions.import_products, product_line),
    "prices": (import_actions.import_prices, price_line),
}
_EXPORTS: dict[str, Any] = {"products": exports.export_products, "prices": exports.export_prices}


@click.command("import", epilog="Example: shop import products catalog.jsonl --dry-run")
@_NOUNS
@click.argument("file", type=click.File("rb"))
@click.option("--dry-run", is_flag=True, help="Report what would happen without saving.")
def import_(noun: str, file: BinaryIO, dry_run: bool) -> None:
    """Import products or prices from FILE, one JSON object per line; `-` reads standard input. The shop may run."""
    do, read = _IMPORTS[noun]

    async def work(ctx: Context) -> ImportReport:
        with _progress(noun) as bar:
            lines = parse_lines(_chunks(file), read)
            result: ImportReport = await do(ctx, _count_lines(lines, bar), dry_run=dry_run)
        return result

    _print_result(run_action(load_settings(), work))


@click.command(epilog="Example: shop export products > catalog.jsonl")
@_NOUNS
def export(noun: str) -> None:
    """Print all products or prices, one JSON object per line, as `shop import` reads them. The shop may run."""

    async def work(ctx: Context) -> None:
        with _progress(noun) as bar:
            task = bar.add_task("", total=None)
            async for chunk in _EXPORTS[noun](ctx):
                sys.stdout.buffer.write(chunk)
                bar.advance(task, chunk.count(b"\n"))
        sys.stdout.buffer.flush()

    run_action(load_settings(), work)


def _progress(noun: str) -> Progress:
    """Returns a progress bar that appears only on a terminal."""
    console = Console(stderr=True)
    columns = (BarColumn(), TextColumn(f"{{task.completed:.0f}} {noun}"), TimeElapsedColumn())
    return Progress(*columns, console=console, disable=not console.is_terminal, transient=True)


async def _chunks(file: BinaryIO) -> AsyncIterator[bytes]:
    while chunk := file.read(_CHUNK):
        yield chunk


async def _count_lines(lines: AsyncIterator[ImportLine[Any]], bar: Progress) -> AsyncIterator[ImportLine[Any]]:
    task = bar.add_task("", total=None)
    async for line in lines:
        yield line
        bar.advance(task)


def _print_result(result: ImportReport) -> None:
    for failure in result.errors:
        for name, sentences in failure.errors.items():
            click.echo(f"line {failure.line} ({failure.key or '?'}): {name} {'; '.join(sentences)}", err=True)
    if result.errors_left_out:
        click.echo(f"and {result.errors_left_out} more lines", err=True)
    names = ("lines", "created", "updated", "unchanged", "failed")
    summary = ", ".join(f"{getattr(result, name)} {name}" for name in names)
    click.echo(f"{summary}{' (dry run: nothing was saved)' if result.dry_run else ''}")
    if result.failed:
        sys.exit(1)
