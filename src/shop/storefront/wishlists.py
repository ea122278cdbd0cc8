"""The endpoints of wishlists. What is on one is shown at the prices of whoever looks."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from shop.actions.catalog import storefront
from shop.actions.catalog.prices import pricing_for
from shop.actions.context import Context
from shop.actions.customers import wishlists
from shop.actions.customers.wishlists import Chosen
from shop.base.ids import as_uuid
from shop.base.loaded import Link, Loaded, Named
from shop.jsonapi.document import Drawing, document
from shop.jsonapi.paging import Window, cut, read_sort, read_window
from shop.jsonapi.resource import Resource
from shop.models.customers.wishlists import SeenItem, SeenWishlist, Wishlist
from shop.queries.catalog.prices import Pricing
from shop.storefront.drawing import page_reply, read_catalog_drawing
from shop.storefront.resources.wishlists import WISHED_ITEM, WISHLIST
from shop.storefront.wishes import read_currency, read_filters
from shop.storefront.wishlist_inputs import (
    read_item_ids,
    read_list,
    read_quantity,
    read_variant_asked,
    read_wish,
    read_wishes,
)
from shop.web.reply import NO_CONTENT, Reply, document_reply
from shop.web.request import Request

Tree = Mapping[str, Any]


class Asked(msgspec.Struct, frozen=True):
    """What is wished of a document, and by whom."""

    drawing: Drawing
    pricing: Pricing
    variant_id: UUID | None
    """The one of which it is asked whether it stands on a list."""

    @property
    def include(self) -> Tree:
        return self.drawing.query.include or {}


async def list_own(request: Request, ctx: Context) -> Reply:
    asked = await _asked(request, ctx, WISHLIST)
    read_filters(request.params, ())
    read_sort(request.params, ())
    window = cut(await wishlists.list_lists(ctx, asked.pricing), read_window(request.params))
    records = await _loaded(ctx, window.records, asked)
    page = Window(records, window.total, window.page, window.next_place)
    return page_reply(request, ctx, WISHLIST, asked.drawing, page)


async def create(request: Request, ctx: Context) -> Reply:
    asked = await _asked(request, ctx, WISHLIST)
    made = await wishlists.make_list(ctx, asked.pricing, read_list(request.params, is_new=True))
    return await _list_reply(ctx, made, asked, status=201)


async def show_default(request: Request, ctx: Context) -> Reply:
    asked = await _asked(request, ctx, WISHLIST)
    return await _list_reply(ctx, await wishlists.get_default(ctx, asked.pricing), asked)


async def show(request: Request, ctx: Context) -> Reply:
    asked = await _asked(request, ctx, WISHLIST)
    return await _list_reply(ctx, await wishlists.get_seen(ctx, _chosen(request, asked)), asked)


async def update(request: Request, ctx: Context) -> Reply:
    asked = await _asked(request, ctx, WISHLIST)
    values = read_list(request.params, is_new=False)
    return await _list_reply(ctx, await wishlists.change_list(ctx, _chosen(request, asked), values), asked)


async def destroy(request: Request, ctx: Context) -> Reply:
    await wishlists.remove_list(ctx, _chosen(request, await _asked(request, ctx, WISHLIST)))
    return NO_CONTENT


async def add_item(request: Request, ctx: Context) -> Reply:
    asked = await _asked(request, ctx, WISHED_ITEM)
    wish = read_wish(request.params)
    return await _item_reply(ctx, await wishlists.add_item(ctx, _chosen(request, asked), wish), asked)


async def set_item_quantity(request: Request, ctx: Context) -> Reply:
    asked = await _asked(request, ctx, WISHED_ITEM)
    quantity = read_quantity(request.params)
    changed = await wishlists.set_quantity(ctx, _chosen(request, asked), _item_id(request), quantity)
    return await _item_reply(ctx, changed, asked)


async def remove_item(request: Request, ctx: Context) -> Reply:
    asked = await _asked(request, ctx, WISHED_ITEM)
    removed = await wishlists.remove_item(ctx, _chosen(request, asked), _item_id(request))
    return await _item_reply(ctx, removed, asked)


async def add_items(request: Request, ctx: Context) -> Reply:
    asked = await _asked(request, ctx, WISHLIST)
    wishes = read_wishes(request.params)
    return await _list_reply(ctx, await wishlists.put_items(ctx, _chosen(request, asked), wishes), asked)


async def remove_items(request: Request, ctx: Context) -> Reply:
    asked = await _asked(request, ctx, WISHLIST)
    ids = read_item_ids(request.params)
    return await _list_reply(ctx, await wishlists.remove_items(ctx, _chosen(request, asked), ids), asked)


async def _asked(request: Request, ctx: Context, resource: Resource) -> Asked:
    """Read before the work: a wish that cannot be met must not leave anything behind."""
    drawing, variant_id = read_catalog_drawing(request, ctx, resource), read_variant_asked(request.params)
    return Asked(drawing, await pricing_for(ctx, read_currency(request.params, ctx.shared.shop)), variant_id)


def _chosen(request: Request, asked: Asked) -> Chosen:
    return Chosen(request.path_params["wishlist_token"], asked.pricing)


def _item_id(request: Request) -> UUID | None:
    return as_uuid(request.path_params["item_id"])


async def _list_reply(ctx: Context, found: Wishlist, asked: Asked, status: int = 200) -> Reply:
    (record,) = await _loaded(ctx, [found], asked)
    return document_reply(document(WISHLIST, record, asked.drawing), status)


async def _item_reply(ctx: Context, item: SeenItem, asked: Asked) -> Reply:
    (record,) = await _loaded_items(ctx, [item], asked.include, asked.pricing)
    return document_reply(document(WISHED_ITEM, record, asked.drawing))


async def _loaded(ctx: Context, lists: Sequence[Wishlist], asked: Asked) -> list[Loaded]:
    """As many statements for many lists as for one; what things cost is read only where they are shown."""
    tree = asked.include.get("wished_items")
    if tree is None:
        items = [Loaded(item) for item in await wishlists.list_items(ctx, lists)]
    else:
        seen = await wishlists.see_items(ctx, lists, asked.pricing)
        items = await _loaded_items(ctx, seen, tree, asked.pricing)
    on_lists: dict[UUID, list[Loaded]] = {each.id: [] for each in lists}
    for item in items:
        on_lists[item.row.wishlist_id].append(item)
    return [Loaded(_seen(each, on_lists[each.id], asked), {"wished_items": on_lists[each.id]}) for each in lists]


def _seen(found: Wishlist, items: Sequence[Loaded], asked: Asked) -> SeenWishlist:
    is_included = any(item.row.variant_id == asked.variant_id for item in items)
    return SeenWishlist(**msgspec.structs.asdict(found), variant_included=is_included)


async def _loaded_items(ctx: Context, items: Sequence[SeenItem], tree: Tree, pricing: Pricing) -> list[Loaded]:
    """Each with its variant; one that was taken away for good is none."""
    left = {item.variant_id for item in items if not item.is_gone}
    found: Mapping[UUID, Link] = {variant_id: Loaded(Named(variant_id)) for variant_id in left}
    if "variant" in tree:
        found = await storefront.load_variants(ctx, list(left), tree["variant"], pricing)
    return [Loaded(item, {"variant": found.get(item.variant_id)}) for item in items]
