"""How the storefront's documents are drawn: the client's wishes, the shop's locale, who looks."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from shop.actions.context import Context
from shop.base.listing import Keyset, Page
from shop.base.loaded import Link, Loaded
from shop.jsonapi.document import Drawing, list_document
from shop.jsonapi.paging import Window, cut, window_extras
from shop.jsonapi.query import deprecations, read_document_query
from shop.jsonapi.resource import Resource, Scene
from shop.models.access.users import AccountUser
from shop.models.customers.addresses import PlacedAddress
from shop.storefront.resources.known import RESOURCES
from shop.storefront.resources.viewer import Viewer
from shop.web.pictures import Look, read_size
from shop.web.reply import Reply, document_reply
from shop.web.request import Request


def read_drawing(request: Request, ctx: Context, resource: Resource, *, is_list: bool = False) -> Drawing:
    """Read before the work: a wish that cannot be met must not leave anything behind."""
    query = read_document_query(request.params, resource, RESOURCES)
    request.deprecations += deprecations(query, RESOURCES)
    currency = ctx.shared.shop.currencies[0]
    # Carts and accounts show images only where they are included.
    look = Look() if query.include is None else _read_look(request, ctx)
    viewer = Viewer(ctx.shared.keys, ctx.claim, is_list=is_list, currency=currency, look=look)
    return Drawing(RESOURCES, Scene(ctx.shared.shop.default_locale, viewer), query)


def read_catalog_drawing(request: Request, ctx: Context, resource: Resource) -> Drawing:
    """The same for what is shown to anybody, with what pictures and countries ask of the scene."""
    query = read_document_query(request.params, resource, RESOURCES)
    request.deprecations += deprecations(query, RESOURCES)
    country = ctx.shared.shop.default_country
    viewer = Viewer(ctx.shared.keys, default_country=country, look=_read_look(request, ctx))
    return Drawing(RESOURCES, Scene(ctx.shared.shop.default_locale, viewer), query)


def _read_look(request: Request, ctx: Context) -> Look:
    return Look(request.origin(ctx.shared.settings.public_url), read_size(request.params))


def seen_from(drawing: Drawing, ctx: Context, session_id: UUID) -> Drawing:
    viewer = Viewer(ctx.shared.keys, ctx.claim, session_id)
    return Drawing(drawing.resources, Scene(drawing.scene.locale, viewer), drawing.query)


def user_links(user: AccountUser, addresses: Sequence[PlacedAddress]) -> dict[str, Link]:
    """What a shopper is linked with, wherever one is drawn: on an account, or as the owner of a cart."""
    loaded = {address.id: Loaded(address) for address in addresses}
    return {
        "default_billing_address": loaded.get(user.bill_address_id) if user.bill_address_id else None,
        "default_shipping_address": loaded.get(user.ship_address_id) if user.ship_address_id else None,
    }


def page_reply(request: Request, ctx: Context, resource: Resource, drawing: Drawing, window: Window[Loaded]) -> Reply:
    """One page of a list: its records, how many there are in all, and which page it is."""
    url = request.url(ctx.shared.settings.public_url)
    extras = window_extras(window, url, request.params)
    return document_reply(list_document(resource, window.records, drawing, extras))


def loaded_page(rows: Sequence[Any], page: Page | Keyset) -> Window[Loaded]:
    """A page of records without relations, of a list that was read whole."""
    window = cut(rows, page)
    return Window([Loaded(row) for row in window.records], window.total, page, window.next_place)
