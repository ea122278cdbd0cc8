"""What counts as a picture, and which sizes are kept of it.

    bytes --size, kind, header--> decoded once --turned upright, one frame, no metadata--> WebP in a few widths

Whatever was sent is never kept: what is served was encoded anew by us.
"""

import warnings
from collections.abc import Mapping, Sequence
from functools import lru_cache
from io import BytesIO

import msgspec
from PIL import Image, ImageOps

from shop.base.errors import Invalid

LARGEST_FILE = 20 * 1024 * 1024
MOST_PIXELS = 40_000_000
LONGEST_SIDE = 4096
WIDTHS = (48, 160, 480, 960, 1600)
"""Kept where the picture is wider; beside the picture itself, at most LONGEST_SIDE on each side."""
MEDIA_TYPE = "image/webp"

_FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
_QUALITY = 82
_EFFORT = 2
"""Of 6: the last tenth of a file's size costs most of the work."""

# We look at the size ourselves, before anything is decoded; a warning would only stand in the log.
warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)


class Picture(msgspec.Struct, frozen=True):
    """A picture made ready: its size, and a file for each width."""

    width: int
    height: int
    files: Mapping[str, bytes]


class Style(msgspec.Struct, frozen=True):
    """One of the sizes in which a picture is kept."""

    name: str
    width: int
    height: int


@lru_cache(maxsize=4096)
def styles_of(width: int, height: int) -> tuple[Style, ...]:
    """The sizes of a picture that is this large, the smallest first; the last is the picture itself."""
    widths = [*(smaller for smaller in WIDTHS if smaller < width), width]
    return tuple(Style(f"{wide}.webp", wide, max(1, round(height * wide / width))) for wide in widths)


def covering(styles: Sequence[Style], width: int, height: int) -> Style:
    """The smallest that is as large as asked for; the largest where none is."""
    return next((style for style in styles if style.width >= width and style.height >= height), styles[-1])


def read_picture(data: bytes) -> Picture:
    """Invalid says of `attachment` why it is not acceptable."""
    if len(data) > LARGEST_FILE:
        raise _refused(f"is larger than {LARGEST_FILE // 1024 // 1024} MiB")
    image = _decoded(data)
    image.thumbnail((LONGEST_SIDE, LONGEST_SIDE), Image.Resampling.LANCZOS, reducing_gap=2.0)
    files: dict[str, bytes] = {}
    width, height = image.size
    # From the largest down, each made from the one before: the work is in the first steps.
    for style in reversed(styles_of(width, height)):
        if image.size != (style.width, style.height):
            image = image.resize((style.width, style.height), Image.Resampling.LANCZOS, reducing_gap=2.0)
        files[style.name] = _encoded(image)
    return Picture(width, height, files)


def _decoded(data: bytes) -> Image.Image:
    try:
        with Image.open(BytesIO(data), formats=_FORMATS) as opened:
            width, height = opened.size
            if width * height > MOST_PIXELS:
                raise _refused(f"has more than {MOST_PIXELS // 1_000_000} megapixels")
            opened.load()
            return _upright(opened)
    except Invalid:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise _refused(f"has more than {MOST_PIXELS // 1_000_000} megapixels") from None
    except Exception:
        # A decoder stumbles in many ways over what is broken or made to break it; all of them are the file's fault.
        raise _refused("is not a PNG, JPEG, WebP or GIF picture that can be read to its end") from None


def _upright(opened: Image.Image) -> Image.Image:
    """As a camera was held, with three or four channels of eight bits. What else a file tells is not encoded anew."""
    turned = ImageOps.exif_transpose(opened)
    if turned.mode.startswith("I"):
        # Sixteen bits of grey; converted as they are, all but the darkest would be white.
        turned = turned.convert("I").point(lambda value: value / 256).convert("L")
    return turned.convert("RGBA" if turned.has_transparency_data else "RGB")


def _encoded(image: Image.Image) -> bytes:
    out = BytesIO()
    image.save(out, "WEBP", quality=_QUALITY, method=_EFFORT)
    return out.getvalue()


def _refused(why: str) -> Invalid:
    return Invalid({"attachment": [why]})
