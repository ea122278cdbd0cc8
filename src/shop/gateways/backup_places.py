"""Stores backups in a directory or an S3-compatible store: a folder for each, files in it, streamed.

Only the owner can read the files of a directory. All functions block; callers run them in threads.
"""

import contextlib
import errno
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Protocol, TypeVar

import obstore
from obstore.exceptions import BaseError

from shop.base.config.buckets import Bucket
from shop.base.errors import BackupError
from shop.gateways.buckets import open_bucket

T = TypeVar("T")
Chunks = Iterable[bytes]
_CHUNK = 1 << 20
_PART = 32 << 20
"""The size of a part of a large object; a store accepts 10,000 parts."""
_REQUEST_SECONDS = 300
_TEMPORARY_SUFFIX = ".new"


class BackupPlace(Protocol):
    """The interface of a place. Raises BackupError if it cannot be reached, read or written."""

    def list_folders(self) -> list[str]:
        """Returns the names of all folders, of complete backups and others."""

    def create_folder(self, folder: str) -> None:
        """Creates a folder; raises BackupError if it exists."""

    def remove_folder(self, folder: str, first: str) -> None:
        """Removes a folder, and before all others its file `first`; a no-op if there is none."""

    def write(self, folder: str, path: str, chunks: Chunks) -> None:
        """Writes a file, which appears complete."""

    def read(self, folder: str, path: str) -> Iterator[bytes]:
        """Yields the content of a file; raises FileNotFoundError if there is none."""


def open_place(place: Bucket | Path) -> BackupPlace:
    return BucketPlace(place) if isinstance(place, Bucket) else DirectoryPlace(place)


def describe_place(place: Bucket | Path) -> str:
    """Returns a name of the place for people, without credentials."""
    return f"{place.name}/{place.prefix} at {place.endpoint}" if isinstance(place, Bucket) else str(place)


class DirectoryPlace:
    """Folders in a directory."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def __str__(self) -> str:
        return str(self._root)

    def list_folders(self) -> list[str]:
        with self._reporting("read"):
            return [entry.name for entry in self._root.iterdir() if entry.is_dir()] if self._root.exists() else []

    def create_folder(self, folder: str) -> None:
        with self._reporting("written"):
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self._root / folder).mkdir(mode=0o700)

    def remove_folder(self, folder: str, first: str) -> None:
        with self._reporting("written"):
            (self._root / folder / first).unlink(missing_ok=True)
            with contextlib.suppress(FileNotFoundError):
                shutil.rmtree(self._root / folder)

    def write(self, folder: str, path: str, chunks: Chunks) -> None:
        file = self._root / folder / path
        temporary = file.with_name(file.name + _TEMPORARY_SUFFIX)
        with self._reporting("written"):
            for parent in reversed(Path(path).parents):
                # One by one: `parents=True` would create the others with the default mode.
                (self._root / folder / parent).mkdir(mode=0o700, exist_ok=True)
            with open(temporary, "xb", opener=_open_private) as out:
                for chunk in chunks:
                    out.write(chunk)
                out.flush()
                os.fsync(out.fileno())
            temporary.rename(file)
            _sync_directory(file.parent)

    def read(self, folder: str, path: str) -> Iterator[bytes]:
        with self._reporting("read"), (self._root / folder / path).open("rb") as file:
            while chunk := file.read(_CHUNK):
                yield chunk

    @contextmanager
    def _reporting(self, verb: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if verb == "read" and isinstance(error, FileNotFoundError):
                raise
            reason = "it is full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else error.strerror
            raise BackupError(f"{self._root} cannot be {verb}: {reason}.") from None


class BucketPlace:
    """Folders as prefixes of the keys of a bucket."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        self._store = open_bucket(bucket, seconds=_REQUEST_SECONDS, retries=3)

    def __str__(self) -> str:
        return describe_place(self._bucket)

    def list_folders(self) -> list[str]:
        prefixes = self._call(lambda: obstore.list_with_delimiter(self._store)["common_prefixes"])
        return [prefix.rstrip("/").rpartition("/")[2] for prefix in prefixes]

    def create_folder(self, folder: str) -> None:
        if self._list_files(folder):
            raise BackupError(f"{folder} already exists in {self}; try again.")

    def remove_folder(self, folder: str, first: str) -> None:
        files = sorted(self._list_files(folder), key=lambda path: path != f"{folder}/{first}")
        for path in files:
            self._call(lambda path=path: obstore.delete(self._store, [path]))  # type: ignore[misc]

    def write(self, folder: str, path: str, chunks: Chunks) -> None:
        key, iterator = f"{folder}/{path}", iter(chunks)
        start: list[bytes] = []
        while sum(map(len, start)) < _PART and (chunk := next(iterator, None)) is not None:
            start.append(chunk)
        following = next(iterator, None)
        if following is None:
            self._call(lambda: obstore.put(self._store, key, b"".join(start), use_multipart=False))
            return
        parts = chain(start, [following], iterator)
        self._call(lambda: obstore.put(self._store, key, parts, chunk_size=_PART, max_concurrency=2))

    def read(self, folder: str, path: str) -> Iterator[bytes]:
        result = self._call(lambda: obstore.get(self._store, f"{folder}/{path}"))
        iterator = iter(result.stream(min_chunk_size=_CHUNK))
        while chunk := self._call(lambda: next(iterator, None)):
            yield bytes(chunk)

    def _list_files(self, folder: str) -> list[str]:
        return self._call(lambda: [item["path"] for batch in obstore.list(self._store, folder) for item in batch])

    def _call(self, request: Callable[[], T]) -> T:
        try:
            return request()
        except FileNotFoundError:
            raise
        except (BaseError, OSError) as error:
            # The text of the error may repeat the request, so only its type is shown.
            raise BackupError(f"{self} does not respond or rejects the request ({type(error).__name__}).") from None


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
