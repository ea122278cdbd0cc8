"""Image URLs, shared by all APIs: the original, the styles and the requested size."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from shop.base.errors import Malformed
from shop.models.catalog.images import Image
from shop.rules.catalog.images import Style, find_covering_style, styles_of

MEDIA = "/media"
_SIZE = re.compile(r"([0-9]{1,5})x([0-9]{1,5})", re.ASCII)
_QUALITY = re.compile(r"[0-9]{1,3}", re.ASCII)


class ImageOptions(msgspec.Struct, frozen=True):
    """The image settings of one request: the origin of URLs and the requested size."""

    origin: str = ""
    size: tuple[int, int] | None = None


class ImageStyle(msgspec.Struct, frozen=True):
    """One size of an image; width and height are text, as in Spree."""

    url: str
    size: str
    width: str
    height: str


def read_size(params: Mapping[str, Any]) -> tuple[int, int] | None:
    """Reads `image_transformation[size]=WxH`. A quality is accepted and ignored: each size is rendered once."""
    transformation = params.get("image_transformation")
    if transformation is None:
        return None
    if not isinstance(transformation, dict) or not set(transformation) <= {"size", "quality"}:
        raise Malformed("Send image_transformation as [size]=WxH and [quality].")
    size = _SIZE.fullmatch(str(transformation.get("size", "0x0")))
    if size is None or not _QUALITY.fullmatch(str(transformation.get("quality", "0"))):
        raise Malformed("Send image_transformation[size] like 300x200, and image_transformation[quality] like 80.")
    return (int(size[1]), int(size[2])) if "size" in transformation else None


def styles(image: Image) -> list[ImageStyle]:
    """Returns the styles of an image. Their URLs are paths: Spree clients prepend the host."""
    return [
        ImageStyle(_path(image, style), f"{style.width}x{style.height}", str(style.width), str(style.height))
        for style in styles_of(image.width, image.height)
    ]


def original_url(image: Image, options: ImageOptions) -> str:
    return options.origin + _path(image, styles_of(image.width, image.height)[-1])


def transformed_url(image: Image, options: ImageOptions) -> str | None:
    if options.size is None:
        return None
    return _path(image, find_covering_style(styles_of(image.width, image.height), *options.size))


def _path(image: Image, style: Style) -> str:
    return f"{MEDIA}/{image.id}/{style.name}"
