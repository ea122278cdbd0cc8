"""The folders of a place: which are backups, and which are removed."""

import re
from collections.abc import Collection, Iterable

_FOLDER = re.compile(r"shop-[0-9]{8}T[0-9]{6}Z", re.ASCII)
_PARTIAL_FOLDER = re.compile(rf"{_FOLDER.pattern}\.partial", re.ASCII)


def is_folder(name: str) -> bool:
    return _FOLDER.fullmatch(name) is not None


def is_partial_folder(name: str) -> bool:
    """Returns whether this is the name of a backup that is being written, or whose process was killed."""
    return _PARTIAL_FOLDER.fullmatch(name) is not None


def list_expired(folders: Iterable[str], complete_folders: Collection[str], oldest: str) -> list[str]:
    """Returns the folders with a name before `oldest`, complete or not; never the newest complete one."""
    newest = max(complete_folders, default="")
    return sorted(
        folder
        for folder in folders
        if (is_folder(folder) or is_partial_folder(folder)) and folder < oldest and folder != newest
    )
