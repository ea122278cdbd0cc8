"""The home page of the demo shop, and the images of its categories."""

from collections.abc import Mapping
from uuid import UUID

import msgspec

from shop.actions.catalog import images as image_actions
from shop.actions.context import Context
from shop.base.ids import new_id
from shop.demo.pictures import HERO, Drawing, Pictures, category_drawings
from shop.demo.shop import NAME
from shop.models.setup.website import WebsiteImage, WebsiteSettings
from shop.queries.content.website import list_products_by_word
from shop.queries.setup import shop as shop_queries
from shop.rules.catalog.images import Picture

SavedImage = tuple[UUID, Picture]
ANNOUNCEMENT = "Free shipping on orders of $80 or more"
"""As the promotion `The carrier is on us` says."""
FEATURED_TAXONS = ("Lanterns", "Seeds", "Pots", "Boots", "Teas and Preserves", "Books and Prints")
FEATURED_PRODUCTS = (
    "Harbour Storm Lantern",
    "Moonflower Seeds",
    "Long Tom Pot",
    "Heron Coat",
    "Beeswax Tapers",
    "Widow's Trowel",
    "Heather Honey",
    "The Night Gardener's Almanac",
)


async def save_images(ctx: Context, pictures: Pictures) -> tuple[dict[str, SavedImage], SavedImage]:
    """Saves an image of each category, by its name, and the image of the home page."""

    async def save(drawing: Drawing) -> SavedImage:
        image_id, picture = new_id(), await pictures.find(drawing)
        await image_actions.save_files(ctx.shared, image_id, picture)
        return image_id, picture

    return {name: await save(drawing) for name, drawing in category_drawings().items()}, await save(HERO)


async def create_website(
    ctx: Context, taxons: Mapping[str, UUID], promotion_ids: Mapping[str, UUID], hero: SavedImage
) -> None:
    image_id, picture = hero
    await image_actions.insert_image(
        ctx, image_id, picture, {"shop_id": ctx.shared.shop.id, "alt": None, "position": 0}
    )
    product_ids = {product.name: product.id for product in await list_products_by_word(ctx.db, FEATURED_PRODUCTS)}
    settings = WebsiteSettings(
        accent="#1f5a63",
        radius=10,
        hero_title="Light for long evenings",
        hero_text="Lanterns, candles and everything that grows while the rest of the house is asleep.",
        hero_image=WebsiteImage(image_id, picture.width, picture.height),
        hero_taxon_id=taxons["Lanterns"],
        announcement=ANNOUNCEMENT,
        promotion_id=promotion_ids["Sowing season"],
        featured_taxon_ids=tuple(taxons[name] for name in FEATURED_TAXONS),
        featured_product_ids=tuple(product_ids[name] for name in FEATURED_PRODUCTS if name in product_ids),
        description=f"{NAME} sells lanterns, candles, seeds, tools and warm things for people who are up at night.",
    )
    shop = await shop_queries.find_shop(ctx.db)
    if shop is None:
        raise AssertionError("migrations create the shop")
    await shop_queries.update_website(ctx.db, version=shop.version, website=msgspec.to_builtins(settings))
