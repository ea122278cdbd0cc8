"""Imports the file of a whole shop into an empty one.

    check the manifest  ->  save the files of images, marked as loose  ->  insert all rows, unmark     one transaction

If it fails or is killed, the shop stays empty, and housekeeping deletes the files.
"""

from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from uuid import UUID

import msgspec

from shop.actions.context import Context
from shop.base.errors import Conflict, Malformed
from shop.db.pool import ConstraintViolation, InvalidRow
from shop.gateways.shop_file import ShopFileReader, open_shop_file
from shop.models.catalog.product_index import listing_sales
from shop.models.shop_files.manifest import MediaFile, ShopFileManifest, TableManifest
from shop.models.shop_files.tables import (
    EXPORT_TABLES,
    INITIAL_TABLES,
    ExtensionTableSet,
    ShopTable,
    list_columns,
    list_required_columns,
)
from shop.queries.catalog import product_index
from shop.queries.extensions.listeners import delete_listeners
from shop.queries.extensions.webhooks import delete_webhooks
from shop.queries.shop_files import imports as queries
from shop.queries.shop_files.exports import lift_time_limits
from shop.rules.shop_files.extensions import ExtensionSelection, select_extensions
from shop.rules.shop_files.manifest import MAX_MANIFEST_BYTES, TableColumns, check_member, check_tables, read_manifest
from shop.rules.shop_files.members import (
    MANIFEST,
    MAX_MEDIA_BYTES,
    MEDIA_LIST,
    check_members,
    is_media_name,
    media_member,
    records_member,
)

Advance = Callable[[int], None]
_BATCH = 500
_NEW_TABLES = [table for table in EXPORT_TABLES if table not in INITIAL_TABLES]


class ShopImportReport(msgspec.Struct):
    """What an import saved."""

    rows: int = 0
    tables: int = 0
    files: int = 0
    skipped: Sequence[str] = ()
    """The extensions whose data was left out."""


class _DryRunEnd(Exception):
    """Rolls back a dry run."""


async def import_shop(
    ctx: Context,
    path: Path,
    *,
    revisions: Collection[str],
    extensions: Sequence[ExtensionTableSet],
    may_skip: bool,
    is_dry_run: bool,
    advance: Advance,
) -> ShopImportReport:
    """Imports a file into an empty shop; a dry run does all of it and saves nothing. `may_skip` leaves out the data of
    extensions that are not installed. Raises Malformed, or Conflict if the shop is not empty.
    """
    with open_shop_file(path) as file:
        manifest = read_manifest(file.read(MANIFEST, most=MAX_MANIFEST_BYTES), revisions)
        selection = _check_manifest(manifest, extensions, may_skip=may_skip)
        check_members(manifest, file.names)
        _check_keys(ctx, manifest)
        await _check_empty(ctx, extensions)
        report = ShopImportReport(skipped=[each.name for each in selection.missing])
        image_ids = await _save_media(ctx, file, manifest, report, is_dry_run=is_dry_run)
        with suppress(_DryRunEnd):
            async with ctx.db.transaction():
                await _lock_empty_shop(ctx, extensions)
                await _insert_shop(ctx, file, manifest, report, advance)
                await _insert_extensions(ctx, file, selection, report, advance)
                for start in range(0, len(image_ids), _BATCH):
                    await queries.unmark_files(ctx.db, image_ids[start : start + _BATCH])
                if is_dry_run:
                    raise _DryRunEnd
    return report


def _check_manifest(
    manifest: ShopFileManifest, extensions: Sequence[ExtensionTableSet], *, may_skip: bool
) -> ExtensionSelection:
    """Raises Malformed if this version, or an extension of it, cannot read the file."""
    check_tables(manifest.tables, _list_known_columns(EXPORT_TABLES))
    check_member(manifest.media)
    selection = select_extensions(manifest.extensions, extensions, may_skip=may_skip)
    for table_set, part in selection.pairs:
        check_tables(part.tables, _list_known_columns(table_set.tables))
    return selection


def _list_known_columns(tables: Sequence[ShopTable]) -> dict[str, TableColumns]:
    return {
        str(table.name): TableColumns(list_columns(table, has_secrets=True), list_required_columns(table))
        for table in tables
    }


def _check_keys(ctx: Context, manifest: ShopFileManifest) -> None:
    """Raises Conflict if no server key can decrypt the secrets of the file."""
    keys = ctx.shared.keys
    fingerprints = {keys.fingerprint(key_id) for key_id in keys}
    if manifest.has_secrets and not set(manifest.key_fingerprints) <= fingerprints:
        raise Conflict(
            "The secrets in the file need the server keys of the shop that was exported: set SHOP_SECRET_KEYS to them, "
            "or export without --with-secrets."
        )


async def _check_empty(ctx: Context, extensions: Sequence[ExtensionTableSet]) -> None:
    extension_tables = [table for each in extensions for table in each.tables]
    used_table = await queries.find_used_table(ctx.db, [*_NEW_TABLES, *extension_tables])
    if used_table:
        raise Conflict(
            f"The shop is not empty: the table {used_table} has rows. A whole shop can only be imported into a new "
            "database."
        )


async def _lock_empty_shop(ctx: Context, extensions: Sequence[ExtensionTableSet]) -> None:
    await lift_time_limits(ctx.db)
    await queries.create_event_partitions(ctx.db)
    await queries.lock_tables(ctx.db, [*EXPORT_TABLES, *(table for each in extensions for table in each.tables)])
    await _check_empty(ctx, extensions)


async def _insert_shop(
    ctx: Context, file: ShopFileReader, manifest: ShopFileManifest, report: ShopImportReport, advance: Advance
) -> None:
    shop_version = await queries.find_shop_version(ctx.db)
    await queries.delete_rows(ctx.db, [table for table in reversed(EXPORT_TABLES) if table in INITIAL_TABLES])
    parts = {part.name: part for part in manifest.tables}
    for table in EXPORT_TABLES:
        if table is listing_sales:
            await _build_listings(ctx)
            await queries.delete_rows(ctx.db, [listing_sales])
        if table.name in parts:
            await _insert_table(ctx, file, table, parts[table.name], report, advance)
    await queries.set_sold_counts(ctx.db)
    await queries.set_shop_version(ctx.db, shop_version + 1)
    await queries.restart_indexes(ctx.db)


async def _insert_extensions(
    ctx: Context, file: ShopFileReader, selection: ExtensionSelection, report: ShopImportReport, advance: Advance
) -> None:
    """Inserts the rows of extensions. Those that are left out leave no progress of listeners either."""
    for table_set, extension_part in selection.pairs:
        parts = {part.name: part for part in extension_part.tables}
        for table in table_set.tables:
            if table.name in parts:
                await _insert_table(ctx, file, table, parts[table.name], report, advance)
    for missing in selection.missing:
        await delete_listeners(ctx.db, missing.name)
        await delete_webhooks(ctx.db, missing.name)


async def _insert_table(
    ctx: Context,
    file: ShopFileReader,
    table: ShopTable,
    part: TableManifest,
    report: ShopImportReport,
    advance: Advance,
) -> None:
    lines = file.lines(records_member(table.name), part.size, part.sha256)
    try:
        await queries.insert_rows(ctx.db, table, part.columns, _convert_lines(table, part, lines, advance))
    except (InvalidRow, ConstraintViolation) as error:
        raise Malformed(f"The rows of {table.name} in the file are not valid: {error}.") from None
    report.tables += 1
    report.rows += part.rows


async def _convert_lines(
    table: ShopTable, part: TableManifest, lines: Iterator[bytes], advance: Advance
) -> AsyncIterator[bytes]:
    """Yields the lines of COPY in batches."""
    convert, number, batch = queries.line_converter(table, part.columns), 0, []
    for number, line in enumerate(lines, start=1):
        try:
            batch.append(convert(line))
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise Malformed(f"Line {number} of {table.name} in the file is not valid: {error}.") from None
        if len(batch) == _BATCH:
            yield b"".join(batch)
            advance(len(batch))
            batch.clear()
    if number != part.rows:
        raise Malformed(f"The file has {number} rows of {table.name}, but its manifest says {part.rows}.")
    if batch:
        yield b"".join(batch)
        advance(len(batch))


async def _build_listings(ctx: Context) -> None:
    """Builds the listings of all products."""
    last = UUID(int=0)
    while product_ids := await queries.list_product_ids(ctx.db, last, _BATCH):
        await product_index.refresh(ctx.db, product_ids)
        last = product_ids[-1]


async def _save_media(
    ctx: Context, file: ShopFileReader, manifest: ShopFileManifest, report: ShopImportReport, *, is_dry_run: bool
) -> list[UUID]:
    """Saves the files of all images and returns their ids; a dry run only checks them."""
    image_ids: list[UUID] = []
    for image_name, files in groupby(_list_media(file, manifest), lambda entry: entry.name.partition("/")[0]):
        contents = {
            entry.name.partition("/")[2]: file.read_checked(
                media_member(entry.name), entry.size, entry.sha256, most=MAX_MEDIA_BYTES
            )
            for entry in files
        }
        image_id = UUID(image_name)
        if not is_dry_run:
            # In a transaction of its own: the mark must outlive a failed import.
            await queries.mark_files_loose(ctx.db.separate(), [image_id])
            # An import that was killed may have saved some of them.
            await ctx.shared.media.remove(image_id)
            await ctx.shared.media.save(image_id, contents)
        image_ids.append(image_id)
        report.files += len(contents)
    return image_ids


def _list_media(file: ShopFileReader, manifest: ShopFileManifest) -> Iterator[MediaFile]:
    decoder = msgspec.json.Decoder(MediaFile)
    for line in file.lines(MEDIA_LIST, manifest.media.size, manifest.media.sha256):
        try:
            entry = decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise Malformed("The list of images in the file cannot be read; export the shop again.") from None
        if not is_media_name(entry.name):
            raise Malformed(f"The file has an image with an invalid name: {entry.name[:80]!r}.")
        yield entry
