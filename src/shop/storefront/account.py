"""The account's endpoints: who I am, where I live, what I pay with and bought, where I am signed in."""

from typing import get_type_hints
from uuid import UUID

from shop.actions.context import Context
from shop.actions.customers import account
from shop.actions.orders import resources as orders
from shop.actions.payments import saved_cards
from shop.base.errors import Malformed
from shop.base.ids import as_uuid
from shop.base.loaded import Loaded, Named
from shop.jsonapi.document import Drawing, document
from shop.jsonapi.paging import Window, cut, read_keyset, read_page, read_sort, read_window
from shop.models.cart.orders import Order
from shop.models.checkout.payments import CreditCard
from shop.models.customers.addresses import PlacedAddress
from shop.storefront.cart_document import loaded_orders
from shop.storefront.drawing import loaded_page, page_reply, read_drawing, seen_from, user_links
from shop.storefront.inputs import wrapped
from shop.storefront.resources.people import ADDRESS, SESSION, USER
from shop.storefront.resources.sales import CREDIT_CARD, ORDER
from shop.storefront.wishes import read_filters
from shop.web.reply import NO_CONTENT, Reply, document_reply
from shop.web.request import Request

CARD_FILTERS = ("payment_method_id",)


async def show(request: Request, ctx: Context) -> Reply:
    drawing = read_drawing(request, ctx, USER)
    return document_reply(await _account(ctx, drawing))


async def update(request: Request, ctx: Context) -> Reply:
    drawing = read_drawing(request, ctx, USER)
    await account.update_account(ctx, wrapped(request.params, "user"))
    return document_reply(await _account(ctx, drawing))


async def list_addresses(request: Request, ctx: Context) -> Reply:
    drawing = read_drawing(request, ctx, ADDRESS)
    read_filters(request.params, ("exclude_quick_checkout",))
    read_sort(request.params, ())
    found = await account.list_addresses(ctx)
    return page_reply(request, ctx, ADDRESS, drawing, loaded_page(found, read_window(request.params)))


async def show_address(request: Request, ctx: Context) -> Reply:
    drawing = read_drawing(request, ctx, ADDRESS)
    return _address(await account.get_address(ctx, request.path_params["id"]), drawing)


async def create_address(request: Request, ctx: Context) -> Reply:
    drawing = read_drawing(request, ctx, ADDRESS)
    return _address(await account.add_address(ctx, wrapped(request.params, "address")), drawing)


async def update_address(request: Request, ctx: Context) -> Reply:
    drawing = read_drawing(request, ctx, ADDRESS)
    changed = await account.change_address(ctx, request.path_params["id"], wrapped(request.params, "address"))
    return _address(changed, drawing)


async def destroy_address(request: Request, ctx: Context) -> Reply:
    await account.remove_address(ctx, request.path_params["id"])
    return NO_CONTENT


async def list_cards(request: Request, ctx: Context) -> Reply:
    drawing = read_drawing(request, ctx, CREDIT_CARD)
    filters, page = read_filters(request.params, CARD_FILTERS), read_window(request.params)
    read_sort(request.params, ())
    found = await saved_cards.list_cards(ctx, _method_id(filters.get("payment_method_id")))
    window = cut(found, page)
    shown = await _cards(ctx, drawing, list(window.records))
    return page_reply(request, ctx, CREDIT_CARD, drawing, Window(shown, window.total, page, window.next_place))


async def show_card(request: Request, ctx: Context) -> Reply:
    drawing = read_drawing(request, ctx, CREDIT_CARD)
    (shown,) = await _cards(ctx, drawing, [await saved_cards.get_card(ctx, request.path_params["id"])])
    return document_reply(document(CREDIT_CARD, shown, drawing))


async def destroy_card(request: Request, ctx: Context) -> Reply:
    await saved_cards.remove_card(ctx, request.path_params["id"])
    return NO_CONTENT


async def list_orders(request: Request, ctx: Context) -> Reply:
    drawing = read_drawing(request, ctx, ORDER, is_list=True)
    read_filters(request.params, ())
    sort = read_sort(request.params, orders.SORTS) or orders.NEWEST
    page = read_keyset(request.params, get_type_hints(Order)[sort.name]) or read_page(request.params)
    found = await orders.list_completed(ctx, page, sort)
    records = await loaded_orders(await orders.list_parts(ctx, found.orders), ctx, drawing.query.include or {})
    return page_reply(request, ctx, ORDER, drawing, Window(records, found.total, page, found.next_place))


async def show_order(request: Request, ctx: Context) -> Reply:
    drawing = read_drawing(request, ctx, ORDER)
    order = await orders.get_completed(ctx, request.path_params["number"])
    (record,) = await loaded_orders(await orders.list_parts(ctx, [order]), ctx, drawing.query.include or {})
    return document_reply(document(ORDER, record, drawing))


async def list_sessions(request: Request, ctx: Context) -> Reply:
    drawing = read_drawing(request, ctx, SESSION)
    read_filters(request.params, ())
    read_sort(request.params, ())
    found, current = await account.list_sessions(ctx)
    page = loaded_page(found, read_window(request.params))
    return page_reply(request, ctx, SESSION, seen_from(drawing, ctx, current), page)


async def destroy_session(request: Request, ctx: Context) -> Reply:
    await account.end_session(ctx, request.path_params["id"])
    return NO_CONTENT


def _method_id(given: object) -> UUID | None:
    if given in (None, ""):
        return None
    wanted = as_uuid(given)
    if wanted is None:
        raise Malformed("The filter payment_method_id takes an id.", code="unknown_filter")
    return wanted


async def _cards(ctx: Context, drawing: Drawing, found: list[CreditCard]) -> list[Loaded]:
    is_asked = "payment_method" in (drawing.query.include or {})
    methods = await saved_cards.list_methods_of(ctx, found) if is_asked else {}
    return [
        Loaded(card, {"payment_method": Loaded(methods.get(card.payment_method_id) or Named(card.payment_method_id))})
        for card in found
    ]


async def _account(ctx: Context, drawing: Drawing) -> bytes:
    user, addresses = await account.get_account(ctx)
    return document(USER, Loaded(user, user_links(user, list(addresses.values()))), drawing)


def _address(address: PlacedAddress, drawing: Drawing) -> Reply:
    return document_reply(document(ADDRESS, Loaded(address), drawing))
