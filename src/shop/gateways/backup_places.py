"""Stores backups and the archive in a directory or an S3-compatible store: folders with files, streamed.

Only the owner can read the files of a directory. All functions block; callers run them in threads.
"""

import contextlib
import errno
import fcntl
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from shop.base.config.buckets import Bucket
from shop.base.errors import BackupError
from shop.base.lazy_modules import LazyModule
from shop.gateways.buckets import open_bucket

if TYPE_CHECKING:
    import obstore
    from obstore import exceptions as store_errors
else:
    obstore = LazyModule("obstore")
    store_errors = LazyModule("obstore.exceptions")

T = TypeVar("T")
Chunks = Iterable[bytes]
_CHUNK = 1 << 20
_PART = 32 << 20
"""The size of a part of a large object; a store accepts 10,000 parts."""
_REQUEST_SECONDS = 300
_TEMPORARY_SUFFIX = ".new"
_PARTIAL_SUFFIX = ".partial"
_LOCK_FILE = "writer.lock"


class BackupPlace(Protocol):
    """The interface of a place. Raises BackupError if it cannot be reached, read or written."""

    def list_folders(self) -> list[str]:
        """Returns the names of all folders, of complete backups and others."""

    def create_folder(self, folder: str) -> str:
        """Creates the folder of a backup that is being written, and returns the name that it has until
        `publish_folder`; raises BackupError if there is such a backup.
        """

    def publish_folder(self, partial_folder: str, folder: str) -> None:
        """Gives the folder of a complete backup its name."""

    def remove_abandoned(self, is_backup: Callable[[str], bool]) -> list[str]:
        """Removes the folders of backups whose process was killed, as far as that is certain; returns their names."""

    def remove_folder(self, folder: str, first: str) -> None:
        """Removes a folder, and before all others its file `first`; a no-op if there is none."""

    def write(self, folder: str, path: str, chunks: Chunks) -> None:
        """Writes a file, which appears complete."""

    def read(self, folder: str, path: str) -> Iterator[bytes]:
        """Yields the content of a file; raises FileNotFoundError if there is none."""

    def read_range(self, folder: str, path: str, start: int, size: int) -> bytes:
        """Returns a part of a file, or what there is of it; raises FileNotFoundError if there is none."""


def open_place(place: Bucket | Path) -> BackupPlace:
    return BucketPlace(place) if isinstance(place, Bucket) else DirectoryPlace(place)


def describe_place(place: Bucket | Path) -> str:
    """Returns a name of the place for people, without credentials."""
    return f"{place.name}/{place.prefix} at {place.endpoint}" if isinstance(place, Bucket) else str(place)


class DirectoryPlace:
    """Folders in a directory. A backup that is being written has another name, and a file that its process locks."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._locks: dict[str, int] = {}

    def __str__(self) -> str:
        return str(self._root)

    def list_folders(self) -> list[str]:
        with self._reporting("read"):
            return [entry.name for entry in self._root.iterdir() if entry.is_dir()] if self._root.exists() else []

    def create_folder(self, folder: str) -> str:
        partial_folder = folder + _PARTIAL_SUFFIX
        with self._reporting("written"):
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
            if (self._root / folder).exists() or (self._root / partial_folder).exists():
                raise BackupError(f"{folder} already exists in {self._root}; try again.")
            (self._root / partial_folder).mkdir(mode=0o700)
            lock = _open_lock(self._root / partial_folder)
            self._locks[partial_folder] = lock
            # A file system without locks cannot tell whose process was killed; retention removes the folder.
            with _ignoring_missing_locks():
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return partial_folder

    def publish_folder(self, partial_folder: str, folder: str) -> None:
        with self._reporting("written"):
            (self._root / partial_folder / _LOCK_FILE).unlink()
            (self._root / partial_folder).rename(self._root / folder)
            _sync_directory(self._root)
        self._unlock(partial_folder)

    def remove_abandoned(self, is_backup: Callable[[str], bool]) -> list[str]:
        names = [name for name in self.list_folders() if name.endswith(_PARTIAL_SUFFIX)]
        return [name for name in sorted(names) if is_backup(name.removesuffix(_PARTIAL_SUFFIX)) and self._take(name)]

    def _take(self, partial_folder: str) -> bool:
        """Removes a folder unless another process has locked it; returns whether it did."""
        try:
            lock = _open_lock(self._root / partial_folder)
        except OSError:  # Another process has just completed or removed it.
            return False
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(self._root / partial_folder, ignore_errors=True)
        except OSError:
            return False
        finally:
            os.close(lock)
        return True

    def remove_folder(self, folder: str, first: str) -> None:
        try:
            with self._reporting("written"):
                (self._root / folder / first).unlink(missing_ok=True)
                with contextlib.suppress(FileNotFoundError):
                    shutil.rmtree(self._root / folder)
        finally:
            self._unlock(folder)

    def _unlock(self, folder: str) -> None:
        if folder in self._locks:
            os.close(self._locks.pop(folder))

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

    def read_range(self, folder: str, path: str, start: int, size: int) -> bytes:
        with self._reporting("read"), (self._root / folder / path).open("rb") as file:
            file.seek(start)
            return file.read(size)

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

    def create_folder(self, folder: str) -> str:
        if self._list_files(folder):
            raise BackupError(f"{folder} already exists in {self}; try again.")
        return folder

    def publish_folder(self, partial_folder: str, folder: str) -> None:
        """A bucket cannot rename; a folder without its manifest, which is written last, is not a backup."""

    def remove_abandoned(self, is_backup: Callable[[str], bool]) -> list[str]:
        """A bucket has no locks; retention removes what a killed process left."""
        return []

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

    def read_range(self, folder: str, path: str, start: int, size: int) -> bytes:
        return bytes(self._call(lambda: obstore.get_range(self._store, f"{folder}/{path}", start=start, length=size)))

    def _list_files(self, folder: str) -> list[str]:
        return self._call(lambda: [item["path"] for batch in obstore.list(self._store, folder) for item in batch])

    def _call(self, request: Callable[[], T]) -> T:
        try:
            return request()
        except FileNotFoundError:
            raise
        except (store_errors.BaseError, OSError) as error:
            # The text of the error may repeat the request, so only its type is shown.
            raise BackupError(f"{self} does not respond or rejects the request ({type(error).__name__}).") from None


def _open_lock(folder: Path) -> int:
    return os.open(folder / _LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


@contextmanager
def _ignoring_missing_locks() -> Iterator[None]:
    try:
        yield
    except BlockingIOError:
        raise
    except OSError:
        pass


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
