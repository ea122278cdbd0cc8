"""`shop import` and `shop export`: bulk import and export as NDJSON and CSV."""

import sys
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from shop.actions.context import Context
from shop.actions.imports import exports
from shop.actions.imports import runs as import_actions
from shop.actions.imports.batch_runner import ImportLine, ImportReport
from shop.cli.csv_files import CSV_EXPORTS, import_csv
from shop.cli.database_session import run_action
from shop.cli.prepare import load_settings
from shop.cli.whole_shop import export_whole_shop, import_whole_shop
from shop.platform.bulk import parse_lines
from shop.platform.imports.import_rows import price_line, product_line
from shop.web.input.ndjson import RawLine

_CHUNK = 64 * 1024
_KINDS = click.option("--kind", type=click.Choice([*CSV_EXPORTS]), help="The kind of records of a CSV file.")
_IMPORTS: dict[str, tuple[Any, Callable[[RawLine], ImportLine[Any]]]] = {
    "products": (import_actions.import_products, product_line),
    "prices": (import_actions.import_prices, price_line),
}
_EXPORTS: dict[str, Any] = {"products": exports.export_products, "prices": exports.export_prices}


@click.command("import", epilog="Example: shop import products catalog.jsonl, or shop import --kind stock counts.csv")
@click.argument("words", nargs=-1, metavar="[products|prices] FILE")
@_KINDS
@click.option(
    "--all", "all_file", metavar="FILE", type=click.Path(path_type=Path), help="Import a whole shop into an empty one."
)
@click.option("--dry-run", is_flag=True, help="Report what would happen without saving.")
@click.option(
    "--skip-missing-extensions",
    "may_skip",
    is_flag=True,
    help="With --all: leave out the data of extensions that are not installed.",
)
@click.option("--errors", "errors_file", type=click.File("w"), help="Write the failed lines of a CSV file to this one.")
def import_(
    words: tuple[str, ...],
    kind: str | None,
    all_file: Path | None,
    dry_run: bool,
    may_skip: bool,
    errors_file: TextIO | None,
) -> None:
    """Import products or prices from FILE, one JSON object per line; `-` reads standard input. With --kind, import
    products, stock or customers from a CSV file. The shop may run. With --all, import a whole shop.
    """
    if all_file:
        if words or kind or errors_file:
            raise click.UsageError("--all imports everything; name nothing else.")
        with _progress("rows") as bar:
            task = bar.add_task("", total=None)
            import_whole_shop(all_file, is_dry_run=dry_run, may_skip=may_skip, advance=partial(bar.advance, task))
        return
    if may_skip:
        raise click.UsageError("--skip-missing-extensions is for --all.")
    noun, file = _read_words(words, kind)
    if errors_file and noun:
        raise click.UsageError("--errors is for CSV files.")

    async def work(ctx: Context) -> ImportReport:
        with _progress(kind or noun or "") as bar:
            if kind:
                task = bar.add_task("", total=None)
                advance = partial(bar.advance, task)
                options: Any = {"dry_run": dry_run, "errors_file": errors_file, "advance": advance}
                return await import_csv(ctx, kind, Path(file), **options)
            do, read = _IMPORTS[noun or ""]
            with click.open_file(file, "rb") as lines_file:
                lines = parse_lines(_chunks(cast(BinaryIO, lines_file)), read)
                result: ImportReport = await do(ctx, _count_lines(lines, bar), dry_run=dry_run)
        return result

    _print_result(run_action(load_settings(), work))


def _read_words(words: tuple[str, ...], kind: str | None) -> tuple[str | None, str]:
    """Returns the noun, unless there is a kind, and the file."""
    if len(words) != (1 if kind else 2) or (not kind and words[0] not in _IMPORTS):
        raise click.UsageError("Name products or prices for JSON lines, or a --kind of CSV file; and one file.")
    file = words[-1]
    if kind and file == "-":
        raise click.UsageError("A CSV file is read twice, so it cannot be standard input.")
    if file != "-" and not Path(file).is_file():
        raise click.UsageError(f"{file} is not a file.")
    return None if kind else words[0], file


@click.command(epilog="Example: shop export products > catalog.jsonl, or shop export --kind customers > customers.csv")
@click.argument("noun", type=click.Choice([*_EXPORTS]), required=False)
@_KINDS
@click.option(
    "--all", "all_file", metavar="FILE", type=click.Path(path_type=Path), help="Write the whole shop to FILE."
)
@click.option("--with-secrets", is_flag=True, help="With --all: include password hashes and encrypted secrets.")
def export(noun: str | None, kind: str | None, all_file: Path | None, with_secrets: bool) -> None:
    """Print all products or prices, one JSON object per line; with --kind, products, stock or customers as CSV: as
    `shop import` reads them. With --all, write the whole shop to a zip file. The shop may run.
    """
    if all_file:
        if noun or kind:
            raise click.UsageError("--all exports everything; name nothing else.")
        with _progress("rows") as bar:
            task = bar.add_task("", total=None)
            export_whole_shop(all_file, with_secrets=with_secrets, advance=partial(bar.advance, task))
        return
    if with_secrets:
        raise click.UsageError("--with-secrets is for --all.")
    if (kind is None) == (noun is None):
        raise click.UsageError("Name products or prices for JSON lines, or a --kind of CSV file.")

    async def work(ctx: Context) -> None:
        with _progress(kind or noun or "") as bar:
            task = bar.add_task("", total=None)
            async for chunk in CSV_EXPORTS[kind](ctx) if kind else _EXPORTS[noun or ""](ctx):
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
