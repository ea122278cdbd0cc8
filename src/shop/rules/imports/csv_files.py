"""Reads CSV files piece by piece: their size and encoding, their delimiter and their rows."""

import codecs
import csv
from collections.abc import Callable, Iterator
from io import BufferedReader, RawIOBase, TextIOWrapper
from typing import Any, TextIO

MAX_BYTES = 100 * 1024 * 1024
MAX_COLUMNS = 200
MAX_RECORD = 2 * 1024 * 1024
"""Characters of one row, in all its lines."""
UTF_8, WINDOWS = "utf-8-sig", "cp1252"
_DELIMITERS = ",;\t"
LoadChunk = Callable[[int], bytes | None]
"""Returns the chunk of a file with this number; None after the last one."""


class FileCheck:
    """Checks a file while it arrives."""

    def __init__(self) -> None:
        self.size = 0
        self.encoding = UTF_8
        self._is_blank = True
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def add(self, data: bytes) -> None:
        """Adds the next bytes; raises ValueError if the file is too large or not a text file."""
        self.size += len(data)
        if self.size > MAX_BYTES:
            raise ValueError(f"is larger than {MAX_BYTES // 1024 // 1024} MB")
        if b"\x00" in data:
            raise ValueError("is not a text file")
        self._is_blank = self._is_blank and not data.strip()
        self._decode(data)

    def end(self) -> None:
        """Raises ValueError if the file is empty."""
        if self._is_blank:
            raise ValueError("is empty")
        self._decode(b"", is_last=True)

    def _decode(self, data: bytes, *, is_last: bool = False) -> None:
        """Notes whether the file is in UTF-8; other files are in Windows-1252."""
        if self.encoding == UTF_8:
            try:
                self._decoder.decode(data, is_last)
            except UnicodeDecodeError:
                self.encoding = WINDOWS


class _ChunkFile(RawIOBase):
    """A file whose bytes are loaded chunk by chunk."""

    def __init__(self, load: LoadChunk) -> None:
        self._load = load
        self._number = 0
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._rest:
            self._rest = memoryview(self._load(self._number) or b"")
            self._number += 1
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def open_chunks(load: LoadChunk, encoding: str) -> TextIO:
    """Opens a file that is stored in chunks; only one of them is in memory."""
    return TextIOWrapper(BufferedReader(_ChunkFile(load)), encoding, errors="replace", newline="")


def open_bytes(data: bytes, encoding: str) -> TextIO:
    return open_chunks(lambda number: None if number else data, encoding)


class _Lines:
    """The lines of a file; refuses a row that is too long, because it would be in memory as a whole."""

    def __init__(self, file: TextIO, first: str) -> None:
        self._file = file
        self._first = first
        self.size = 0
        """Characters since the end of the last row."""

    def __iter__(self) -> Iterator[str]:
        line = self._first
        while line:
            self.size += len(line)
            if self.size > MAX_RECORD:
                raise csv.Error(f"a row has more than {MAX_RECORD:,} characters")
            yield line
            line = self._file.readline(MAX_RECORD + 1)


def read_rows(file: TextIO) -> Iterator[tuple[int, list[str]]]:
    """Yields the rows with the numbers of their first lines, without empty rows; raises ValueError if it cannot.

    The delimiter is the one that is most frequent in the first line.
    """
    first = file.readline(MAX_RECORD + 1)
    lines = _Lines(file, first)
    reader = csv.reader(lines, delimiter=max(_DELIMITERS, key=first.count))
    number = 1
    try:
        for cells in reader:
            lines.size = 0
            if any(cell.strip() for cell in cells):
                yield number, cells
            number = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(f"cannot be read at line {number}: {error}") from None


def read_headers(file: TextIO) -> list[str]:
    """Returns the first row; raises ValueError if the file has no header, no row after it, or too many columns."""
    rows = read_rows(file)
    first, second = next(rows, None), next(rows, None)
    if first is None or second is None:
        raise ValueError("must have a line with the names of its columns and at least one more line")
    headers = [header.strip() for header in first[1]]
    if len(headers) > MAX_COLUMNS or any(len(header) > 200 for header in headers):
        raise ValueError(f"must have at most {MAX_COLUMNS} columns with names of at most 200 characters")
    return headers
