"""Images for tests, and files that only look like one."""

import struct
import zlib
from io import BytesIO
from typing import Any

from PIL import Image


def encode_image(image: Image.Image, kind: str, **options: Any) -> bytes:
    out = BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def two_color_image(width: int, height: int, mode: str = "RGB") -> Image.Image:
    """Red on the left and blue on the right, so that a rotation is visible."""
    image = Image.new(mode, (width, height), "red")
    image.paste(Image.new(mode, (width - width // 2, height), "blue"), (width // 2, 0))
    return image


def png(width: int, height: int) -> bytes:
    return encode_image(two_color_image(width, height), "PNG")


def open_image(data: bytes) -> Image.Image:
    image = Image.open(BytesIO(data))
    image.load()
    return image


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def compress_zeros(size: int) -> bytes:
    """A zlib stream of so many zero bytes. One megabyte is compressed once and repeated, which is fast."""
    packer = zlib.compressobj(9)
    first = packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH)
    rest = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    count, left = divmod(size, 2**20)
    ending = rest.compress(bytes(left)) + rest.flush()
    checksum = size % 65521 << 16 | 1
    return first + again * (count - 1) + ending + struct.pack(">I", checksum)


def build_png(width: int, height: int, image_data: bytes, *extra: bytes) -> bytes:
    """A PNG with these parts; width and height need not match the data."""
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    parts = (chunk(b"IHDR", header), *extra, chunk(b"IDAT", image_data), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def bomb() -> bytes:
    """A decompression bomb: a few kilobytes that decode to 900 megapixels."""
    return build_png(30_000, 30_000, compress_zeros(3751 * 3000))


def text_bomb() -> bytes:
    """A small image with a compressed comment of half a gigabyte."""
    comment = chunk(b"zTXt", b"Comment\x00\x00" + compress_zeros(2**29))
    return build_png(8, 8, zlib.compress(b"\x00\x00" * 8), comment)


def png_with_excess_data() -> bytes:
    """An image of eight by eight pixels with the data of a million rows."""
    return build_png(8, 8, compress_zeros(100_000_000))
