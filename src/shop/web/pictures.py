"""What every door shows of a picture: the addresses of its sizes."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from shop.base.errors import Malformed
from shop.models.catalog.images import Image
from shop.rules.catalog.images import Style, covering, styles_of

MEDIA = "/media"
_SIZE = re.compile(r"([0-9]{1,5})x([0-9]{1,5})", re.ASCII)
_QUALITY = re.compile(r"[0-9]{1,3}", re.ASCII)


class Look(msgspec.Struct, frozen=True):
    """How pictures are shown to one request: where the shop is, and the size that was asked for."""

    origin: str = ""
    size: tuple[int, int] | None = None


class ShownStyle(msgspec.Struct, frozen=True):
    """One size of a picture; its numbers are text, as the family has them."""

    url: str
    size: str
    width: str
    height: str


def read_size(params: Mapping[str, Any]) -> tuple[int, int] | None:
    """Of `image_transformation[size]=WxH`. A quality may be asked for too, and has no effect: sizes are made once."""
    asked = params.get("image_transformation")
    if asked is None:
        return None
    if not isinstance(asked, dict) or not set(asked) <= {"size", "quality"}:
        raise Malformed("Give image_transformation as [size]=WxH and [quality].")
    size = _SIZE.fullmatch(str(asked.get("size", "0x0")))
    if size is None or not _QUALITY.fullmatch(str(asked.get("quality", "0"))):
        raise Malformed("Give image_transformation[size] like 300x200, and image_transformation[quality] like 80.")
    return (int(size[1]), int(size[2])) if "size" in asked else None


def styles(image: Image) -> list[ShownStyle]:
    """Their addresses are paths: clients of Spree put the host in front."""
    return [
        ShownStyle(_path(image, style), f"{style.width}x{style.height}", str(style.width), str(style.height))
        for style in styles_of(image.width, image.height)
    ]


def original_url(image: Image, look: Look) -> str:
    return look.origin + _path(image, styles_of(image.width, image.height)[-1])


def transformed_url(image: Image, look: Look) -> str | None:
    if look.size is None:
        return None
    return _path(image, covering(styles_of(image.width, image.height), *look.size))


def _path(image: Image, style: Style) -> str:
    return f"{MEDIA}/{image.id}/{style.name}"
