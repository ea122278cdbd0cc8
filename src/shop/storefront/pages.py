"""Endpoints of pages, policies and menus."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from shop.actions.content import pages, public_menus
from shop.actions.context import Context
from shop.base.errors import NotFound
from shop.base.ids import as_uuid
from shop.base.listing import Keyset, ListedRows, Page
from shop.base.record import Record
from shop.jsonapi.document import RenderOptions, document, list_document
from shop.jsonapi.paging import PageWindow, read_sort, read_window, window_extras
from shop.jsonapi.resource import Resource
from shop.models.content.pages import ShownPage
from shop.rules.content.pages import page_type
from shop.storefront.product_filters import read_currency, read_filters, read_text
from shop.storefront.rendering import read_catalog_render_options
from shop.storefront.resources.pages import CMS_PAGE, MENU, POLICY
from shop.web.request import Request


def _part(text: str) -> str:
    """Escape LIKE wildcards in a part of a title."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


_READERS: Mapping[str, Callable[[str], str]] = {"title": _part, "type": page_type}
PAGE_FILTERS = ("title", "type", "locale")
MENU_FILTERS = ("location", "locale", "name")


async def list_pages(request: Request, ctx: Context) -> bytes:
    drawing, filters = read_catalog_render_options(request, ctx, CMS_PAGE), _filters(request, PAGE_FILTERS)
    page = read_window(request.params)
    listing = await pages.list_pages(ctx, filters, page)
    return _list(request, ctx, drawing, CMS_PAGE, _window([_page(row) for row in listing.rows], listing, page))


async def show_page(request: Request, ctx: Context) -> bytes:
    drawing = read_catalog_render_options(request, ctx, CMS_PAGE)
    read_filters(request.params, ())
    return document(CMS_PAGE, _page(await pages.get_page(ctx, _key(request))), drawing)


async def list_policies(request: Request, ctx: Context) -> bytes:
    drawing, filters = read_catalog_render_options(request, ctx, POLICY), _filters(request, ())
    page = read_window(request.params)
    listing = await pages.list_policies(ctx, filters, page)
    return _list(request, ctx, drawing, POLICY, _window([Record(row) for row in listing.rows], listing, page))


async def show_policy(request: Request, ctx: Context) -> bytes:
    drawing = read_catalog_render_options(request, ctx, POLICY)
    read_filters(request.params, ())
    return document(POLICY, Record(await pages.get_policy(ctx, _key(request))), drawing)


async def list_menus(request: Request, ctx: Context) -> bytes:
    drawing, filters = read_catalog_render_options(request, ctx, MENU), _filters(request, MENU_FILTERS)
    page, currency = read_window(request.params), read_currency(request.params, ctx.shared.shop)
    listing = await public_menus.list_menus(ctx, filters, page, drawing.query.include or {}, currency)
    return _list(request, ctx, drawing, MENU, _window(listing.rows, listing, page))


async def show_menu(request: Request, ctx: Context) -> bytes:
    drawing = read_catalog_render_options(request, ctx, MENU)
    read_filters(request.params, ())
    menu_id, currency = as_uuid(request.path_params["id"]), read_currency(request.params, ctx.shared.shop)
    if menu_id is None:
        raise NotFound()
    record = await public_menus.get_menu(ctx, menu_id, drawing.query.include or {}, currency)
    return document(MENU, record, drawing)


def _window(records: Sequence[Record], listing: ListedRows, page: Page | Keyset) -> PageWindow[Record]:
    return PageWindow(records, listing.total, page, listing.next_place)


def _list(
    request: Request, ctx: Context, drawing: RenderOptions, resource: Resource, window: PageWindow[Record]
) -> bytes:
    extras = window_extras(window, request.url(ctx.shared.settings.public_url), request.params)
    return list_document(resource, window.records, drawing, extras)


def _page(row: ShownPage) -> Record:
    return Record(row, {"cms_sections": []})


def _key(request: Request) -> UUID | str:
    text = request.path_params["slug"]
    return as_uuid(text) or text


def _filters(request: Request, filter_names: Sequence[str]) -> dict[str, Any]:
    """Read the non-empty filters. Sorting is not supported."""
    read_sort(request.params, ())
    filters = read_filters(request.params, filter_names)
    texts = {name: read_text(name, value) for name, value in filters.items() if value not in ("", [])}
    return {name: _READERS.get(name, str)(text) for name, text in texts.items()}
