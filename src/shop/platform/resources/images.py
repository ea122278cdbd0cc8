"""The image resource. Upload and deletion handle files and are in `platform/images.py`."""

from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from shop.actions.catalog import resources
from shop.jsonapi.resource import RenderContext, computed, one, resource
from shop.models.catalog.images import Image
from shop.models.catalog.inputs import ImageInput
from shop.platform.collection import Collection, kinds
from shop.web.image_urls import ImageStyle, original_url, styles, transformed_url

VARIANT, TAXON = "Spree::Variant", "Spree::Taxon"


def _styles(image: Any, _context: RenderContext) -> list[ImageStyle]:
    return styles(image)


def _original_url(image: Any, render_context: RenderContext) -> str:
    return original_url(image, render_context.props)


def _transformed_url(image: Any, render_context: RenderContext) -> str | None:
    return transformed_url(image, render_context.props)


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
        computed("viewable_type", lambda image, _context: TAXON if image.taxon_id else VARIANT),
        computed("viewable_id", lambda image, _context: image.taxon_id or image.variant_id, UUID | None),
        "created_at",
        "updated_at",
    ],
    relations=[one("product", "product"), one("variant", "variant"), one("taxon", "taxon")],
)
IMAGES = Collection(
    path="images",
    access="products",
    resource=IMAGE,
    actions=resources.IMAGE,
    writable=kinds(ImageInput),
    create_only=("product_id", "taxon_id", "viewable_type", "viewable_id"),
    filters=("product_id", "variant_id", "taxon_id", "alt", "position"),
    order="position",
)


class ImageUpload(msgspec.Struct):
    """An image and the record it belongs to. Fields may be bare, or wrapped as `image[alt]`."""

    attachment: Annotated[
        str,
        Meta(
            description="The file: PNG, JPEG, WebP or GIF, at most 20 MiB and 40 megapixels.",
            extra_json_schema={"format": "binary"},
        ),
    ]
    product_id: Annotated[str, Meta(description="The product; not needed with a variant or taxon.")] | UnsetType = UNSET
    variant_id: Annotated[str, Meta(description="The variant that the image shows.")] | UnsetType = UNSET
    taxon_id: Annotated[str, Meta(description="The taxon; the upload replaces its image.")] | UnsetType = UNSET
    viewable_id: Annotated[str, Meta(description="The variant or taxon, as Spree names it.")] | UnsetType = UNSET
    viewable_type: Annotated[str, Meta(examples=[VARIANT, TAXON])] | UnsetType = UNSET
    alt: Annotated[str, Meta(description="Alternative text that describes the image.")] | UnsetType = UNSET
    position: Annotated[int, Meta(description="The position among the images; last by default.")] | UnsetType = UNSET
