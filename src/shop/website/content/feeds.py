"""The merchant feed: RSS 2.0 with the attributes of Google Merchant Center."""

from collections.abc import AsyncGenerator

from shop.actions.content import feeds
from shop.actions.context import Context
from shop.base.money import major_units
from shop.models.content.public_urls import FeedOffer
from shop.rules.content.feeds import availability, find_gtin, offer_id, option_attributes
from shop.rules.content.plain_text import excerpt, strip_tags
from shop.web.image_urls import MEDIA
from shop.web.input.request import Request
from shop.web.reply import Reply
from shop.website.content.xml import DECLARATION, stream_xml, xml_text

MAX_TITLE_LENGTH = 150
MAX_DESCRIPTION_LENGTH = 5_000


async def show_google(request: Request, ctx: Context) -> Reply:
    return await stream_xml(request, _feed(ctx, request.origin(ctx.shared.settings.public_url)))


async def _feed(ctx: Context, origin: str) -> AsyncGenerator[str]:
    shop = ctx.shared.shop
    start = (
        f'{DECLARATION}<rss version="2.0" xmlns:g="http://base.google.com/ns/1.0">\n<channel>\n'
        + _element("title", shop.name)
        + _element("link", f"{origin}/")
        + _element("description", shop.website_settings.description or f"Products of {shop.name}")
    )
    async for offers in feeds.list_offers(ctx):
        yield start + "".join(_item(offer, shop.currencies[0], origin) for offer in offers)
        start = ""
    yield start + "</channel>\n</rss>\n"


def _item(offer: FeedOffer, currency: str, origin: str) -> str:
    values = {**_texts(offer), **_addresses(offer, origin), **_prices(offer, currency), **_identifiers(offer)}
    return "<item>\n" + "".join(_element(f"g:{name}", value) for name, value in values.items()) + "</item>\n"


def _texts(offer: FeedOffer) -> dict[str, str]:
    options = ", ".join(value for _, value in offer.options)
    title = f"{offer.name} ({options})" if options else offer.name
    description = strip_tags(offer.description or "") or offer.name
    return {
        "id": offer_id(offer),
        **({"item_group_id": str(offer.product_id)} if offer.has_variants else {}),
        "title": excerpt(title, MAX_TITLE_LENGTH),
        "description": excerpt(description, MAX_DESCRIPTION_LENGTH),
        **option_attributes(offer),
    }


def _addresses(offer: FeedOffer, origin: str) -> dict[str, str]:
    query = f"?variant={offer.id}" if offer.has_variants else ""
    link = {"link": f"{origin}/products/{offer.slug}{query}"}
    if offer.image_id is None or offer.image_width is None:
        return link
    return link | {"image_link": f"{origin}{MEDIA}/{offer.image_id}/{offer.image_width}.webp"}


def _prices(offer: FeedOffer, currency: str) -> dict[str, str]:
    """Returns the price; if there is a higher compare-at price, this is the price and the other one the sale price."""
    compare_at = offer.compare_at_price
    if compare_at is not None and compare_at > offer.price:
        return {"price": _amount(compare_at, currency), "sale_price": _amount(offer.price, currency)}
    return {"price": _amount(offer.price, currency)}


def _amount(minor: int, currency: str) -> str:
    return f"{major_units(minor, currency):f} {currency}"


def _identifiers(offer: FeedOffer) -> dict[str, str]:
    gtin = find_gtin(offer.barcode)
    return {
        "availability": availability(offer),
        "condition": "new",
        **({"brand": offer.brand} if offer.brand else {}),
        **({"gtin": gtin} if gtin else {"identifier_exists": "no"}),
    }


def _element(name: str, text: str) -> str:
    return f"<{name}>{xml_text(text)}</{name}>\n"
