"""Stores image files in a local directory or an S3-compatible store.

An image's files have short names and are grouped by its id. After a partial save, the caller removes the files.
"""

import asyncio
import contextlib
import os
import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from uuid import UUID

import structlog

from shop.base.config.buckets import Bucket
from shop.base.errors import Unavailable
from shop.base.lazy_modules import LazyModule
from shop.gateways.buckets import open_bucket

if TYPE_CHECKING:
    import obstore
    from obstore import exceptions as store_errors
else:
    obstore = LazyModule("obstore")
    store_errors = LazyModule("obstore.exceptions")

T = TypeVar("T")
Files = Mapping[str, bytes]
_AWAY = "Image storage is temporarily unavailable; retry in a few seconds."
_TEMPORARY_SUFFIX = ".new"
_ATTRIBUTES = {"Content-Type": "image/webp"}
# A separate pool, so that a hanging store does not block other work in threads.
_threads = ThreadPoolExecutor(max_workers=16, thread_name_prefix="pictures")
_log = structlog.get_logger("shop.media")


class MediaStore(Protocol):
    """The interface of an image store. Raises Unavailable if it cannot be reached."""

    async def save(self, image_id: UUID, files: Files) -> None: ...

    async def find(self, image_id: UUID, name: str) -> bytes | None: ...

    async def remove(self, image_id: UUID) -> None:
        """Removes all files of an image, complete or not; a no-op if there are none."""


@lru_cache(maxsize=8)
def open_media(bucket: Bucket | None, data_dir: Path) -> MediaStore:
    """Returns the configured store: one per process, not accessed before first use."""
    return BucketStore(bucket) if bucket else DirectoryStore(data_dir / "media")


class DirectoryStore:
    """Stores each image in a directory, written under a temporary name and renamed, so that it appears complete."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def save(self, image_id: UUID, files: Files) -> None:
        await _in_thread(self._save, image_id, files)

    async def find(self, image_id: UUID, name: str) -> bytes | None:
        return await _in_thread(self._find, image_id, name)

    async def remove(self, image_id: UUID) -> None:
        await _in_thread(self._remove, image_id)

    def _directory(self, image_id: UUID) -> Path:
        return self._root / str(image_id)

    def _save(self, image_id: UUID, files: Files) -> None:
        temporary = self._directory(image_id).with_suffix(_TEMPORARY_SUFFIX)
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary.mkdir(mode=0o700)
        for name, data in files.items():
            _write(temporary / name, data)
        temporary.rename(self._directory(image_id))
        # The row survives a power failure, so the directory entry must too.
        _sync(self._root)

    def _find(self, image_id: UUID, name: str) -> bytes | None:
        try:
            return (self._directory(image_id) / name).read_bytes()
        except FileNotFoundError:
            return None

    def _remove(self, image_id: UUID) -> None:
        for directory in (self._directory(image_id), self._directory(image_id).with_suffix(_TEMPORARY_SUFFIX)):
            with contextlib.suppress(FileNotFoundError):
                shutil.rmtree(directory)


class BucketStore:
    """Stores each file as an object, over HTTP."""

    def __init__(self, bucket: Bucket) -> None:
        # A caller is waiting, so the second failure is final.
        self._store = open_bucket(bucket, seconds=20, retries=1)

    async def save(self, image_id: UUID, files: Files) -> None:
        await _in_thread(self._save, image_id, files)

    async def find(self, image_id: UUID, name: str) -> bytes | None:
        return await _in_thread(self._find, image_id, name)

    async def remove(self, image_id: UUID) -> None:
        await _in_thread(self._remove, image_id)

    # Synchronous calls: the asynchronous ones complete in threads that Python does not join at exit, and such a thread
    # aborts the process if it then waits for the interpreter.

    def _save(self, image_id: UUID, files: Files) -> None:
        for name, data in files.items():
            obstore.put(self._store, f"{image_id}/{name}", data, attributes=_ATTRIBUTES, use_multipart=False)

    def _find(self, image_id: UUID, name: str) -> bytes | None:
        try:
            return bytes(obstore.get(self._store, f"{image_id}/{name}").bytes())
        except FileNotFoundError:
            return None

    def _remove(self, image_id: UUID) -> None:
        for batch in obstore.list(self._store, str(image_id)):
            obstore.delete(self._store, [item["path"] for item in batch])


async def _in_thread(work: Callable[..., T], *arguments: Any) -> T:
    try:
        return await asyncio.get_running_loop().run_in_executor(_threads, work, *arguments)
    except (store_errors.BaseError, OSError) as error:
        # The response may repeat the request, so only the type of the error is logged.
        _log.warning("image storage is not available", reason=type(error).__name__)
        raise Unavailable(_AWAY) from None


def _write(file: Path, data: bytes) -> None:
    with file.open("xb") as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
