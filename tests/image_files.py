"""Pictures for tests, and files that only look like one."""

import struct
import zlib
from io import BytesIO
from typing import Any

from PIL import Image


def encoded(image: Image.Image, kind: str, **options: Any) -> bytes:
    out = BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def drawn(width: int, height: int, mode: str = "RGB") -> Image.Image:
    """Red on the left, blue on the right: so that a turn can be seen."""
    image = Image.new(mode, (width, height), "red")
    image.paste(Image.new(mode, (width - width // 2, height), "blue"), (width // 2, 0))
    return image


def png(width: int, height: int) -> bytes:
    return encoded(drawn(width, height), "PNG")


def opened(data: bytes) -> Image.Image:
    image = Image.open(BytesIO(data))
    image.load()
    return image


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def nothing(size: int) -> bytes:
    """So many bytes of nothing, well packed: all but the rest is one and the same megabyte, packed once."""
    packer = zlib.compressobj(9)
    first = packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH)
    rest = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    count, left = divmod(size, 2**20)
    ending = rest.compress(bytes(left)) + rest.flush()
    checksum = size % 65521 << 16 | 1
    return first + again * (count - 1) + ending + struct.pack(">I", checksum)


def png_of(width: int, height: int, packed: bytes, *extra: bytes) -> bytes:
    """A PNG written by hand, so that its header can say anything."""
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    parts = (chunk(b"IHDR", header), *extra, chunk(b"IDAT", packed), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def bomb() -> bytes:
    """Some kilobytes that would be 900 megapixels."""
    return png_of(30_000, 30_000, nothing(3751 * 3000))


def text_bomb() -> bytes:
    """A small picture with a comment of half a gigabyte, well packed."""
    comment = chunk(b"zTXt", b"Comment\x00\x00" + nothing(2**29))
    return png_of(8, 8, zlib.compress(b"\x00\x00" * 8), comment)


def overfull() -> bytes:
    """Eight by eight pixels, with the data of a million lines."""
    return png_of(8, 8, nothing(100_000_000))
