"""The image resource. Upload and deletion handle files and are in `platform/images.py`."""

from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from shop.actions.catalog import resources
from shop.jsonapi.resource import RenderContext, computed, one, resource
from shop.models.catalog.images import Image
from shop.platform.collection import Collection, kinds
from shop.web.image_urls import ImageStyle, original_url, styles, transformed_url

VARIANT, TAXON = "Spree::Variant", "Spree::Taxon"


def _styles(image: Any, _scene: RenderContext) -> list[ImageStyle]:
    return styles(image)


def _original_url(image: Any, scene: RenderContext) -> str:
    return original_url(image, scene.props)


def _transformed_url(image: Any, scene: RenderContext) -> str | None:
    return transformed_url(image, scene.props)


IMAGE = resource(
    "image",
    Image,
    attributes=[
        "alt",
        "position",
        "width",
        "height",
        computed("styles", _styles, list[dict[str, str]]),
        computed("original_url", _original_url),
        computed("transformed_url", _transformed_url, str | None),
        computed("viewable_type", lambda image, _scene: TAXON if image.taxon_id else VARIANT),
        computed("viewable_id", lambda image, _scene: image.taxon_id or image.variant_id, UUID | None),
        "created_at",
        "updated_at",
    ],
    relations=[one("product", "product"), one("variant", "variant"), one("taxon", "taxon")],
)
IMAGES = Collection(
    path="images",
    resource=IMAGE,
    noun=resources.IMAGE,
    writable=kinds(Image, "product_id", "variant_id", "taxon_id", "alt", "position")
    | {"viewable_type": str | None, "viewable_id": UUID | None},
    once=("product_id", "taxon_id", "viewable_type", "viewable_id"),
    filters=("product_id", "variant_id", "taxon_id", "alt", "position"),
    order="position",
)


class ImageUpload(msgspec.Struct):
    """A picture and what it is of. Bare fields, or wrapped as `image[alt]`."""

    attachment: Annotated[
        str,
        Meta(
            description="The file: PNG, JPEG, WebP or GIF, at most 20 MiB and 40 megapixels.",
            extra_json_schema={"format": "binary"},
        ),
    ]
    product_id: Annotated[str, Meta(description="The product; not needed with a variant or taxon.")] | UnsetType = UNSET
    variant_id: Annotated[str, Meta(description="The variant that it shows.")] | UnsetType = UNSET
    taxon_id: Annotated[str, Meta(description="The taxon; replaces its image.")] | UnsetType = UNSET
    viewable_id: Annotated[str, Meta(description="The variant or taxon, as Spree names it.")] | UnsetType = UNSET
    viewable_type: Annotated[str, Meta(examples=[VARIANT, TAXON])] | UnsetType = UNSET
    alt: Annotated[str, Meta(description="What is to be seen, for those who do not.")] | UnsetType = UNSET
    position: Annotated[int, Meta(description="Its place among the product's; unset: the last.")] | UnsetType = UNSET
