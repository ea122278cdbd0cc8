"""Parses multipart bodies into text fields and files: in memory, or streamed for a form that ends with one file."""

from collections.abc import Sequence
from typing import Any

import msgspec
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from shop.base.errors import Malformed

MULTIPART = "multipart/form-data"
MAX_PARTS = 20
MAX_FIELD_LENGTH = 64 * 1024
MAX_HEADER_LENGTH = 8 * 1024
_LONG_HEADERS = f"The headers of a part have more than {MAX_HEADER_LENGTH:,} bytes."


class Parts(msgspec.Struct, frozen=True):
    """The fields and files of a body in their order, each with its field name."""

    fields: Sequence[tuple[str, str]]
    files: Sequence[tuple[str, bytes]]


class _Part:
    """One part while it is parsed."""

    def __init__(self) -> None:
        self.headers: dict[bytes, bytes] = {}
        self.data = bytearray()


class _Reader:
    """Collects parts from the parser's callbacks."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.parts: list[_Part] = []
        self._name = self._value = b""
        self.is_ended = False

    def on_part_begin(self) -> None:
        if len(self.parts) == self._most:
            raise Malformed(f"The body has more than {self._most} parts.")
        self.parts.append(_Part())

    def on_header_begin(self) -> None:
        self._name = self._value = b""

    def on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._name += self._check_header(data[start:end])

    def on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += self._check_header(data[start:end])

    def on_header_end(self) -> None:
        self.parts[-1].headers[self._name.lower()] = self._value
        if sum(map(len, self.parts[-1].headers)) > MAX_HEADER_LENGTH:
            raise Malformed(_LONG_HEADERS)

    def _check_header(self, data: bytes) -> bytes:
        if len(self._name) + len(self._value) + len(data) > MAX_HEADER_LENGTH:
            raise Malformed(_LONG_HEADERS)
        return data

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        self.parts[-1].data += memoryview(data)[start:end]

    def on_end(self) -> None:
        self.is_ended = True


def read_parts(content_type: bytes, body: bytes, most: int = MAX_PARTS) -> Parts:
    reader = _Reader(most)
    parser = _open_parser(content_type, reader)
    _write(parser, body)
    _finish(parser, reader)
    fields, files = [], []
    for part in reader.parts:
        name, is_file = _disposition(part)
        if is_file:
            files.append((name, bytes(part.data)))
        else:
            fields.append((name, _text(part)))
    return Parts(fields, files)


class _FileReader(_Reader):
    """Collects the fields before the file, and the data of the file that was not taken yet."""

    def __init__(self, most: int) -> None:
        super().__init__(most)
        self.has_file = False

    def on_part_begin(self) -> None:
        if self.has_file:
            raise Malformed("The file must be the last part of the body.")
        super().on_part_begin()

    def on_headers_finished(self) -> None:
        self.has_file = _disposition(self.parts[-1])[1]

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        super().on_part_data(data, start, end)
        if not self.has_file:
            _check_field(self.parts[-1])


class FileStream:
    """Parses a body chunk by chunk: text fields, and then one file, which is never in memory as a whole."""

    def __init__(self, content_type: bytes) -> None:
        self._reader = _FileReader(MAX_PARTS)
        self._parser = _open_parser(content_type, self._reader)

    @property
    def has_file(self) -> bool:
        """Whether the file has begun: all fields are known then."""
        return self._reader.has_file

    @property
    def fields(self) -> list[tuple[str, str]]:
        parts = [(part, *_disposition(part)) for part in self._reader.parts]
        return [(name, _text(part)) for part, name, is_file in parts if not is_file]

    def write(self, data: bytes) -> None:
        _write(self._parser, data)

    def take(self) -> bytes:
        """Returns the data of the file that arrived since the last call."""
        if not self.has_file:
            return b""
        part = self._reader.parts[-1]
        data, part.data = bytes(part.data), bytearray()
        return data

    def end(self) -> None:
        """Raises Malformed if the body is incomplete."""
        _finish(self._parser, self._reader)


def _open_parser(content_type: bytes, reader: _Reader) -> MultipartParser:
    callbacks: Any = {name: getattr(reader, name) for name in dir(reader) if name.startswith("on_")}
    try:
        boundary = parse_options_header(content_type)[1][b"boundary"]
        return MultipartParser(boundary, callbacks)
    except (FormParserError, KeyError):
        raise _unreadable() from None


def _write(parser: MultipartParser, data: bytes) -> None:
    try:
        parser.write(data)
    except FormParserError:
        raise _unreadable() from None


def _finish(parser: MultipartParser, reader: _Reader) -> None:
    try:
        parser.finalize()
    except FormParserError:
        raise _unreadable() from None
    if not reader.is_ended:
        raise _unreadable()


def _disposition(part: _Part) -> tuple[str, bool]:
    kind, options = parse_options_header(part.headers.get(b"content-disposition", b""))
    try:
        name = options[b"name"].decode()
    except (KeyError, UnicodeDecodeError):
        raise _unreadable() from None
    if kind != b"form-data" or not name:
        raise _unreadable()
    return name, b"filename" in options


def _check_field(part: _Part) -> None:
    if len(part.data) > MAX_FIELD_LENGTH:
        raise Malformed(f"A field of the body has more than {MAX_FIELD_LENGTH:,} bytes; send a file with a filename.")


def _text(part: _Part) -> str:
    _check_field(part)
    try:
        return part.data.decode()
    except UnicodeDecodeError:
        raise _unreadable() from None


def _unreadable() -> Malformed:
    return Malformed("The body is not valid multipart/form-data with named parts and UTF-8 text.")
