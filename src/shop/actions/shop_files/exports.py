"""Exports the whole shop to one file.

    snapshot  ->  one member of JSON lines for each table  ->  files of images  ->  their list  ->  manifest

The manifest comes last: a file without it is incomplete.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from uuid import UUID

import msgspec

from shop import __version__
from shop.actions.context import Context
from shop.gateways.shop_file import MemberWriter, ShopFileWriter, create_shop_file
from shop.models.catalog.images import images
from shop.models.shop_files.manifest import FORMAT, ExtensionManifest, MediaFile, ShopFileManifest, TableManifest
from shop.models.shop_files.tables import ExtensionTableSet, ShopTable, list_columns, list_tables
from shop.queries.setup.shop import find_state
from shop.queries.shop_files import exports as queries
from shop.rules.catalog.images import styles_of
from shop.rules.shop_files.members import MANIFEST, MEDIA_LIST, media_member, records_member

Advance = Callable[[int], None]
_encode = msgspec.json.Encoder().encode


class ExportReport(msgspec.Struct):
    """What an export wrote."""

    rows: int = 0
    tables: int = 0
    files: int = 0
    missing_files: int = 0
    """The files of images that the image store does not have."""


class _Snapshot(msgspec.Struct, frozen=True):
    """The database part of a file."""

    tables: list[TableManifest]
    extensions: list[ExtensionManifest]
    images: list[tuple[UUID, int, int]]
    revision: str
    exported_at: str


async def export_shop(
    ctx: Context, path: Path, *, extensions: Sequence[ExtensionTableSet], with_secrets: bool, advance: Advance
) -> ExportReport:
    """Writes the whole shop, with the tables of these extensions, to a new file, which appears when it is complete."""
    report = ExportReport()
    with create_shop_file(path) as file:
        snapshot = await _write_tables(ctx, file, extensions, with_secrets=with_secrets, advance=advance)
        media = await _write_media(ctx, file, snapshot.images, report)
        keys = ctx.shared.keys
        manifest = ShopFileManifest(
            format=FORMAT,
            shop_version=__version__,
            revision=snapshot.revision,
            exported_at=snapshot.exported_at,
            has_secrets=with_secrets,
            key_fingerprints=[keys.fingerprint(key_id) for key_id in keys] if with_secrets else [],
            tables=snapshot.tables,
            media=media,
            extensions=snapshot.extensions,
        )
        with file.member(MANIFEST) as out:
            out.write(msgspec.json.format(_encode(manifest)))
    tables = [*snapshot.tables, *(table for extension in snapshot.extensions for table in extension.tables)]
    report.tables, report.rows = len(tables), sum(table.rows for table in tables)
    return report


async def _write_tables(
    ctx: Context,
    file: ShopFileWriter,
    extensions: Sequence[ExtensionTableSet],
    *,
    with_secrets: bool,
    advance: Advance,
) -> _Snapshot:
    image_sizes: list[tuple[UUID, int, int]] = []

    async def write(table: ShopTable) -> TableManifest:
        columns = list_columns(table, has_secrets=with_secrets)
        with file.member(records_member(table.name)) as out:
            await _write_table(ctx, table, columns, out, image_sizes, advance)
        return TableManifest(str(table.name), columns, out.lines, out.size, out.sha256)

    async with ctx.db.transaction(is_snapshot=True):
        await queries.lift_time_limits(ctx.db)
        state = await find_state(ctx.db)
        exported_at = await queries.read_time(ctx.db)
        tables = [await write(table) for table in list_tables(has_secrets=with_secrets)]
        extension_parts = [
            ExtensionManifest(each.name, each.version, each.revision, [await write(table) for table in each.tables])
            for each in extensions
        ]
    return _Snapshot(tables, extension_parts, image_sizes, state.revision if state else "", exported_at)


async def _write_table(
    ctx: Context,
    table: ShopTable,
    columns: list[str],
    out: MemberWriter,
    image_sizes: list[tuple[UUID, int, int]],
    advance: Advance,
) -> None:
    def write(lines: bytes) -> None:
        out.write(lines)
        advance(lines.count(b"\n"))
        if table is images:
            rows = map(msgspec.json.decode, lines.splitlines())
            image_sizes.extend((UUID(row["id"]), row["width"], row["height"]) for row in rows)

    await queries.copy_rows(ctx.db, table, columns, write)


async def _write_media(
    ctx: Context, file: ShopFileWriter, image_sizes: list[tuple[UUID, int, int]], report: ExportReport
) -> TableManifest:
    """Writes the files of images. A file that is gone, because its image was deleted meanwhile, is left out."""
    entries: list[bytes] = []
    for image_id, width, height in image_sizes:
        for style in styles_of(width, height):
            data = await ctx.shared.media.find(image_id, style.name)
            if data is None:
                report.missing_files += 1
                continue
            name = f"{image_id}/{style.name}"
            with file.member(media_member(name), is_compressed=False) as out:
                out.write(data)
            entries.append(_encode(MediaFile(name, out.size, out.sha256)) + b"\n")
            report.files += 1
    with file.member(MEDIA_LIST) as out:
        for entry in entries:
            out.write(entry)
    return TableManifest("media", [], out.lines, out.size, out.sha256)
