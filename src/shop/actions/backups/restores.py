"""Reads a backup: its manifest, the checksums of its files, and the dump that is loaded into a database."""

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterator
from hashlib import sha256
from typing import Any, TypeVar

import msgspec

from shop.actions.backups.media import restore_media
from shop.base.crypto.sealed_text import unseal
from shop.base.errors import BackupError, Unavailable
from shop.db.dumps import load_dump
from shop.db.pool import Database, open_database
from shop.gateways.backup_places import BackupPlace
from shop.gateways.media import MediaStore
from shop.models.backups.manifests import (
    DUMP,
    FORMAT,
    KEYS,
    MANIFEST,
    MEDIA_INDEX,
    SETTINGS,
    BackupFormat,
    FileEntry,
    Manifest,
)
from shop.queries.backups import restores as queries
from shop.queries.backups import snapshots as snapshot_queries
from shop.queries.backups.restores import TargetState
from shop.rules.backups.folders import is_folder

T = TypeVar("T")
Report = Callable[[str], None]
_FILES = {DUMP, SETTINGS, MEDIA_INDEX, KEYS}
_MEDIA_PATH = re.compile(r"media/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/[1-9][0-9]{0,4}\.webp", re.ASCII)
_STATEMENT_SECONDS = 3600.0


class StoredBackup:
    """A complete backup at a place."""

    def __init__(self, place: BackupPlace, folder: str) -> None:
        self._place, self._folder = place, folder
        self.manifest = self._read_manifest()
        self.media: list[FileEntry] = []
        """The files of images, once `check_files` has read their index."""

    def __str__(self) -> str:
        return self._folder

    def _read_manifest(self) -> Manifest:
        try:
            document = b"".join(self._place.read(self._folder, MANIFEST))
        except FileNotFoundError:
            raise BackupError(
                f"{self._place}/{self._folder} is not a backup: it has no {MANIFEST}, which is written last."
            ) from None
        try:
            version = msgspec.json.decode(document, type=BackupFormat)
            if version.format > FORMAT:
                raise BackupError(
                    f"{self._folder} has format {version.format} of shop {version.shop_version}, and this program "
                    f"reads formats up to {FORMAT}; install that version of the shop."
                )
            return msgspec.json.decode(document, type=Manifest)
        except msgspec.MsgspecError as error:
            raise BackupError(f"{MANIFEST} of {self._folder} is damaged: {error}.") from None

    def check_files(self, report: Report) -> None:
        """Compares the size and SHA-256 of every file; raises BackupError for the first that differs."""
        paths = {entry.path for entry in self.manifest.files}
        if not {DUMP, SETTINGS, MEDIA_INDEX} <= paths <= _FILES:
            raise BackupError(f"{MANIFEST} of {self._folder} is damaged: it names the wrong files.")
        for entry in self.manifest.files:
            self._check_file(entry)
            report(f"checksums: {entry.path}")
        self.media = list(self._read_media_index())
        for number, entry in enumerate(self.media, 1):
            self._check_file(entry)
            report(f"checksums: {number:,} of {len(self.media):,} files of images")

    def _check_file(self, entry: FileEntry) -> None:
        size, checksum = 0, sha256()
        try:
            for chunk in self._place.read(self._folder, entry.path):
                size += len(chunk)
                checksum.update(chunk)
        except FileNotFoundError:
            raise BackupError(f"{entry.path} of {self._folder} is missing.") from None
        if size != entry.size:
            raise BackupError(f"{entry.path} of {self._folder} is damaged: {size:,} bytes instead of {entry.size:,}.")
        if checksum.hexdigest() != entry.sha256:
            raise BackupError(f"{entry.path} of {self._folder} is damaged: its SHA-256 differs.")

    def _read_media_index(self) -> Iterator[FileEntry]:
        for line in b"".join(self._place.read(self._folder, MEDIA_INDEX)).splitlines():
            entry = msgspec.json.decode(line, type=FileEntry)
            if not _MEDIA_PATH.fullmatch(entry.path):
                raise BackupError(f"{MEDIA_INDEX} of {self._folder} is damaged: it names a wrong path.")
            yield entry

    def read_keys(self, passphrase: str) -> str:
        """Returns the secret keys as text; raises BackupError if the passphrase is wrong."""
        try:
            return unseal(b"".join(self._place.read(self._folder, KEYS)), passphrase)
        except ValueError as error:
            raise BackupError(f"The keys cannot be decrypted: {error}.") from None

    def load_database(self, url: str, server_version: int, *, must_drop: bool) -> None:
        """Loads the dump in one transaction."""
        load_dump(url, self._place.read(self._folder, DUMP), server_version, must_drop=must_drop)

    async def restore_media(self, store: MediaStore, report: Report) -> int:
        try:
            return await restore_media(store, self._place, self._folder, self.media, report)
        except Unavailable:
            raise BackupError("The image store is not available; try again.") from None


def find_newest(place: BackupPlace) -> str:
    """Returns the folder of the newest complete backup; raises BackupError if there is none."""
    for folder in sorted(filter(is_folder, place.list_folders()), reverse=True):
        if is_complete(place, folder):
            return folder
    raise BackupError(f"There is no backup in {place}.")


def is_complete(place: BackupPlace, folder: str) -> bool:
    try:
        return any(True for _ in place.read(folder, MANIFEST))
    except FileNotFoundError:
        return False


def find_target_state(url: str) -> TargetState:
    """Returns what the database contains, and who uses it."""

    async def find(database: Database) -> TargetState:
        return await queries.find_target_state(database.session())

    return _run(url, find)


def list_count_differences(url: str, manifest: Manifest) -> list[str]:
    """Compares the number of rows of each table with the manifest."""

    async def count(database: Database) -> dict[str, int]:
        db = database.session()
        db.seconds = _STATEMENT_SECONDS
        async with db.transaction(is_snapshot=True):
            await snapshot_queries.remove_limits(db)
            return await snapshot_queries.count_rows(db)

    counts = _run(url, count)
    return [
        f"{name} has {counts.get(name, 0):,} rows instead of {manifest.row_counts.get(name, 0):,}"
        for name in sorted(counts.keys() | manifest.row_counts.keys())
        if counts.get(name) != manifest.row_counts.get(name)
    ]


def _run(url: str, work: Callable[[Database], Coroutine[Any, Any, T]]) -> T:
    async def run() -> T:
        database = open_database(url, size=1)
        try:
            return await work(database)
        except Unavailable:
            raise BackupError("The database does not answer; try again.") from None
        finally:
            await database.close()

    return asyncio.run(run())
