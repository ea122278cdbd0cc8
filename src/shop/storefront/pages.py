"""The storefront's pages, policies and menus."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from shop.actions.content import pages, public_menus
from shop.actions.context import Context
from shop.base.errors import NotFound
from shop.base.ids import as_uuid
from shop.base.listing import Keyset, ListedRows, Page
from shop.base.loaded import Loaded
from shop.jsonapi.document import Drawing, document, list_document
from shop.jsonapi.paging import Window, read_sort, read_window, window_extras
from shop.jsonapi.resource import Resource
from shop.models.content.pages import ShownPage
from shop.rules.content.pages import page_type
from shop.storefront.drawing import read_catalog_drawing
from shop.storefront.resources.pages import CMS_PAGE, MENU, POLICY
from shop.storefront.wishes import read_currency, read_filters, read_text
from shop.web.request import Request


def _part(text: str) -> str:
    """A part of a title, with the signs of a pattern escaped."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


_READERS: Mapping[str, Callable[[str], str]] = {"title": _part, "type": page_type}
PAGE_FILTERS = ("title", "type", "locale")
MENU_FILTERS = ("location", "locale", "name")


async def list_pages(request: Request, ctx: Context) -> bytes:
    drawing, filters = read_catalog_drawing(request, ctx, CMS_PAGE), _filters(request, PAGE_FILTERS)
    page = read_window(request.params)
    found = await pages.list_pages(ctx, filters, page)
    return _list(request, ctx, drawing, CMS_PAGE, _window([_page(row) for row in found.rows], found, page))


async def show_page(request: Request, ctx: Context) -> bytes:
    drawing = read_catalog_drawing(request, ctx, CMS_PAGE)
    read_filters(request.params, ())
    return document(CMS_PAGE, _page(await pages.get_page(ctx, _key(request))), drawing)


async def list_policies(request: Request, ctx: Context) -> bytes:
    drawing, filters = read_catalog_drawing(request, ctx, POLICY), _filters(request, ())
    page = read_window(request.params)
    found = await pages.list_policies(ctx, filters, page)
    return _list(request, ctx, drawing, POLICY, _window([Loaded(row) for row in found.rows], found, page))


async def show_policy(request: Request, ctx: Context) -> bytes:
    drawing = read_catalog_drawing(request, ctx, POLICY)
    read_filters(request.params, ())
    return document(POLICY, Loaded(await pages.get_policy(ctx, _key(request))), drawing)


async def list_menus(request: Request, ctx: Context) -> bytes:
    drawing, filters = read_catalog_drawing(request, ctx, MENU), _filters(request, MENU_FILTERS)
    page, currency = read_window(request.params), read_currency(request.params, ctx.shared.shop)
    found = await public_menus.list_menus(ctx, filters, page, drawing.query.include or {}, currency)
    return _list(request, ctx, drawing, MENU, _window(found.rows, found, page))


async def show_menu(request: Request, ctx: Context) -> bytes:
    drawing = read_catalog_drawing(request, ctx, MENU)
    read_filters(request.params, ())
    menu_id, currency = as_uuid(request.path_params["id"]), read_currency(request.params, ctx.shared.shop)
    if menu_id is None:
        raise NotFound()
    record = await public_menus.get_menu(ctx, menu_id, drawing.query.include or {}, currency)
    return document(MENU, record, drawing)


def _window(records: Sequence[Loaded], found: ListedRows, page: Page | Keyset) -> Window[Loaded]:
    return Window(records, found.total, page, found.next_place)


def _list(request: Request, ctx: Context, drawing: Drawing, resource: Resource, window: Window[Loaded]) -> bytes:
    extras = window_extras(window, request.url(ctx.shared.settings.public_url), request.params)
    return list_document(resource, window.records, drawing, extras)


def _page(row: ShownPage) -> Loaded:
    return Loaded(row, {"cms_sections": []})


def _key(request: Request) -> UUID | str:
    text = request.path_params["slug"]
    return as_uuid(text) or text


def _filters(request: Request, allowed: Sequence[str]) -> dict[str, Any]:
    """The filters that have a value; sorting is not offered."""
    read_sort(request.params, ())
    filters = read_filters(request.params, allowed)
    texts = {name: read_text(name, value) for name, value in filters.items() if value not in ("", [])}
    return {name: _READERS.get(name, str)(text) for name, text in texts.items()}
