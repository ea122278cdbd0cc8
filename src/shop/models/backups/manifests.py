"""The manifest of a backup: what it contains, and with which checksums."""

from datetime import UTC, datetime

import msgspec

FORMAT = 1
"""The newest format of backups that this program writes and reads."""
MANIFEST, DUMP, SETTINGS, MEDIA_INDEX, KEYS = (
    "manifest.json",
    "database.dump",
    "settings.json",
    "media.jsonl",
    "keys.json",
)
MEDIA = "media"
"""The folder of image files in a backup: one folder for each image."""


class FileEntry(msgspec.Struct, frozen=True):
    """A file of a backup: its path in the folder, its size and its SHA-256."""

    path: str
    size: int
    sha256: str


class KeyEntry(msgspec.Struct, frozen=True):
    """A secret key that the shop used: its id and a fingerprint, which reveals nothing about the key."""

    id: str
    fingerprint: str


class SettingsDocument(msgspec.Struct, frozen=True):
    """The settings of the shop; of those that can contain a secret, only the names."""

    settings: dict[str, str]
    not_included: list[str]


class BackupFormat(msgspec.Struct, frozen=True):
    """The part of a manifest that every program can read."""

    format: int
    shop_version: str = "unknown"


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """Describes a backup. It is written last: a folder without it is not a backup."""

    format: int = FORMAT
    shop_version: str
    revision: str
    """The newest migration of the database."""
    postgres_version: int
    """The major version of the server."""
    started_at: datetime
    """The time of the snapshot: the backup contains everything committed before."""
    ended_at: datetime
    files: list[FileEntry]
    """All files except those of images, which `media.jsonl` lists in the same form."""
    image_count: int
    media_size: int
    missing_media: list[str]
    """Files of images in the database that the image store did not have."""
    row_counts: dict[str, int]
    keys: list[KeyEntry]
    """The secret keys that encrypted columns and tokens need. The backup contains them if it has `keys.json`."""

    @property
    def size(self) -> int:
        return self.media_size + sum(each.size for each in self.files)

    @property
    def has_keys(self) -> bool:
        return any(each.path == KEYS for each in self.files)


def name_folder(time: datetime) -> str:
    """Returns the name of the folder of a backup; names sort by time."""
    return f"{time.astimezone(UTC):shop-%Y%m%dT%H%M%SZ}"
