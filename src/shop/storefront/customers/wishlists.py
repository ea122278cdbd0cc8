"""Wishlist endpoints. Items are shown at the caller's prices."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from shop.actions.catalog import storefront
from shop.actions.catalog.prices import resolve_pricing
from shop.actions.context import Context
from shop.actions.customers import wishlists
from shop.actions.customers.wishlists import WishlistRef
from shop.base.errors import Malformed
from shop.base.record import Link, Record, Reference
from shop.base.values import read_lookup_id
from shop.jsonapi.document import RenderOptions, document
from shop.jsonapi.paging import PageWindow, paginate_rows, read_sort, read_window
from shop.jsonapi.resource import Resource
from shop.models.customers.inputs import (
    OwnWishedItemInput,
    OwnWishedItemsInput,
    OwnWishlistFields,
    OwnWishlistUpdateFields,
    WishedItemIdsInput,
    WishedQuantityInput,
)
from shop.models.customers.wishlists import WishedItemView, Wishlist, WishlistView
from shop.models.filters import NoFilters
from shop.queries.catalog.prices import Pricing
from shop.storefront.product_filters import read_currency
from shop.storefront.rendering import page_reply, read_catalog_render_options
from shop.storefront.resources.wishlists import WISHED_ITEM, WISHLIST
from shop.web.input.inputs import get_object, read_filters, read_input, read_value
from shop.web.input.request import Request
from shop.web.reply import NO_CONTENT, Reply, document_reply

Tree = Mapping[str, Any]


class WishlistQuery(msgspec.Struct, frozen=True):
    """The render options, pricing and variant of a wishlist request."""

    options: RenderOptions
    pricing: Pricing
    variant_id: UUID | None
    """The variant to look for on each list."""

    @property
    def include(self) -> Tree:
        return self.options.query.include or {}


async def list_own(request: Request, ctx: Context) -> Reply:
    query = await _read_query(request, ctx, WISHLIST)
    read_filters(NoFilters, request.params)
    read_sort(request.params, ())
    window = paginate_rows(await wishlists.list_lists(ctx, query.pricing), read_window(request.params))
    records = await _build_records(ctx, window.records, query)
    page = PageWindow(records, window.total, window.page, window.next_cursor)
    return page_reply(request, ctx, WISHLIST, query.options, page)


async def create(request: Request, ctx: Context) -> Reply:
    query = await _read_query(request, ctx, WISHLIST)
    values = read_input(OwnWishlistFields, _wishlist_members(request))
    return await _list_reply(ctx, await wishlists.make_list(ctx, query.pricing, values), query, status=201)


async def show_default(request: Request, ctx: Context) -> Reply:
    query = await _read_query(request, ctx, WISHLIST)
    return await _list_reply(ctx, await wishlists.get_default(ctx, query.pricing), query)


async def show(request: Request, ctx: Context) -> Reply:
    query = await _read_query(request, ctx, WISHLIST)
    return await _list_reply(ctx, await wishlists.get_visible_list(ctx, _wishlist_ref(request, query)), query)


async def update(request: Request, ctx: Context) -> Reply:
    query = await _read_query(request, ctx, WISHLIST)
    values = read_input(OwnWishlistUpdateFields, _wishlist_members(request))
    return await _list_reply(ctx, await wishlists.change_list(ctx, _wishlist_ref(request, query), values), query)


async def destroy(request: Request, ctx: Context) -> Reply:
    await wishlists.remove_list(ctx, _wishlist_ref(request, await _read_query(request, ctx, WISHLIST)))
    return NO_CONTENT


async def add_item(request: Request, ctx: Context) -> Reply:
    query = await _read_query(request, ctx, WISHED_ITEM)
    item = read_input(OwnWishedItemInput, request.params)
    return await _item_reply(ctx, await wishlists.add_item(ctx, _wishlist_ref(request, query), item), query)


async def set_item_quantity(request: Request, ctx: Context) -> Reply:
    query = await _read_query(request, ctx, WISHED_ITEM)
    values = read_input(WishedQuantityInput, request.params)
    item = await wishlists.change_item(ctx, _wishlist_ref(request, query), _item_id(request), values)
    return await _item_reply(ctx, item, query)


async def remove_item(request: Request, ctx: Context) -> Reply:
    query = await _read_query(request, ctx, WISHED_ITEM)
    item = await wishlists.remove_item(ctx, _wishlist_ref(request, query), _item_id(request))
    return await _item_reply(ctx, item, query)


async def add_items(request: Request, ctx: Context) -> Reply:
    query = await _read_query(request, ctx, WISHLIST)
    items = read_input(OwnWishedItemsInput, request.params).wished_items
    return await _list_reply(ctx, await wishlists.add_items(ctx, _wishlist_ref(request, query), items), query)


async def remove_items(request: Request, ctx: Context) -> Reply:
    query = await _read_query(request, ctx, WISHLIST)
    ids = read_input(WishedItemIdsInput, request.params).wished_items_ids
    return await _list_reply(ctx, await wishlists.remove_items(ctx, _wishlist_ref(request, query), ids), query)


async def _read_query(request: Request, ctx: Context, resource: Resource) -> WishlistQuery:
    """Reads the query before any work, so that an invalid query has no side effects."""
    options, variant_id = read_catalog_render_options(request, ctx, resource), _read_variant_id(request)
    pricing = await resolve_pricing(ctx, read_currency(request.params, ctx.shared.shop))
    return WishlistQuery(options, pricing, variant_id)


def _read_variant_id(request: Request) -> UUID | None:
    try:
        variant_id: UUID | None = read_value(request.params.get("is_variant_included"), UUID | None)
    except ValueError:
        raise Malformed("The parameter is_variant_included takes the id of a variant.") from None
    return variant_id


def _wishlist_members(request: Request) -> Mapping[str, Any]:
    """Returns the members of the `wishlist` object, or those at the top level of the body."""
    return get_object({"wishlist": request.params, **request.params}, "wishlist")


def _wishlist_ref(request: Request, query: WishlistQuery) -> WishlistRef:
    return WishlistRef(request.path_params["wishlist_token"], query.pricing)


def _item_id(request: Request) -> UUID:
    return read_lookup_id(request.path_params["item_id"])


async def _list_reply(ctx: Context, wishlist: Wishlist, query: WishlistQuery, status: int = 200) -> Reply:
    (record,) = await _build_records(ctx, [wishlist], query)
    return document_reply(document(WISHLIST, record, query.options), status)


async def _item_reply(ctx: Context, item: WishedItemView, query: WishlistQuery) -> Reply:
    (record,) = await _build_item_records(ctx, [item], query.include, query.pricing)
    return document_reply(document(WISHED_ITEM, record, query.options))


async def _build_records(ctx: Context, lists: Sequence[Wishlist], query: WishlistQuery) -> list[Record]:
    """Builds wishlists in a constant number of statements; prices are read only when items are included."""
    tree = query.include.get("wished_items")
    if tree is None:
        items = [Record(item) for item in await wishlists.list_items(ctx, lists)]
    else:
        priced_items = await wishlists.list_priced_items(ctx, lists, query.pricing)
        items = await _build_item_records(ctx, priced_items, tree, query.pricing)
    on_lists: dict[UUID, list[Record]] = {each.id: [] for each in lists}
    for item in items:
        on_lists[item.row.wishlist_id].append(item)
    return [Record(_seen(each, on_lists[each.id], query), {"wished_items": on_lists[each.id]}) for each in lists]


def _seen(wishlist: Wishlist, items: Sequence[Record], query: WishlistQuery) -> WishlistView:
    is_included = any(item.row.variant_id == query.variant_id for item in items)
    return WishlistView(**msgspec.structs.asdict(wishlist), variant_included=is_included)


async def _build_item_records(
    ctx: Context, items: Sequence[WishedItemView], tree: Tree, pricing: Pricing
) -> list[Record]:
    """Builds items with their variants; a deleted variant is null."""
    variant_ids = {item.variant_id for item in items if not item.is_gone}
    variants: Mapping[UUID, Link] = {variant_id: Record(Reference(variant_id)) for variant_id in variant_ids}
    if "variant" in tree:
        variants = await storefront.load_variants(ctx, list(variant_ids), tree["variant"], pricing)
    return [Record(item, {"variant": variants.get(item.variant_id)}) for item in items]
