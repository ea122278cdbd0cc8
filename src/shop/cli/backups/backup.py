"""`shop backup`: backs up the database, the images and the settings, or verifies a backup."""

import asyncio
import os
import sys

import click

from shop.actions.backups.backups import record_backup
from shop.actions.backups.schedule import remove_expired
from shop.actions.backups.snapshots import BackupSource, BackupWriter
from shop.app.configuration import read_keys
from shop.base.config.settings import Settings
from shop.base.crypto.keys import Keys
from shop.base.errors import CannotStart
from shop.cli.backups.arguments import Progress, read_backup, read_passphrase, read_place
from shop.cli.backups.verification import verify_backup
from shop.cli.prepare import database, load_settings
from shop.db.pool import open_database
from shop.gateways.backup_places import BackupPlace
from shop.gateways.media import open_media
from shop.migrations.upgrade import current_revision
from shop.models.backups.manifests import Manifest, name_folder
from shop.queries.backups.snapshots import find_time


@click.command(epilog="Example: shop backup /mnt/backups")
@click.argument("place", required=False)
@click.option("--with-keys", is_flag=True, help="Include the secret keys, encrypted with a passphrase.")
@click.option("--remove-old", "must_remove", is_flag=True, help="Afterward remove those older than SHOP_BACKUP_KEEP.")
@click.option("--verify", "is_verification", is_flag=True, help="Verify the backup PLACE instead of making one.")
def backup(place: str | None, with_keys: bool, must_remove: bool, is_verification: bool) -> None:
    """Back up the database, the images and the settings to PLACE, while the shop is running or stopped.

    PLACE is a directory, or a bucket as in SHOP_MEDIA_URL; without it, SHOP_BACKUP_URL. Prefer the setting for a
    bucket, because others on this machine can see the arguments of a command.

    With --verify, PLACE is a backup: its path, or its name or `latest` in SHOP_BACKUP_URL. It is restored into a
    temporary database, checked like `shop verify` does, and removed. Exits non-zero if a check fails.
    """
    settings = load_settings()
    if is_verification:
        problem_count = verify_backup(read_backup(settings, place or "latest"))
        sys.exit(1 if problem_count else 0)
    target = read_place(settings, place)
    keys = _find_keys(settings, is_required=with_keys)
    passphrase = read_passphrase(settings, is_new=True) if with_keys else None
    with database(settings) as (url, _):
        folder, manifest = asyncio.run(_back_up(settings, url, target, keys, passphrase))
        click.echo(f"{target}/{folder}: {manifest.size / 1e6:,.1f} MB, {manifest.image_count:,} images.")
        if must_remove:
            for name in asyncio.run(_remove_old(url, target, manifest, settings.backup_keep)):
                click.echo(f"{target}/{name}: removed.")
    _warn(manifest, is_external=settings.secret_keys is not None)


def _find_keys(settings: Settings, *, is_required: bool) -> Keys | None:
    try:
        return read_keys(settings)
    except CannotStart:
        if is_required:
            raise
        return None


async def _back_up(
    settings: Settings, url: str, place: BackupPlace, keys: Keys | None, passphrase: str | None
) -> tuple[str, Manifest]:
    if await current_revision(url) is None:
        raise CannotStart("The database contains no shop; there is nothing to back up.")
    db = open_database(url, size=2)
    try:
        folder = name_folder(await find_time(db.session()))
        source = BackupSource(
            database=db,
            url=url,
            media=open_media(settings.media_url, settings.data_dir),
            keys=keys,
            passphrase=passphrase,
            environ=os.environ,
        )
        manifest = await BackupWriter(source, place, folder, Progress()).write()
        await record_backup(db, str(place), folder, manifest)
        return folder, manifest
    finally:
        await db.close()


async def _remove_old(url: str, place: BackupPlace, newest: Manifest, days: int) -> list[str]:
    db = open_database(url, size=1)
    try:
        return await remove_expired(db, place, newest, days)
    finally:
        await db.close()


def _warn(manifest: Manifest, *, is_external: bool) -> None:
    if manifest.missing_media:
        click.echo(
            f"warning: the image store has no {manifest.missing_media[0]}"
            f"{f' and {len(manifest.missing_media) - 1:,} more' if len(manifest.missing_media) > 1 else ''}; "
            "the images cannot be restored.",
            err=True,
        )
    if not manifest.has_keys:
        source = "SHOP_SECRET_KEYS" if is_external else "`secret_keys` of the data directory"
        click.echo(f"The secret keys are not included: save {source} apart, or use --with-keys.", err=True)
