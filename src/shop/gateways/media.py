"""Where the files of pictures lie: in a directory of this machine, or in any store that speaks S3.

A picture's files have short names and lie together under its id. What was saved by halves is the caller's to remove.
"""

import asyncio
import contextlib
import os
import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, TypeVar
from uuid import UUID

import obstore
import structlog
from obstore.exceptions import BaseError
from obstore.store import S3Store

from shop.base.buckets import Bucket
from shop.base.errors import Unavailable

T = TypeVar("T")
Files = Mapping[str, bytes]
_AWAY = "The pictures cannot be reached right now; repeat in a few seconds."
_UNFINISHED = ".new"
_ATTRIBUTES = {"Content-Type": "image/webp"}
# A store that hangs holds up no other work that is done in threads.
_threads = ThreadPoolExecutor(max_workers=16, thread_name_prefix="pictures")
_log = structlog.get_logger("shop.media")


class MediaStore(Protocol):
    """What the shop asks of a store. Unavailable when it cannot be reached."""

    async def save(self, image_id: UUID, files: Files) -> None: ...

    async def find(self, image_id: UUID, name: str) -> bytes | None: ...

    async def remove(self, image_id: UUID) -> None:
        """What is there of it, be it by halves; of a picture that is not there, nothing."""


@lru_cache(maxsize=8)
def open_media(bucket: Bucket | None, data_dir: Path) -> MediaStore:
    """The configured store; there is one for all of a process, and nothing is looked at before it is used."""
    return BucketStore(bucket) if bucket else DirectoryStore(data_dir / "media")


class DirectoryStore:
    """A directory for each picture, made under another name and then renamed: it is there with all its files."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def save(self, image_id: UUID, files: Files) -> None:
        await _in_thread(self._save, image_id, files)

    async def find(self, image_id: UUID, name: str) -> bytes | None:
        return await _in_thread(self._find, image_id, name)

    async def remove(self, image_id: UUID) -> None:
        await _in_thread(self._remove, image_id)

    def _place(self, image_id: UUID) -> Path:
        return self._root / str(image_id)

    def _save(self, image_id: UUID, files: Files) -> None:
        making = self._place(image_id).with_suffix(_UNFINISHED)
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        making.mkdir(mode=0o700)
        for name, data in files.items():
            _write(making / name, data)
        making.rename(self._place(image_id))
        # The row outlives a power cut, so the names of its files must too.
        _sync(self._root)

    def _find(self, image_id: UUID, name: str) -> bytes | None:
        try:
            return (self._place(image_id) / name).read_bytes()
        except FileNotFoundError:
            return None

    def _remove(self, image_id: UUID) -> None:
        for place in (self._place(image_id), self._place(image_id).with_suffix(_UNFINISHED)):
            with contextlib.suppress(FileNotFoundError):
                shutil.rmtree(place)


class BucketStore:
    """An object for each file, over HTTP."""

    def __init__(self, bucket: Bucket) -> None:
        self._store = S3Store(
            bucket.name,
            prefix=bucket.prefix or None,
            endpoint=bucket.endpoint,
            region=bucket.region,
            # Given like this, nothing of the machine's own AWS credentials is mixed in.
            credential_provider=lambda: _credential(bucket),
            virtual_hosted_style_request=False,
            # Not every store that speaks S3 can remove several objects at once.
            disable_bulk_delete=True,
            client_options={
                "allow_http": bucket.endpoint.startswith("http://"),
                "connect_timeout": timedelta(seconds=3),
                "timeout": timedelta(seconds=20),
            },
            # Somebody waits for the answer: what fails at the second try is told.
            retry_config={"max_retries": 1, "retry_timeout": timedelta(seconds=20)},
        )

    async def save(self, image_id: UUID, files: Files) -> None:
        await _in_thread(self._save, image_id, files)

    async def find(self, image_id: UUID, name: str) -> bytes | None:
        return await _in_thread(self._find, image_id, name)

    async def remove(self, image_id: UUID) -> None:
        await _in_thread(self._remove, image_id)

    # Not its asynchronous calls: those are ended by threads that Python does not know and does not wait for at its end,
    # and one that still waits for the interpreter then aborts the process.

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


def _credential(bucket: Bucket) -> Any:
    return {
        "access_key_id": bucket.key_id,
        "secret_access_key": bucket.secret,
        "token": None,
        "expires_at": None,
    }


async def _in_thread(work: Callable[..., T], *arguments: Any) -> T:
    try:
        return await asyncio.get_running_loop().run_in_executor(_threads, work, *arguments)
    except (BaseError, OSError) as error:
        # What the store answered may repeat what we sent, so only the kind of it is told.
        _log.warning("the pictures cannot be reached", reason=type(error).__name__)
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
