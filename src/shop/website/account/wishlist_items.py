"""Wishlist items with their products, and the public page of a shared wishlist."""

from collections import Counter
from collections.abc import Sequence
from typing import cast
from uuid import UUID

import msgspec

from shop.actions.catalog import storefront
from shop.actions.catalog.prices import resolve_pricing
from shop.actions.context import Context
from shop.actions.customers import wishlists
from shop.actions.customers.wishlists import WishlistRef
from shop.base.record import Record
from shop.models.catalog.images import Image
from shop.models.customers.wishlists import WishedItemView, Wishlist
from shop.queries.catalog.prices import Pricing
from shop.web.input.request import Request
from shop.web.reply import Reply
from shop.website.layout import show_page
from shop.website.visits import Visit


class WishlistLine(msgspec.Struct, frozen=True):
    """An item of a wishlist as the viewer sees it; `product` data is None if it is no longer sold."""

    item: WishedItemView
    name: str | None = None
    url: str | None = None
    options_text: str = ""
    image: Image | None = None
    is_purchasable: bool = False


async def show_shared(request: Request, ctx: Context, visit: Visit) -> Reply:
    """Shows a public wishlist to anyone who has its link, or a private one to its owner."""
    pricing = await resolve_pricing(ctx, ctx.shared.shop.currencies[0])
    wishlist = await wishlists.get_visible_list(ctx, WishlistRef(request.path_params["token"], pricing))
    return await show_page(
        ctx,
        request,
        visit,
        "account/shared_wishlist.html",
        title=wishlist.name,
        wishlist=wishlist,
        items=await load_items(ctx, wishlist, pricing),
        can_edit=False,
        is_owner=visit.user is not None and visit.user.id == wishlist.user_id,
    )


async def count_items(ctx: Context, lists: Sequence[Wishlist]) -> Counter[UUID]:
    """Returns the number of items by list."""
    return Counter(item.wishlist_id for item in await wishlists.list_items(ctx, lists))


async def load_items(ctx: Context, wishlist: Wishlist, pricing: Pricing) -> list[WishlistLine]:
    """Loads the items with their products and images; the number of statements does not depend on their number."""
    items = await wishlists.list_priced_items(ctx, [wishlist], pricing)
    include: storefront.Tree = {"images": {}, "product": {"images": {}}}
    variants = await storefront.load_variants(ctx, [item.variant_id for item in items], include, pricing)
    return [_build_line(item, variants.get(item.variant_id)) for item in items]


def _build_line(item: WishedItemView, variant: Record | None) -> WishlistLine:
    product = variant.links["product"] if variant is not None else None
    if variant is None or not isinstance(product, Record):
        return WishlistLine(item)
    images = [*_images(variant), *_images(product)]
    return WishlistLine(
        item,
        product.row.name,
        f"/products/{product.row.slug}?variant={item.variant_id}",
        variant.row.options_text,
        images[0] if images else None,
        variant.row.purchasable and item.price is not None,
    )


def _images(record: Record) -> list[Image]:
    return [image.row for image in cast(Sequence[Record], record.links["images"])]
