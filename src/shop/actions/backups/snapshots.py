"""Makes a backup: a dump of one snapshot of the database, the images in it, the settings, and at last the manifest."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Any, TypeVar

import msgspec

from shop import __version__
from shop.actions.backups.media import save_media
from shop.base.config.settings import split_settings
from shop.base.crypto.keys import Keys
from shop.base.crypto.sealed_text import seal
from shop.base.errors import BackupError, Unavailable
from shop.db.dumps import Interruption, read_dump
from shop.db.pool import Database, DatabaseSession
from shop.gateways.backup_places import BackupPlace
from shop.gateways.media import MediaStore
from shop.models.backups.manifests import (
    DUMP,
    KEYS,
    MANIFEST,
    MEDIA_INDEX,
    SETTINGS,
    FileEntry,
    KeyEntry,
    Manifest,
    SettingsDocument,
)
from shop.queries.backups import snapshots as queries
from shop.queries.backups.snapshots import ListedImage, SnapshotState
from shop.rules.backups.folders import is_folder

T = TypeVar("T")
_STATEMENT_SECONDS = 3600.0
_UNAVAILABLE = "The database or the image store is not available; try again."


class BackupSource(msgspec.Struct, frozen=True, kw_only=True):
    """The shop that is backed up. With a passphrase, the backup contains its keys, encrypted."""

    database: Database
    url: str
    media: MediaStore
    keys: Keys | None
    passphrase: str | None
    environ: Mapping[str, str]


class DatabaseCopy(msgspec.Struct, frozen=True):
    """What a backup takes from the database."""

    state: SnapshotState
    dump: FileEntry
    row_counts: dict[str, int]
    images: list[ListedImage]


class BackupWriter:
    """Writes one backup. `report` takes lines of progress; `confirm` raises if the backup must not be completed."""

    def __init__(
        self,
        source: BackupSource,
        place: BackupPlace,
        folder: str,
        report: Callable[[str], None],
        confirm: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._source, self._place, self._folder = source, place, folder
        self._partial_folder = folder
        self._report, self._confirm = report, confirm
        self._interruption = Interruption()

    async def write(self) -> Manifest:
        """Writes the backup; removes what it has written if it fails or is canceled, and what a killed one has left."""
        await asyncio.to_thread(self._place.remove_abandoned, is_folder)
        self._partial_folder = await asyncio.to_thread(self._place.create_folder, self._folder)
        try:
            manifest = await self._write_files()
            await self._run_in_thread(self._place.publish_folder, self._partial_folder, self._folder)
            return manifest
        except Unavailable:
            await self._clean_up()
            raise BackupError(_UNAVAILABLE) from None
        except BaseException:
            await self._clean_up()
            raise

    async def _clean_up(self) -> None:
        with suppress(BackupError):
            await asyncio.to_thread(self._place.remove_folder, self._partial_folder, MANIFEST)

    async def _write_files(self) -> Manifest:
        snapshot = await self._write_dump()
        source = self._source
        media = await save_media(source.media, self._place, self._partial_folder, snapshot.images, self._report)
        files = [snapshot.dump, await self._write(MEDIA_INDEX, media.lines)]
        public, secret = split_settings(source.environ)
        files.append(await self._write(SETTINGS, [_to_document(SettingsDocument(public, secret))]))
        if source.passphrase and source.keys:
            sealed_keys = await asyncio.to_thread(seal, source.keys.to_text(), source.passphrase)
            files.append(await self._write(KEYS, [sealed_keys]))
        if self._confirm:
            await self._confirm()
        manifest = Manifest(
            shop_version=__version__,
            revision=snapshot.state.revision,
            postgres_version=snapshot.state.postgres_version,
            started_at=snapshot.state.now,
            ended_at=await queries.find_time(source.database.session()),
            files=files,
            image_count=len(snapshot.images),
            media_size=media.size,
            missing_media=media.missing,
            row_counts=snapshot.row_counts,
            keys=_list_keys(source.keys),
        )
        await self._write(MANIFEST, [_to_document(manifest)])
        return manifest

    async def _write_dump(self) -> DatabaseCopy:
        db = self._source.database.session()
        db.seconds = _STATEMENT_SECONDS
        async with db.transaction(is_snapshot=True):
            await queries.remove_limits(db)
            state = await queries.find_state(db)
            if state is None:
                raise BackupError("The database contains no shop; there is nothing to back up.")
            chunks = read_dump(
                self._source.url, state.id, state.postgres_version, queries.EXCLUDED_TABLE, self._interruption
            )
            dump = await self._write(DUMP, self._report_size(chunks))
            return DatabaseCopy(state, dump, await queries.count_rows(db), await _list_images(db))

    def _report_size(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        size = 0
        for chunk in chunks:
            size += len(chunk)
            self._report(f"database: {size / 1e6:,.1f} MB")
            yield chunk

    async def _write(self, path: str, chunks: Iterable[bytes]) -> FileEntry:
        checked_chunks = CheckedChunks(chunks, self._interruption)
        await self._run_in_thread(checked_chunks.write_to, self._place, self._partial_folder, path)
        return checked_chunks.entry(path)

    async def _run_in_thread(self, work: Callable[..., T], *arguments: Any) -> T:
        """Runs blocking work. If this task is canceled, ends the work and waits for it: it must write nothing later."""
        task = asyncio.ensure_future(asyncio.to_thread(work, *arguments))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            self._interruption.set()
            with suppress(BackupError):
                await task
            raise


class CheckedChunks:
    """Chunks whose size and SHA-256 are calculated while they are read."""

    def __init__(self, chunks: Iterable[bytes], interruption: Interruption) -> None:
        self._chunks, self._interruption = chunks, interruption
        self._size, self._hash = 0, sha256()
        self._error: Exception | None = None

    def __iter__(self) -> Iterator[bytes]:
        try:
            for chunk in self._chunks:
                if self._interruption.is_set:
                    raise BackupError("The backup was canceled.")
                self._size += len(chunk)
                self._hash.update(chunk)
                yield chunk
        except Exception as error:
            self._error = error
            raise

    def write_to(self, place: BackupPlace, folder: str, path: str) -> None:
        try:
            place.write(folder, path, self)
        except Exception:
            # A store may replace the error of its input with one of its own.
            if self._error:
                raise self._error from None
            raise

    def entry(self, path: str) -> FileEntry:
        return FileEntry(path, self._size, self._hash.hexdigest())


def _list_keys(keys: Keys | None) -> list[KeyEntry]:
    return [KeyEntry(key_id, keys.fingerprint(key_id)) for key_id in keys] if keys else []


async def _list_images(db: DatabaseSession) -> list[ListedImage]:
    return list(await queries.list_images(db))


def _to_document(value: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
