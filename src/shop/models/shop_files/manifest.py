"""The manifest of a file with a whole shop."""

import msgspec

FORMAT = 1
"""The version of the format. Increment it if a file of the new version cannot be read by the rules of the old one."""


class TableManifest(msgspec.Struct, frozen=True):
    """One table of the file: its columns, and the size and checksum of its member."""

    name: str
    columns: list[str]
    rows: int
    size: int
    sha256: str


class ExtensionManifest(msgspec.Struct, frozen=True):
    """The tables of an extension in the file."""

    name: str
    version: str
    revision: str
    """The newest migration of the extension in the database that was exported."""
    tables: list[TableManifest]


class ShopFileManifest(msgspec.Struct, frozen=True):
    """What a file contains, and which version of the shop wrote it."""

    format: int
    shop_version: str
    revision: str
    """The newest migration of the database that was exported."""
    exported_at: str
    has_secrets: bool
    key_fingerprints: list[str]
    """With secrets: which server keys can decrypt them."""
    tables: list[TableManifest]
    media: TableManifest
    """The list of the files of images."""
    extensions: list[ExtensionManifest] = []


class MediaFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file of an image, such as `0192…/240.webp`."""

    name: str
    size: int
    sha256: str
