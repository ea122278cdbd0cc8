"""`shop restore`: restores a backup into the configured database."""

import asyncio
import sys

import click

from shop.actions.backups.restores import StoredBackup, find_target_state
from shop.app.configuration import read_keys
from shop.base.config.settings import Settings
from shop.base.crypto.key_file import KEY_FILE
from shop.base.crypto.keys import Keys, parse_keys
from shop.base.errors import CannotStart
from shop.cli.backups.arguments import Progress, read_backup, read_passphrase
from shop.cli.backups.verification import check_version
from shop.cli.prepare import database, load_settings, make_data_dir, write_key_file
from shop.gateways.media import open_media
from shop.migrations.upgrade import current_revision, newest_revision, upgrade


@click.command(epilog="Example: shop restore /mnt/backups/shop-20261118T030000Z")
@click.argument("name", metavar="BACKUP")
@click.option("--keys", "with_keys", is_flag=True, help="Restore the secret keys too; asks for their passphrase.")
@click.option("--replace", "is_replacement", is_flag=True, help="Delete what the database contains.")
@click.option("--yes", is_flag=True, help="Do not ask before the database is replaced.")
def restore(name: str, with_keys: bool, is_replacement: bool, yes: bool) -> None:
    """Restore BACKUP into the configured database, which must be empty, and its images into the image store.

    BACKUP is the path of a backup, or its name or `latest` in SHOP_BACKUP_URL. Its checksums are verified first. The
    database is restored in one transaction: if the command fails or is stopped, it remains as it was.
    """
    settings = load_settings()
    backup = read_backup(settings, name)
    check_version(backup)
    backup.check_files(Progress())
    keys = _read_keys(settings, backup, is_replacement=is_replacement) if with_keys else None
    with database(settings) as (url, _):
        asyncio.run(current_revision(url))
        target = find_target_state(url)
        _check_target(target.relation_count, target.connection_count, is_replacement=is_replacement, yes=yes)
        media = open_media(settings.media_url, settings.data_dir)
        image_count = asyncio.run(backup.restore_media(media, Progress()))
        click.echo(f"  {image_count:,} images restored", err=True)
        backup.load_database(url, target.postgres_version, must_drop=target.relation_count > 0)
        if backup.manifest.revision != newest_revision():
            click.echo(f"  migrating from revision {backup.manifest.revision}", err=True)
            upgrade(url)
    if keys:
        _write_keys(settings, keys)
    click.echo(f"Restored {backup}, the shop of {backup.manifest.started_at:%Y-%m-%d %H:%M:%S} UTC.")
    for line in _list_advice(settings, backup):
        click.echo(line)


def _check_target(relation_count: int, connection_count: int, *, is_replacement: bool, yes: bool) -> None:
    if relation_count and not is_replacement:
        raise CannotStart(
            "The database is not empty; restore into an empty one, or replace everything in it with --replace."
        )
    if connection_count:
        raise CannotStart(
            f"The database has {connection_count} other connections; stop the shop and everything else that uses it."
        )
    if relation_count and not yes:
        if not sys.stdin.isatty():
            raise CannotStart("--replace deletes everything in the database; add --yes to do it without a question.")
        answer = click.prompt("This deletes everything in the database. Type `replace` to continue", err=True)
        if answer != "replace":
            raise CannotStart("Nothing was changed.")


def _read_keys(settings: Settings, backup: StoredBackup, *, is_replacement: bool) -> Keys:
    """Decrypts the keys, and checks that they can be written, before anything is changed."""
    if not backup.manifest.has_keys:
        raise CannotStart(f"{backup} does not contain the secret keys; restore it without --keys.")
    keys = parse_keys(backup.read_keys(read_passphrase(settings, is_new=False)))
    if settings.secret_keys:
        if _fingerprints(settings.secret_keys) != _fingerprints(keys):
            raise CannotStart(
                "SHOP_SECRET_KEYS differs from the keys of the backup; unset it to restore them to a file."
            )
        return keys
    make_data_dir(settings)
    file = settings.data_dir / KEY_FILE
    if file.exists() and not is_replacement and _fingerprints(read_keys(settings)) != _fingerprints(keys):
        raise CannotStart(f"{file} contains other keys; move it away, or replace it with --replace.")
    return keys


def _write_keys(settings: Settings, keys: Keys) -> None:
    if settings.secret_keys:
        return
    file = settings.data_dir / KEY_FILE
    if file.exists() and _fingerprints(read_keys(settings)) != _fingerprints(keys):
        file.replace(file.with_name(f"{KEY_FILE}.replaced"))
    write_key_file(file, keys.to_text())


def _fingerprints(keys: Keys) -> set[str]:
    return {keys.fingerprint(key_id) for key_id in keys}


def _list_advice(settings: Settings, backup: StoredBackup) -> list[str]:
    """Says whether the keys of the backup are configured here, and what to do."""
    try:
        fingerprints = _fingerprints(read_keys(settings))
    except CannotStart:
        fingerprints = set()
    missing = [entry.id for entry in backup.manifest.keys if entry.fingerprint not in fingerprints]
    advice = []
    if missing:
        advice.append(
            f"The secret keys {', '.join(missing)} of this shop are not configured here. Without them, authenticators "
            "of operators and secrets of webhooks cannot be read, and guest carts and open links are lost. "
            "Restore them: "
            + ("run this command with --keys --replace." if backup.manifest.has_keys else "see docs/backup.md.")
        )
    elif settings.database_url and not settings.secret_keys:
        advice.append(f"Set SHOP_SECRET_KEYS to the content of {settings.data_dir / KEY_FILE} on every machine.")
    advice.append("Before you open the shop, run `shop keys void-before now`: what was revoked since is valid again.")
    return advice
