"""The search page, and the suggestions while a shopper types."""

import msgspec

from shop.actions.catalog import website
from shop.actions.context import Context
from shop.base.errors import Malformed
from shop.base.money import money_text
from shop.models.catalog.product_query import search_query
from shop.web.input.request import Request
from shop.website.caching import TimedPage
from shop.website.catalog.cards import build_cards
from shop.website.catalog.filters import read_list_filters, read_search_text
from shop.website.catalog.product_lists import limit_age, load_product_list
from shop.website.layout import render_page
from shop.website.pages import image_source

MAX_SUGGESTIONS = 6
SHORTEST_TEXT = 2
_THUMBNAIL_WIDTH = 80


class Suggestion(msgspec.Struct, frozen=True):
    """A product that matches what a shopper has typed so far."""

    name: str
    url: str
    image: str | None
    price: str | None


async def show(request: Request, ctx: Context) -> str | TimedPage:
    filters = read_list_filters(request)
    product_list = await load_product_list(ctx, filters, "/search", "Best match" if filters.q else "Newest")
    body = await render_page(
        ctx,
        request,
        "catalog/search.html",
        title=f"Search: {filters.q}" if filters.q else "All products",
        description="",
        list=product_list,
        categories=() if product_list.cards else await website.list_top_categories(ctx),
    )
    return limit_age(body, filters)


async def suggest(request: Request, ctx: Context) -> str:
    text = _read_text(request)
    if len(text) < SHORTEST_TEXT or search_query(text) is None:
        return "[]"
    products, images = await website.suggest_products(ctx, text, MAX_SUGGESTIONS)
    locale = ctx.shared.shop.default_locale
    suggestions = [
        Suggestion(
            card.name,
            f"/products/{card.slug}",
            image_source(card.image, _THUMBNAIL_WIDTH).src if card.image else None,
            None if card.price is None else money_text(card.currency, locale)(card.price),
        )
        for card in build_cards(products, images)
    ]
    return msgspec.json.encode(suggestions).decode()


def _read_text(request: Request) -> str:
    try:
        return read_search_text(request.query)
    except Malformed:
        return ""
