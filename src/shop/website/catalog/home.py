"""The home page: hero, featured categories and products, and the banner of a running promotion."""

from collections.abc import Sequence

import msgspec

from shop.actions.cart.promotions import find_advertised_promotion
from shop.actions.catalog import website
from shop.actions.catalog.website import HomeContent, first_image_id
from shop.actions.context import Context
from shop.models.catalog.images import Image
from shop.models.setup.shop import Shop
from shop.models.setup.website import WebsiteSettings
from shop.web.input.request import Request
from shop.website.caching import TimedPage
from shop.website.catalog.cards import build_cards, social_image
from shop.website.catalog.structured_data import build_organization, build_website
from shop.website.layout import render_page

PROMOTION_SECONDS = 2
"""The maximum age of the page: promotions start, end and change without a change of the catalog."""


class Hero(msgspec.Struct, frozen=True):
    """The first section of the home page."""

    title: str
    text: str
    image: Image | None
    link: str
    link_text: str


class CategoryTile(msgspec.Struct, frozen=True):
    """A featured category."""

    name: str
    url: str
    image: Image | None


async def show(request: Request, ctx: Context) -> TimedPage:
    shop, origin = ctx.shared.shop, request.origin(ctx.shared.settings.public_url)
    site = shop.website_settings
    content = await website.load_home(ctx, site)
    hero = build_hero(shop, site, content)
    body = await render_page(
        ctx,
        request,
        "catalog/home.html",
        title=hero.title if hero.title != shop.name else site.description or "Welcome",
        description=site.description or hero.text or f"Shop online at {shop.name}.",
        hero=hero,
        tiles=build_tiles(content),
        products=build_cards(content.products, content.images),
        has_featured=bool(site.featured_product_ids),
        promotion=await find_advertised_promotion(ctx, site.promotion_id),
        social_image=social_image(hero.image),
        structured_data=(build_organization(shop, origin), build_website(shop, origin)),
        is_indexed=True,
    )
    return TimedPage(body, PROMOTION_SECONDS)


def build_hero(shop: Shop, site: WebsiteSettings, content: HomeContent) -> Hero:
    """Builds the hero from the settings, or else from the shop's name, its description and its products."""
    taxon = content.hero_taxon
    candidates = [site.hero_image_id, taxon.image_id if taxon else None, *map(first_image_id, content.products)]
    images = [content.images[image_id] for image_id in candidates if image_id and image_id in content.images]
    return Hero(
        title=site.hero_title or shop.name,
        text=site.hero_text or site.description,
        image=images[0] if images else None,
        link=f"/t/{taxon.permalink}" if taxon else "/search",
        link_text=f"Shop {taxon.name}" if taxon else "Shop all products",
    )


def build_tiles(content: HomeContent) -> Sequence[CategoryTile]:
    image_ids = content.taxon_image_ids
    return [
        CategoryTile(
            taxon.name,
            f"/t/{taxon.permalink}",
            content.images.get(image_id) if (image_id := image_ids[taxon.id]) else None,
        )
        for taxon in content.taxons
    ]
