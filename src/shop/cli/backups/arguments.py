"""The places, backups and passphrases that commands take, and their progress on standard error."""

import re
import sys
from pathlib import Path
from time import monotonic

import click
import msgspec

from shop.actions.backups.restores import StoredBackup, find_newest
from shop.base.config.buckets import Bucket, parse_place
from shop.base.config.setting_parsers import parse_passphrase
from shop.base.config.settings import Settings
from shop.base.errors import CannotStart
from shop.gateways.backup_places import BackupPlace, open_place
from shop.rules.backups.folders import is_folder

LATEST = "latest"
_PROGRESS_SECONDS = 2.0


def read_place(settings: Settings, text: str | None) -> BackupPlace:
    """Opens the place of an argument, or of SHOP_BACKUP_URL without one."""
    place = settings.backup_url if text is None else _parse(text)
    if place is None:
        raise CannotStart("Give a directory or the URL of a bucket, or set SHOP_BACKUP_URL.")
    return open_place(place)


def read_backup(settings: Settings, text: str) -> StoredBackup:
    """Opens a backup: a path, the URL of a bucket with the name at its end, or a name in SHOP_BACKUP_URL."""
    if settings.backup_url and (text == LATEST or is_folder(text)) and not Path(text).exists():
        place = open_place(settings.backup_url)
        return StoredBackup(place, find_newest(place) if text == LATEST else text)
    address = _parse(re.sub(r"/+(?=$|\?)", "", text))
    if isinstance(address, Bucket):
        prefix, _, folder = address.prefix.rpartition("/")
        return StoredBackup(open_place(msgspec.structs.replace(address, prefix=prefix)), folder)
    directory = address.absolute()
    return StoredBackup(open_place(directory.parent), directory.name)


def _parse(text: str) -> Bucket | Path:
    try:
        return parse_place(text)
    except ValueError as error:
        raise CannotStart(f"The place of the backup cannot be read: {error}.") from None


def read_passphrase(settings: Settings, *, is_new: bool) -> str:
    """Returns SHOP_BACKUP_PASSPHRASE, or asks for a passphrase."""
    if settings.backup_passphrase:
        return settings.backup_passphrase
    if not sys.stdin.isatty():
        raise CannotStart("The keys need a passphrase: set SHOP_BACKUP_PASSPHRASE, or run the command in a terminal.")
    text: str = click.prompt("Passphrase of the keys", hide_input=True, confirmation_prompt=is_new, err=True)
    try:
        return parse_passphrase(text)
    except ValueError as error:
        raise CannotStart(f"The passphrase cannot be used: {error}.") from None


class Progress:
    """Prints lines of progress, at most one in two seconds."""

    def __init__(self) -> None:
        self._next = monotonic() + _PROGRESS_SECONDS

    def __call__(self, line: str) -> None:
        if monotonic() >= self._next:
            self._next = monotonic() + _PROGRESS_SECONDS
            click.echo(f"  {line}", err=True)
