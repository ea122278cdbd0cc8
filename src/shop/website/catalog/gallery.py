"""The images of a product page: the main image, and thumbnails that work without a script."""

from collections.abc import Sequence
from urllib.parse import urlencode
from uuid import UUID

import msgspec

from shop.actions.catalog.website import ProductDetails
from shop.models.catalog.images import Image
from shop.website.pages import ImageSource, image_source

MAIN_WIDTH = 640


class GalleryImage(msgspec.Struct, frozen=True):
    """An image of the gallery, with the address of the page that shows it as the main image."""

    image: Image
    alt: str
    url: str
    source: ImageSource
    """Its attributes as the main image."""
    large: str
    """The file of its largest size."""


def build_gallery(details: ProductDetails, variant_id: UUID | None) -> list[GalleryImage]:
    """Builds the gallery in the order of the product's images; the addresses keep the selected variant."""
    product = details.product
    images = [details.images[image_id] for image_id in product.image_ids if image_id in details.images]
    variant = {"variant": str(variant_id)} if variant_id else {}
    return [
        GalleryImage(
            image,
            image.alt or (product.name if number == 1 else f"{product.name}, image {number}"),
            f"/products/{product.slug}?{urlencode({**variant, 'image': number})}",
            image_source(image, MAIN_WIDTH),
            image_source(image, image.width).src,
        )
        for number, image in enumerate(images, 1)
    ]


def select_image(gallery: Sequence[GalleryImage], number: int | None, variant_index: int | None) -> int:
    """Returns the index of the main image: the requested one, or the selected variant's, or the first."""
    if number is not None and 1 <= number <= len(gallery):
        return number - 1
    return variant_index if variant_index is not None and variant_index < len(gallery) else 0
