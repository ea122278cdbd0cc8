"""Writes and reads the zip file of a whole shop, member by member.

A reader trusts nothing in the file: names, sizes and checksums are checked while it reads.
"""

import hashlib
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from zlib import error as ZlibError  # noqa: N812

from shop.base.errors import Malformed

MAX_LINE_BYTES = 64 << 20
MAX_RATIO = 200
"""How much larger than its compressed form a large member may be: more is a decompression bomb."""
_LARGE_BYTES = 64 << 20
_CHUNK = 1 << 18
_DAMAGE = "The file is damaged or incomplete; copy or export it again."


class MemberWriter:
    """Writes one member, and counts its bytes and lines."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out = out
        self._checksum = hashlib.sha256()
        self.size = 0
        self.lines = 0

    def write(self, data: bytes) -> None:
        self._out.write(data)
        self._checksum.update(data)
        self.size += len(data)
        self.lines += data.count(b"\n")

    @property
    def sha256(self) -> str:
        return self._checksum.hexdigest()


class ShopFileWriter:
    """A new zip file."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive

    @contextmanager
    def member(self, name: str, *, is_compressed: bool = True) -> Iterator[MemberWriter]:
        info = zipfile.ZipInfo(name)
        info.compress_type = zipfile.ZIP_DEFLATED if is_compressed else zipfile.ZIP_STORED
        info.external_attr = 0o600 << 16
        with self._archive.open(info, "w", force_zip64=True) as out:
            yield MemberWriter(out)


@contextmanager
def create_shop_file(path: Path) -> Iterator[ShopFileWriter]:
    """Creates a file that only its owner can read. It appears complete or not at all, and replaces no other file."""
    if path.exists():
        raise Malformed(f"{path} exists; name another file.")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        descriptor = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except OSError as error:
        raise Malformed(f"{path} cannot be written ({error.strerror}).") from None
    try:
        with os.fdopen(descriptor, "wb") as out:
            with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
                yield ShopFileWriter(archive)
            out.flush()
            os.fsync(out.fileno())
        # Unlike a rename, a hard link does not replace a file that appeared in the meantime.
        os.link(part, path)
    except OSError as error:
        raise Malformed(f"{path} cannot be written ({error.strerror}).") from None
    finally:
        part.unlink()


class ShopFileReader:
    """The members of a zip file, each read once, as a stream."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._members = {info.filename: info for info in archive.infolist()}
        if len(self._members) != len(archive.infolist()):
            raise Malformed("The file contains a member twice; export the shop again.")

    @property
    def names(self) -> set[str]:
        return set(self._members)

    def read(self, name: str, *, most: int) -> bytes:
        """Returns a small member."""
        info = self._find(name)
        if info.file_size > most:
            raise Malformed(f"{name} in the file is larger than {most} bytes.")
        return b"".join(self._chunks(info, info.file_size))

    def read_checked(self, name: str, size: int, sha256: str, *, most: int) -> bytes:
        """Returns a small member, checked."""
        data = self.read(name, most=most)
        if len(data) != size or hashlib.sha256(data).hexdigest() != sha256:
            raise Malformed(f"{name} in the file differs from its checksum; copy or export the file again.")
        return data

    def lines(self, name: str, size: int, sha256: str) -> Iterator[bytes]:
        """Yields the lines of a member of this size and checksum; raises Malformed at its end if they differ."""
        info = self._find(name)
        if size > max(_LARGE_BYTES, MAX_RATIO * info.compress_size):
            raise Malformed(f"{name} in the file is compressed too strongly to be genuine.")
        checksum, rest = hashlib.sha256(), b""
        for chunk in self._chunks(info, size):
            checksum.update(chunk)
            first, *others = chunk.split(b"\n")
            rest += first
            for line in others:
                yield rest
                rest = line
            if len(rest) > MAX_LINE_BYTES:
                raise Malformed(f"{name} in the file has a line of more than {MAX_LINE_BYTES} bytes.")
        if rest or info.file_size != size or checksum.hexdigest() != sha256:
            raise Malformed(f"{name} in the file differs from its checksum; copy or export the file again.")

    def _find(self, name: str) -> zipfile.ZipInfo:
        info = self._members.get(name)
        if info is None:
            raise Malformed(f"The file lacks {name}; it is no export of a whole shop, or incomplete.")
        if info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED} or info.flag_bits & 1:
            raise Malformed(f"{name} in the file is packed in another way than exports are.")
        return info

    def _chunks(self, info: zipfile.ZipInfo, most: int) -> Iterator[bytes]:
        """Yields at most this many bytes, whatever the file says about itself."""
        size = 0
        try:
            with self._archive.open(info) as member:
                while chunk := member.read(_CHUNK):
                    size += len(chunk)
                    if size > most:
                        raise Malformed(f"{info.filename} in the file is larger than its manifest says.")
                    yield chunk
        except (zipfile.BadZipFile, ZlibError, EOFError, NotImplementedError, OSError):
            raise Malformed(_DAMAGE) from None


@contextmanager
def open_shop_file(path: Path) -> Iterator[ShopFileReader]:
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        raise Malformed(_DAMAGE) from None
    except OSError as error:
        raise Malformed(f"{path} cannot be read ({error.strerror}).") from None
    with archive:
        yield ShopFileReader(archive)
