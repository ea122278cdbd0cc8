"""How lines are cut from a body that comes in pieces, and each is read as JSON; a bad one is a fact, and no end."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec

from shop.base.errors import Malformed
from shop.web.strict_json import Bounds, load_json

LONGEST_LINE = 1024 * 1024
# What one line may hold is bounded by its length; and what a record has of its own, a line has two levels deeper.
_BOUNDS = Bounds(depth=40, keys=LONGEST_LINE, values=LONGEST_LINE)
_BOM = b"\xef\xbb\xbf"


class RawLine(msgspec.Struct, frozen=True):
    """One line: its object, or the sentence that says why it has none."""

    number: int
    size: int
    value: dict[str, Any] = {}
    error: str = ""


async def read_lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[RawLine]:
    """No more than one line is kept. Blank lines are counted and passed over."""
    number, line, size = 0, bytearray(), 0
    async for chunk in chunks:
        *ended, rest = chunk.split(b"\n")
        for part in ended:
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
    """What is beyond the longest line is known to be there, and not kept."""
    line += part[: LONGEST_LINE + 1 - len(line)]


def _read(number: int, line: bytearray, size: int) -> RawLine | None:
    if len(line) > LONGEST_LINE:
        return RawLine(number, size, error=f"The line is longer than {LONGEST_LINE:,} bytes.")
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
