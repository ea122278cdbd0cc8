"""Reads NDJSON from a streamed body; an invalid line is reported and does not end the stream."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec

from shop.base.errors import Malformed
from shop.web.input.strict_json import Bounds, load_json

MAX_LINE_LENGTH = 1024 * 1024
# The length bounds the content of a line; a record is nested two levels deeper in a line than in a body.
_BOUNDS = Bounds(depth=40, keys=MAX_LINE_LENGTH, values=MAX_LINE_LENGTH)
_BOM = b"\xef\xbb\xbf"


class RawLine(msgspec.Struct, frozen=True):
    """One line: its object, or the error if it cannot be parsed."""

    number: int
    size: int
    value: dict[str, Any] = {}
    error: str = ""


async def read_lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[RawLine]:
    """Yields the lines, holding one in memory at a time. Blank lines are counted and skipped."""
    number, line, size = 0, bytearray(), 0
    async for chunk in chunks:
        *parts, rest = chunk.split(b"\n")
        for part in parts:
            number += 1
            _append(line, part)
            if read := _read(number, line, size + len(part)):
                yield read
            line, size = bytearray(), 0
        size += len(rest)
        _append(line, rest)
    if read := _read(number + 1, line, size):
        yield read


def _append(line: bytearray, part: bytes) -> None:
    """Appends at most one byte more than the maximum length, which is enough to detect a line that is too long."""
    line += part[: MAX_LINE_LENGTH + 1 - len(line)]


def _read(number: int, line: bytearray, size: int) -> RawLine | None:
    if len(line) > MAX_LINE_LENGTH:
        return RawLine(number, size, error=f"The line is longer than {MAX_LINE_LENGTH:,} bytes.")
    text = bytes(line).removeprefix(_BOM) if number == 1 else bytes(line)
    if not text.strip():
        return None
    try:
        value = load_json(text, _BOUNDS)
    except Malformed as error:
        return RawLine(number, size, error=error.sentence.replace("The body", "The line"))
    if not isinstance(value, dict):
        return RawLine(number, size, error="The line must be a JSON object.")
    return RawLine(number, size, value)
