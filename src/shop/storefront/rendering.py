"""Rendering of storefront documents: document query, locale and viewer."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from shop.actions.context import Context
from shop.base.listing import Keyset, Page
from shop.base.record import Link, Record
from shop.jsonapi.document import RenderOptions, list_document
from shop.jsonapi.paging import PageWindow, paginate_rows, window_extras
from shop.jsonapi.query import deprecations, read_document_query
from shop.jsonapi.resource import RenderContext, Resource
from shop.models.access.users import AccountUser
from shop.models.customers.addresses import AddressWithCountry
from shop.storefront.resources.registry import RESOURCES
from shop.storefront.resources.viewer import Viewer
from shop.web.image_urls import ImageOptions, read_size
from shop.web.input.request import Request
from shop.web.reply import Reply, document_reply


def read_render_options(request: Request, ctx: Context, resource: Resource, *, is_list: bool = False) -> RenderOptions:
    """Reads the render options before any work, so that an invalid query has no side effects."""
    query = read_document_query(request.params, resource, RESOURCES)
    request.deprecations += deprecations(query, RESOURCES)
    currency = ctx.shared.shop.currencies[0]
    # Carts and accounts show images only where they are included.
    image_options = ImageOptions() if query.include is None else _read_image_options(request, ctx)
    viewer = Viewer(ctx.shared.keys, ctx.claim, is_list=is_list, currency=currency, image_options=image_options)
    return RenderOptions(RESOURCES, RenderContext(ctx.shared.shop.default_locale, viewer), query)


def read_catalog_render_options(request: Request, ctx: Context, resource: Resource) -> RenderOptions:
    """Reads the render options of a public document, like `read_render_options`; adds image and country settings."""
    query = read_document_query(request.params, resource, RESOURCES)
    request.deprecations += deprecations(query, RESOURCES)
    country = ctx.shared.shop.default_country
    viewer = Viewer(ctx.shared.keys, default_country=country, image_options=_read_image_options(request, ctx))
    return RenderOptions(RESOURCES, RenderContext(ctx.shared.shop.default_locale, viewer), query)


def _read_image_options(request: Request, ctx: Context) -> ImageOptions:
    return ImageOptions(request.origin(ctx.shared.settings.public_url), read_size(request.params))


def with_session(options: RenderOptions, ctx: Context, session_id: UUID) -> RenderOptions:
    viewer = Viewer(ctx.shared.keys, ctx.claim, session_id)
    return RenderOptions(options.resources, RenderContext(options.render_context.locale, viewer), options.query)


def user_links(user: AccountUser, addresses: Sequence[AddressWithCountry]) -> dict[str, Link]:
    """Returns the relations of a user, both on the account and as the owner of a cart."""
    records = {address.id: Record(address) for address in addresses}
    return {
        "default_billing_address": records.get(user.bill_address_id) if user.bill_address_id else None,
        "default_shipping_address": records.get(user.ship_address_id) if user.ship_address_id else None,
    }


def page_reply(
    request: Request, ctx: Context, resource: Resource, options: RenderOptions, window: PageWindow[Record]
) -> Reply:
    """Replies with one page of a list: records, total count and page links."""
    url = request.url(ctx.shared.settings.public_url)
    extras = window_extras(window, url, request.params)
    return document_reply(list_document(resource, window.records, options, extras))


def build_page(rows: Sequence[Any], page: Page | Keyset) -> PageWindow[Record]:
    """Cuts a page from a fully loaded list; its records have no relations."""
    window = paginate_rows(rows, page)
    return PageWindow([Record(row) for row in window.records], window.total, page, window.next_cursor)
