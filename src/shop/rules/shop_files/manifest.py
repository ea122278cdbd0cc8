"""Checks whether this version can import a file, from its manifest alone."""

import re
from collections.abc import Collection, Mapping, Sequence

import msgspec

from shop.base.errors import Malformed
from shop.models.shop_files.manifest import FORMAT, ShopFileManifest, TableManifest

MAX_MANIFEST_BYTES = 4 << 20
_SHA256 = re.compile("[0-9a-f]{64}", re.ASCII)


class TableColumns(msgspec.Struct, frozen=True):
    """The columns of a table of this version."""

    all: Collection[str]
    required: Collection[str]
    """The columns that have no default."""


def read_manifest(data: bytes, revisions: Collection[str]) -> ShopFileManifest:
    """Decodes a manifest; raises Malformed if another or a newer program wrote the file."""
    try:
        head = msgspec.json.decode(data)
        file_format = head.get("format") if isinstance(head, dict) else None
        if type(file_format) is int and file_format > FORMAT:
            raise Malformed(
                f"The file has format {file_format}; this version reads up to {FORMAT}. Install a newer one."
            )
        manifest = msgspec.convert(head, ShopFileManifest)
        if manifest.format != FORMAT:
            raise Malformed(f"The file has format {manifest.format}, which no version writes; export the shop again.")
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise Malformed("The manifest of the file cannot be read; export the shop again.") from None
    if manifest.revision not in revisions:
        raise Malformed(
            f"The file is from version {manifest.shop_version[:40]!r} (migration {manifest.revision[:40]!r}), which is "
            "newer than this program. Install that version or a newer one."
        )
    return manifest


def check_tables(manifests: Sequence[TableManifest], tables: Mapping[str, TableColumns]) -> None:
    """Raises Malformed if the file has tables or columns that this version does not know, or lacks required ones."""
    names = [table.name for table in manifests]
    if len(set(names)) != len(names):
        raise Malformed("The manifest of the file names a table twice; export the shop again.")
    for table in manifests:
        known_columns = tables.get(table.name)
        if known_columns is None:
            raise Malformed(f"The file has a table that this version does not know: {table.name[:60]!r}.")
        _check_columns(table.name, table.columns, known_columns)
        check_member(table)


def check_member(manifest: TableManifest) -> None:
    """Raises Malformed if the size or the checksum of a member cannot be one."""
    if min(manifest.size, manifest.rows) < 0 or not _SHA256.fullmatch(manifest.sha256):
        raise Malformed("The manifest of the file cannot be read; export the shop again.")


def _check_columns(table: str, columns: Sequence[str], known_columns: TableColumns) -> None:
    if len(set(columns)) != len(columns):
        raise Malformed(f"The manifest of the file names a column of {table} twice; export the shop again.")
    for name in columns:
        if name not in known_columns.all:
            raise Malformed(f"The file has a column that this version does not know: {table}.{name[:60]}.")
    for name in known_columns.required:
        if name not in columns:
            raise Malformed(f"The file lacks the column {table}.{name}, which this version requires.")
