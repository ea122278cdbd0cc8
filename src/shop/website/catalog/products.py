"""Product pages."""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from shop.actions.catalog import website
from shop.actions.catalog.website import ProductDetails
from shop.actions.checkout.shipping_estimates import estimate_shipping
from shop.actions.context import Context
from shop.base.errors import Malformed
from shop.base.ids import as_uuid
from shop.base.values import read_integer
from shop.rules.content.plain_text import excerpt, strip_tags
from shop.web.input.request import Request
from shop.website.caching import TimedPage
from shop.website.catalog.cards import build_cards, social_image
from shop.website.catalog.gallery import GalleryImage, build_gallery, select_image
from shop.website.catalog.structured_data import CONTEXT, Data, build_breadcrumbs, build_trail, price_text
from shop.website.catalog.variants import (
    LOW_STOCK,
    VariantChoice,
    build_pickers,
    build_script_data,
    build_variants,
    select_variant,
)
from shop.website.layout import render_page

STOCK_SECONDS = 2
"""The maximum age of a page that says how many are left: a sale changes the catalog only if it is the last one."""
SHIPPING_SECONDS = 60
"""The maximum age of a page: shipping methods change without a change of the catalog."""
_MAX_OFFERS = 50
_BLOCK_END = re.compile(r"</(?:p|div|li|ul|ol|h[1-6])>|<br\s*/?>", re.IGNORECASE | re.ASCII)
_BLANK_LINE = re.compile(r"\n\s*\n")


async def show(request: Request, ctx: Context) -> TimedPage:
    slug, shop = request.path_params["slug"], ctx.shared.shop
    details = await website.get_product_details(ctx, as_uuid(slug) or slug)
    product, variant_id, image_number = details.product, *read_selection(request)
    variants = build_variants(details)
    selected = select_variant(variants, variant_id, product.default_variant_id)
    is_chosen = selected is not None and selected.id == variant_id
    gallery = build_gallery(details, variant_id if is_chosen else None)
    row = next((each for each in details.variants if selected and each.id == selected.id), None)
    body = await render_page(
        ctx,
        request,
        "catalog/product.html",
        product=product,
        paragraphs=split_paragraphs(product.description or ""),
        properties=details.properties,
        variants=variants,
        selected=selected,
        can_buy=any(variant.purchasable for variant in variants),
        pickers=build_pickers(details, variants, selected),
        script_data=build_script_data(variants, product.currency, shop.default_locale),
        gallery=gallery,
        main_index=select_image(gallery, image_number, selected.image if selected and is_chosen else None),
        shipping_offers=await estimate_shipping(ctx, product, row) if row and row.purchasable else (),
        related=build_cards(details.related, details.images),
        **_search_engine_values(details, variants, gallery, request, ctx),
    )
    return TimedPage(body, STOCK_SECONDS if has_low_stock(details) else SHIPPING_SECONDS)


def _search_engine_values(
    details: ProductDetails,
    variants: Sequence[VariantChoice],
    gallery: Sequence[GalleryImage],
    request: Request,
    ctx: Context,
) -> dict[str, Any]:
    """Returns title, descriptions, canonical address, breadcrumbs and structured data."""
    product, origin = details.product, request.origin(ctx.shared.settings.public_url)
    trail = [*build_trail(details.path), (product.name, None)]
    text = excerpt(strip_tags(product.description or ""))
    return {
        "title": product.meta_title or product.name,
        "description": product.meta_description or text or f"{product.name} at {ctx.shared.shop.name}.",
        "canonical": f"{origin}/products/{product.slug}",
        "trail": trail,
        "social_image": social_image(gallery[0].image) if gallery else None,
        "structured_data": (
            build_product_data(details, variants, gallery, origin),
            build_breadcrumbs(origin, trail),
        ),
        "is_indexed": True,
    }


def read_selection(request: Request) -> tuple[UUID | None, int | None]:
    """Reads the selected variant and image; ignores what is not one."""
    try:
        params: Mapping[str, Any] = request.query
    except Malformed:
        return None, None
    try:
        number = read_integer(params.get("image"))
    except ValueError:
        number = None
    return as_uuid(params.get("variant")), number


def has_low_stock(details: ProductDetails) -> bool:
    return any(count <= LOW_STOCK for count in details.counts_on_hand.values())


def split_paragraphs(text: str) -> list[str]:
    """Splits a description at blank lines; an imported one may contain tags, which are removed."""
    plain = _BLOCK_END.sub("\n\n", text.replace("\r\n", "\n"))
    return [paragraph for part in _BLANK_LINE.split(plain) if (paragraph := strip_tags(part))]


def build_product_data(
    details: ProductDetails, variants: Sequence[VariantChoice], gallery: Sequence[GalleryImage], origin: str
) -> Data:
    """Describes the product with an offer for each variant."""
    product = details.product
    url = f"{origin}/products/{product.slug}"
    offers = [
        {
            "@type": "Offer",
            "url": f"{url}?variant={variant.id}" if len(variants) > 1 else url,
            "price": price_text(variant.price, product.currency),
            "priceCurrency": product.currency,
            "availability": f"{CONTEXT}/{_availability(details, variant)}",
            "itemCondition": f"{CONTEXT}/NewCondition",
            **({"sku": variant.sku} if variant.sku else {}),
        }
        for variant in variants[:_MAX_OFFERS]
        if variant.price is not None
    ]
    data: dict[str, Any] = {"@context": CONTEXT, "@type": "Product", "name": product.name, "url": url}
    optional = {
        "description": strip_tags(product.description or ""),
        "image": [f"{origin}{image.source.src}" for image in gallery],
        "sku": product.sku,
        "offers": offers if len(offers) != 1 else offers[0],
    }
    return data | {name: value for name, value in optional.items() if value}


def _availability(details: ProductDetails, variant: VariantChoice) -> str:
    if not details.product.available:
        return "Discontinued"
    if variant.is_backorder:
        return "BackOrder"
    return "InStock" if variant.purchasable else "OutOfStock"
