"""Imports and exports of CSV files on the command line, with the code of the dashboard."""

import csv
from collections.abc import AsyncGenerator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

import click

from shop.actions.context import Context
from shop.actions.customers.csv_customers import export_customers, import_customers
from shop.actions.imports.batch_runner import ImportReport
from shop.actions.imports.csv_exports import export_products, export_stock
from shop.actions.imports.csv_runs import CsvRun, find_defaults, read_records, run_records
from shop.base.errors import CannotStart
from shop.models.imports.csv_imports import COUNTS, CsvLineError
from shop.platform.imports.csv_rows import parse_record
from shop.rules.imports.csv_columns import KEYS, find_format, suggest_mapping
from shop.rules.imports.csv_files import FileCheck, read_headers

_CHUNK = 1024 * 1024
CSV_EXPORTS: dict[str, Callable[[Context], AsyncGenerator[bytes]]] = {
    "products": export_products,
    "stock": export_stock,
    "customers": export_customers,
}


async def import_csv(
    ctx: Context, kind: str, path: Path, *, dry_run: bool, errors_file: TextIO | None, advance: Callable[[int], None]
) -> ImportReport:
    """Imports a file with the suggested mapping of its columns; writes the lines with errors to a file or stderr."""
    writer = csv.writer(errors_file, lineterminator="\n") if errors_file else None
    if writer:
        writer.writerow(("line", "key", "reason"))
    total = ImportReport(dry_run)
    try:
        with path.open(encoding=_find_encoding(path), errors="replace", newline="") as file:
            headers = read_headers(file)
            file.seek(0)
            file_format = find_format(kind, headers)
            mapping = suggest_mapping(kind, file_format, headers, ctx.shared.shop.currencies)
            _check_columns(kind, headers, mapping)
            run = CsvRun(
                ctx=ctx,
                kind=kind,
                parse=parse_record,
                import_customers=import_customers,
                dry_run=dry_run,
                # Products that have images keep them.
                started_at=datetime.max.replace(tzinfo=UTC),
            )
            records = read_records(file, kind, mapping, await find_defaults(ctx, file_format, mapping))
            async for result in run_records(run, records):
                for name in ("lines", *COUNTS):
                    setattr(total, name, getattr(total, name) + getattr(result.report, name))
                for error in result.errors:
                    _write_error(error, writer)
                advance(result.size)
    except ValueError as error:
        raise CannotStart(f"The file {error}.") from None
    return total


def _find_encoding(path: Path) -> str:
    """Reads the file once, to check its size and to find its encoding."""
    file_check = FileCheck()
    with path.open("rb") as file:
        while data := file.read(_CHUNK):
            file_check.add(data)
    file_check.end()
    return file_check.encoding


def _check_columns(kind: str, headers: list[str], mapping: dict[str, str]) -> None:
    """Names the columns that are not imported; raises ValueError without the one that identifies a record."""
    if KEYS[kind] not in mapping.values():
        raise ValueError(f"must have a column for {KEYS[kind]}, which identifies a record")
    left_out = [header for number, header in enumerate(headers) if header and str(number) not in mapping]
    if left_out:
        click.echo(f"not imported: {', '.join(left_out)}", err=True)


def _write_error(error: CsvLineError, writer: Any) -> None:
    if writer:
        writer.writerow((error.line, error.key, error.reason))
    else:
        click.echo(f"line {error.line} ({error.key or '?'}): {error.reason}", err=True)
