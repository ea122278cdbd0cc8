"""The home page of the demo shop, and the images of its categories."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from functools import partial
from uuid import UUID

import msgspec

from shop.actions.catalog import images as image_actions
from shop.actions.context import Context
from shop.base.ids import new_id
from shop.demo.artwork import draw_group, draw_hero, draw_moon
from shop.demo.shop import DEPARTMENTS, MOONS, NAME
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


async def save_images(
    ctx: Context, image_slots: asyncio.Semaphore, categories: Collection[str]
) -> tuple[dict[str, SavedImage], SavedImage]:
    """Saves an image of each category, by its name, and the image of the home page."""
    groups: dict[str, tuple[str, ...]] = {category: (category,) for category in categories}
    groups |= {name: tuple(department) for name, department in DEPARTMENTS.items()}
    drawings: dict[str, Callable[[], bytes]] = {
        name: partial(draw_group, name, group) for name, group in groups.items()
    }
    drawings |= {moon: partial(draw_moon, moon) for moon in MOONS}

    async def save(draw: Callable[[], bytes]) -> SavedImage:
        async with image_slots:
            picture = await image_actions.process_image(await asyncio.to_thread(draw))
        image_id = new_id()
        await image_actions.save_files(ctx.shared, image_id, picture)
        return image_id, picture

    # The largest first, so that nothing waits for it at the end.
    hero, *others = await asyncio.gather(save(draw_hero), *map(save, drawings.values()))
    return dict(zip(drawings, others, strict=True)), hero


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
