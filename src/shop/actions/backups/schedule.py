"""Scheduled backups: one process of all makes one when it is due, retries a failed one, and removes old ones."""

import asyncio
import os
from collections.abc import Iterable
from contextlib import suppress
from datetime import timedelta

import structlog

from shop.actions.backups.backups import result_values
from shop.actions.backups.restores import is_complete
from shop.actions.backups.snapshots import BackupSource, BackupWriter
from shop.actions.context import Shared
from shop.base.errors import BackupError, CannotStart, Unavailable
from shop.base.ids import new_id
from shop.db.embedded import database_url
from shop.db.pool import Database, open_database
from shop.gateways.backup_places import BackupPlace, open_place
from shop.models.backups.backups import Backup
from shop.models.backups.manifests import MANIFEST, Manifest, name_folder
from shop.queries.backups import backups as queries
from shop.rules.backups.folders import is_folder, list_expired
from shop.rules.backups.schedule import is_due

RENEWAL_SECONDS = 15.0
_DAY = 86_400
_INTERRUPTED = "The process that made it ended."
_TAKEN_OVER = "Another process has taken over this backup."
_log = structlog.get_logger("shop.backups")


async def run_due_backup(shared: Shared) -> None:
    """Makes a backup if one is due and no other process makes one."""
    if shared.settings.backup_url is None:
        return
    place = open_place(shared.settings.backup_url)
    backup, interrupted_backups = await _lease_due(shared, str(place))
    await asyncio.to_thread(_remove_partial, place, interrupted_backups)
    if backup:
        await _run(shared, place, backup)


async def _lease_due(shared: Shared, place: str) -> tuple[Backup | None, list[Backup]]:
    """Leases a backup if one is due; returns it, and those whose process ended before they were complete."""
    db = shared.database.session()
    async with db.transaction():
        if not await queries.try_lock(db):
            return None, []
        interrupted_backups = await queries.fail_interrupted(db, _INTERRUPTED)
        state = await queries.find_place_state(db, place)
        hours = shared.settings.backup_hours
        if state.is_running or not is_due(
            hours, state.seconds_since_complete, state.failure_count, state.seconds_since_failure
        ):
            return None, interrupted_backups
        return await queries.start_backup(db, new_id(), place, name_folder(state.now)), interrupted_backups


def _remove_partial(place: BackupPlace, interrupted_backups: Iterable[Backup]) -> None:
    for backup in interrupted_backups:
        if backup.place == str(place) and not is_complete(place, backup.folder):
            place.remove_folder(backup.folder, MANIFEST)


async def _run(shared: Shared, place: BackupPlace, backup: Backup) -> None:
    _log.info("backup started", place=backup.place, folder=backup.folder)
    renewal = asyncio.create_task(_renew_lease(shared, backup))
    try:
        manifest = await _write(shared, place, backup)
        await queries.finish_backup(shared.database.session(), backup.id, **result_values(manifest))
        _log.info("backup completed", folder=backup.folder, bytes=manifest.size, images=manifest.image_count)
        await _remove_expired(shared, place, manifest)
    except asyncio.CancelledError:
        # This process stops; another one starts again at once.
        with suppress(Unavailable):
            await queries.forget_backup(shared.database.session(), backup.id)
        raise
    except Exception as error:
        reason = str(error) if isinstance(error, CannotStart) else f"unexpected error: {type(error).__name__}"
        await queries.fail_backup(shared.database.session(), backup.id, reason)
        _log.error("backup failed", folder=backup.folder, reason=reason)
        if not isinstance(error, CannotStart):
            raise
    finally:
        renewal.cancel()


async def _write(shared: Shared, place: BackupPlace, backup: Backup) -> Manifest:
    settings = shared.settings
    url = settings.database_url or database_url(settings.data_dir)
    # Connections of its own: a long snapshot must not take one from the requests.
    database = open_database(url, size=2)
    source = BackupSource(
        database=database,
        url=url,
        media=shared.media,
        keys=shared.keys,
        passphrase=settings.backup_passphrase,
        environ=os.environ,
    )

    async def confirm() -> None:
        if not await queries.extend_lease(shared.database.session(), backup.id):
            raise BackupError(_TAKEN_OVER)

    try:
        return await BackupWriter(source, place, backup.folder, lambda _: None, confirm).write()
    finally:
        await database.close()


async def _renew_lease(shared: Shared, backup: Backup) -> None:
    while True:
        await asyncio.sleep(RENEWAL_SECONDS)
        with suppress(Unavailable):
            await queries.extend_lease(shared.database.session(), backup.id)


async def _remove_expired(shared: Shared, place: BackupPlace, newest: Manifest) -> None:
    folders = await remove_expired(shared.database, place, newest, shared.settings.backup_keep)
    if folders:
        _log.info("old backups removed", folders=folders)


async def remove_expired(database: Database, place: BackupPlace, newest: Manifest, days: int) -> list[str]:
    """Removes the backups of a place that are older, and their entries in the list; returns their folders."""
    folders = await asyncio.to_thread(_remove_folders, place, name_folder(newest.ended_at - timedelta(days=days)))
    if await queries.has_table(database.session()):
        await queries.delete_expired(database.session(), str(place), most_seconds=days * _DAY)
    return folders


def _remove_folders(place: BackupPlace, oldest: str) -> list[str]:
    folders = place.list_folders()
    complete_folders = [folder for folder in folders if is_folder(folder) and is_complete(place, folder)]
    expired_folders = list_expired(folders, complete_folders, oldest)
    for folder in expired_folders:
        place.remove_folder(folder, MANIFEST)
    return expired_folders
