"""Validates, decodes and resizes uploaded images.

    bytes --check size, format, header--> decode once --rotate upright, one frame, no metadata--> WebP in a few widths

Uploaded bytes are never stored: the shop serves only images that it encoded.
"""

import warnings
from collections.abc import Mapping, Sequence
from functools import lru_cache
from io import BytesIO
from typing import TYPE_CHECKING

import msgspec

from shop.base.errors import Invalid
from shop.base.lazy_modules import LazyModule

if TYPE_CHECKING:
    from PIL import Image, ImageOps
else:
    Image, ImageOps = LazyModule("PIL.Image"), LazyModule("PIL.ImageOps")

MAX_FILE_BYTES = 20 * 1024 * 1024
MAX_PIXELS = 40_000_000
MAX_SIDE = 4096
WIDTHS = (48, 160, 480, 960, 1600)
"""Widths saved if the image is wider, in addition to the image itself at up to MAX_SIDE per side."""
MEDIA_TYPE = "image/webp"

_FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
_QUALITY = 82
_EFFORT = 2
"""Of 0 to 6: higher values take most of the time for the last tenth of the file size."""

# The size is checked before decoding, so the warning would only clutter the log.
warnings.filterwarnings("ignore", "Image size .* could be decompression bomb")


class Picture(msgspec.Struct, frozen=True):
    """A processed image: its size and one file per width."""

    width: int
    height: int
    files: Mapping[str, bytes]


class Style(msgspec.Struct, frozen=True):
    """One saved size of an image."""

    name: str
    width: int
    height: int


@lru_cache(maxsize=4096)
def styles_of(width: int, height: int) -> tuple[Style, ...]:
    """Returns the sizes of an image, smallest first; the last is the image itself."""
    widths = [*(smaller for smaller in WIDTHS if smaller < width), width]
    return tuple(Style(f"{wide}.webp", wide, max(1, round(height * wide / width))) for wide in widths)


def find_covering_style(styles: Sequence[Style], width: int, height: int) -> Style:
    """Returns the smallest style that covers the given size, or else the largest."""
    return next((style for style in styles if style.width >= width and style.height >= height), styles[-1])


def read_picture(data: bytes) -> Picture:
    """Decodes an image and encodes it in all sizes; raises Invalid on `attachment`."""
    if len(data) > MAX_FILE_BYTES:
        raise _invalid_attachment(f"is larger than {MAX_FILE_BYTES // 1024 // 1024} MiB")
    image = _decode(data)
    image.thumbnail((MAX_SIDE, MAX_SIDE), Image.Resampling.LANCZOS, reducing_gap=2.0)
    files: dict[str, bytes] = {}
    width, height = image.size
    # Resize from the largest down, each from the previous one: only the first steps are expensive.
    for style in reversed(styles_of(width, height)):
        if image.size != (style.width, style.height):
            image = image.resize((style.width, style.height), Image.Resampling.LANCZOS, reducing_gap=2.0)
        files[style.name] = _encode(image)
    return Picture(width, height, files)


def _decode(data: bytes) -> "Image.Image":
    try:
        with Image.open(BytesIO(data), formats=_FORMATS) as image:
            width, height = image.size
            if width * height > MAX_PIXELS:
                raise _invalid_attachment(f"has more than {MAX_PIXELS // 1_000_000} megapixels")
            image.load()
            return _normalize(image)
    except Invalid:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise _invalid_attachment(f"has more than {MAX_PIXELS // 1_000_000} megapixels") from None
    except Exception:
        # Decoders raise many errors on broken or malicious files; any error means that the file is invalid.
        raise _invalid_attachment("is not a valid PNG, JPEG, WebP or GIF image") from None


def _normalize(image: "Image.Image") -> "Image.Image":
    """Rotates an image upright and converts it to 8-bit RGB or RGBA; drops all metadata."""
    upright = ImageOps.exif_transpose(image)
    if upright.mode.startswith("I"):
        # 16-bit grayscale: a direct conversion would turn all but the darkest pixels white.
        upright = upright.convert("I").point(lambda value: value / 256).convert("L")
    return upright.convert("RGBA" if upright.has_transparency_data else "RGB")


def _encode(image: "Image.Image") -> bytes:
    out = BytesIO()
    image.save(out, "WEBP", quality=_QUALITY, method=_EFFORT)
    return out.getvalue()


def _invalid_attachment(message: str) -> Invalid:
    return Invalid({"attachment": [message]})
