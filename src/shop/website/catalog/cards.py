"""Product cards: what a grid shows of a product."""

from collections.abc import Iterable

import msgspec

from shop.actions.catalog.website import Images, first_image_id
from shop.models.catalog.images import Image
from shop.models.catalog.storefront import StorefrontProduct
from shop.website.pages import image_source

SOCIAL_WIDTH = 960


class ProductCard(msgspec.Struct, frozen=True):
    """A product in a grid; `product_card` in `macros.html` renders it."""

    slug: str
    name: str
    image: Image | None
    price: int | None
    compare_at_price: int | None
    currency: str
    purchasable: bool


def social_image(image: Image | None) -> str | None:
    """Returns the path of an image for previews in other applications."""
    return image_source(image, SOCIAL_WIDTH).src if image else None


def build_cards(products: Iterable[StorefrontProduct], images: Images) -> list[ProductCard]:
    """Builds the cards of products; `images` has the first image of each."""
    return [
        ProductCard(
            product.slug,
            product.name,
            images.get(image_id) if (image_id := first_image_id(product)) else None,
            product.price,
            product.compare_at_price,
            product.currency,
            product.purchasable,
        )
        for product in products
    ]
