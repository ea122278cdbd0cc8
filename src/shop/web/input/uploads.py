"""Parses multipart bodies into text fields and in-memory files."""

from collections.abc import Sequence

import msgspec
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from shop.base.errors import Malformed

MULTIPART = "multipart/form-data"
MAX_PARTS = 20
MAX_FIELD_LENGTH = 64 * 1024


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
        self._name += data[start:end]

    def on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def on_header_end(self) -> None:
        self.parts[-1].headers[self._name.lower()] = self._value

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        self.parts[-1].data += memoryview(data)[start:end]

    def on_end(self) -> None:
        self.is_ended = True


def read_parts(content_type: bytes, body: bytes, most: int = MAX_PARTS) -> Parts:
    reader = _Reader(most)
    try:
        boundary = parse_options_header(content_type)[1][b"boundary"]
        parser = MultipartParser(
            boundary,
            {
                "on_part_begin": reader.on_part_begin,
                "on_header_begin": reader.on_header_begin,
                "on_header_field": reader.on_header_field,
                "on_header_value": reader.on_header_value,
                "on_header_end": reader.on_header_end,
                "on_part_data": reader.on_part_data,
                "on_end": reader.on_end,
            },
        )
        parser.write(body)
        parser.finalize()
    except (FormParserError, KeyError):
        raise _unreadable() from None
    if not reader.is_ended:
        raise _unreadable()
    fields, files = [], []
    for part in reader.parts:
        name, is_file = _disposition(part)
        if is_file:
            files.append((name, bytes(part.data)))
        else:
            fields.append((name, _text(part)))
    return Parts(fields, files)


def _disposition(part: _Part) -> tuple[str, bool]:
    kind, options = parse_options_header(part.headers.get(b"content-disposition", b""))
    try:
        name = options[b"name"].decode()
    except (KeyError, UnicodeDecodeError):
        raise _unreadable() from None
    if kind != b"form-data" or not name:
        raise _unreadable()
    return name, b"filename" in options


def _text(part: _Part) -> str:
    if len(part.data) > MAX_FIELD_LENGTH:
        raise Malformed(f"A field of the body has more than {MAX_FIELD_LENGTH:,} bytes; send a file with a filename.")
    try:
        return part.data.decode()
    except UnicodeDecodeError:
        raise _unreadable() from None


def _unreadable() -> Malformed:
    return Malformed("The body is not valid multipart/form-data with named parts and UTF-8 text.")
