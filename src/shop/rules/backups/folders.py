"""The folders of a place: which are backups, and which are removed."""

import re
from collections.abc import Collection, Iterable

_FOLDER = re.compile(r"shop-[0-9]{8}T[0-9]{6}Z", re.ASCII)


def is_folder(name: str) -> bool:
    return _FOLDER.fullmatch(name) is not None


def list_expired(folders: Iterable[str], complete_folders: Collection[str], oldest: str) -> list[str]:
    """Returns the folders with a name before `oldest`, complete or not; never the newest complete one."""
    newest = max(complete_folders, default="")
    return sorted(folder for folder in folders if is_folder(folder) and folder < oldest and folder != newest)
