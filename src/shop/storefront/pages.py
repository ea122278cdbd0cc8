"""Endpoints of pages, policies and menus."""

from collections.abc import Sequence
from uuid import UUID

import msgspec

from shop.actions.content import pages, public_menus
from shop.actions.context import Context
from shop.base.errors import NotFound
from shop.base.ids import as_uuid
from shop.base.listing import Keyset, ListedRows, Page
from shop.base.record import Record
from shop.jsonapi.document import RenderOptions, document, list_document
from shop.jsonapi.paging import PageWindow, read_sort, read_window, window_extras
from shop.jsonapi.resource import Resource
from shop.models.content.filters import MenuFilters, PageFilters
from shop.models.content.pages import PublicPage
from shop.models.filters import NoFilters
from shop.rules.content.pages import page_type
from shop.storefront.product_filters import read_currency
from shop.storefront.rendering import read_catalog_render_options
from shop.storefront.resources.pages import CMS_PAGE, MENU, POLICY
from shop.web.input.inputs import read_filters
from shop.web.input.request import Request


async def list_pages(request: Request, ctx: Context) -> bytes:
    options, page = read_catalog_render_options(request, ctx, CMS_PAGE), _read_window(request)
    filters = read_filters(PageFilters, request.params)
    if filters.type:
        filters = msgspec.structs.replace(filters, type=page_type(filters.type))
    listing = await pages.list_pages(ctx, filters.active, page)
    return _list(request, ctx, options, CMS_PAGE, _window([_page(row) for row in listing.rows], listing, page))


async def show_page(request: Request, ctx: Context) -> bytes:
    options = read_catalog_render_options(request, ctx, CMS_PAGE)
    read_filters(NoFilters, request.params)
    return document(CMS_PAGE, _page(await pages.get_page(ctx, _key(request))), options)


async def list_policies(request: Request, ctx: Context) -> bytes:
    options, page = read_catalog_render_options(request, ctx, POLICY), _read_window(request)
    listing = await pages.list_policies(ctx, read_filters(NoFilters, request.params).active, page)
    return _list(request, ctx, options, POLICY, _window([Record(row) for row in listing.rows], listing, page))


async def show_policy(request: Request, ctx: Context) -> bytes:
    options = read_catalog_render_options(request, ctx, POLICY)
    read_filters(NoFilters, request.params)
    return document(POLICY, Record(await pages.get_policy(ctx, _key(request))), options)


async def list_menus(request: Request, ctx: Context) -> bytes:
    options, page = read_catalog_render_options(request, ctx, MENU), _read_window(request)
    filters, currency = read_filters(MenuFilters, request.params), read_currency(request.params, ctx.shared.shop)
    listing = await public_menus.list_menus(ctx, filters, page, options.query.include or {}, currency)
    return _list(request, ctx, options, MENU, _window(listing.rows, listing, page))


async def show_menu(request: Request, ctx: Context) -> bytes:
    options = read_catalog_render_options(request, ctx, MENU)
    read_filters(NoFilters, request.params)
    menu_id, currency = as_uuid(request.path_params["id"]), read_currency(request.params, ctx.shared.shop)
    if menu_id is None:
        raise NotFound()
    record = await public_menus.get_menu(ctx, menu_id, options.query.include or {}, currency)
    return document(MENU, record, options)


def _window(records: Sequence[Record], listing: ListedRows, page: Page | Keyset) -> PageWindow[Record]:
    return PageWindow(records, listing.total, page, listing.next_cursor)


def _list(
    request: Request, ctx: Context, options: RenderOptions, resource: Resource, window: PageWindow[Record]
) -> bytes:
    extras = window_extras(window, request.url(ctx.shared.settings.public_url), request.params)
    return list_document(resource, window.records, options, extras)


def _page(row: PublicPage) -> Record:
    return Record(row, {"cms_sections": []})


def _key(request: Request) -> UUID | str:
    text = request.path_params["slug"]
    return as_uuid(text) or text


def _read_window(request: Request) -> Page | Keyset:
    """Reads the page of a list that cannot be sorted."""
    read_sort(request.params, ())
    return read_window(request.params)
