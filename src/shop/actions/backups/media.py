"""Copies the files of images between the image store and a backup, a few images at a time."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import groupby
from uuid import UUID

import msgspec

from shop.gateways.backup_places import BackupPlace
from shop.gateways.media import MediaStore
from shop.models.backups.manifests import MEDIA, FileEntry
from shop.queries.backups.snapshots import ListedImage
from shop.rules.catalog.images import styles_of

CONCURRENT_IMAGES = 8
Report = Callable[[str], None]


class MediaCopy(msgspec.Struct):
    """What was copied: the files as lines of an index, their size, and those that the image store did not have."""

    lines: list[bytes] = []  # msgspec copies the default.
    size: int = 0
    missing: list[str] = []


async def save_media(
    store: MediaStore, place: BackupPlace, folder: str, images: Sequence[ListedImage], report: Report
) -> MediaCopy:
    """Copies the files of the images to a backup."""
    copy = MediaCopy()
    for start in range(0, len(images), CONCURRENT_IMAGES):
        batch = images[start : start + CONCURRENT_IMAGES]
        await asyncio.gather(*(_save_image(store, place, folder, image, copy) for image in batch))
        report(f"images: {start + len(batch):,} of {len(images):,}")
    copy.lines.sort()
    copy.missing.sort()
    return copy


async def _save_image(store: MediaStore, place: BackupPlace, folder: str, image: ListedImage, copy: MediaCopy) -> None:
    for style in styles_of(image.width, image.height):
        name = f"{image.id}/{style.name}"
        data = await store.find(image.id, style.name)
        if data is None:
            copy.missing.append(name)
            continue
        await asyncio.to_thread(place.write, folder, f"{MEDIA}/{name}", [data])
        entry = FileEntry(f"{MEDIA}/{name}", len(data), sha256(data).hexdigest())
        copy.lines.append(msgspec.json.encode(entry) + b"\n")
        copy.size += entry.size


async def restore_media(
    store: MediaStore, place: BackupPlace, folder: str, entries: Sequence[FileEntry], report: Report
) -> int:
    """Copies the files of a backup to the image store; returns the number of images that were not there yet."""
    images = list(_group_by_image(entries))
    count = 0
    for start in range(0, len(images), CONCURRENT_IMAGES):
        batch = images[start : start + CONCURRENT_IMAGES]
        count += sum(await asyncio.gather(*(_restore_image(store, place, folder, *each) for each in batch)))
        report(f"images: {start + len(batch):,} of {len(images):,}")
    return count


def _group_by_image(entries: Sequence[FileEntry]) -> Iterator[tuple[UUID, Mapping[str, FileEntry]]]:
    sorted_entries = sorted(entries, key=lambda entry: entry.path)
    for image_id, group in groupby(sorted_entries, key=lambda entry: entry.path.split("/")[1]):
        yield UUID(image_id), {entry.path.split("/")[2]: entry for entry in group}


async def _restore_image(
    store: MediaStore, place: BackupPlace, folder: str, image_id: UUID, entries: Mapping[str, FileEntry]
) -> bool:
    """Files never change, so an image that is there and complete remains."""
    stored_files = {name: await store.find(image_id, name) for name in entries}
    if all(data is not None and len(data) == entries[name].size for name, data in stored_files.items()):
        return False
    files = {name: await asyncio.to_thread(_read_file, place, folder, entry.path) for name, entry in entries.items()}
    await store.remove(image_id)
    await store.save(image_id, files)
    return True


def _read_file(place: BackupPlace, folder: str, path: str) -> bytes:
    return b"".join(place.read(folder, path))
