"""Account endpoints: profile, addresses, saved cards, orders and sessions."""

from typing import get_type_hints
from uuid import UUID

from shop.actions.context import Context
from shop.actions.customers import account
from shop.actions.orders import resources as orders
from shop.actions.payments import saved_cards
from shop.base.errors import Malformed
from shop.base.ids import as_uuid
from shop.base.record import Record, Reference
from shop.jsonapi.document import RenderOptions, document
from shop.jsonapi.paging import PageWindow, paginate_rows, read_keyset, read_page, read_sort, read_window
from shop.models.cart.orders import Order
from shop.models.checkout.payments import CreditCard
from shop.models.customers.addresses import PlacedAddress
from shop.storefront.cart_document import load_order_records
from shop.storefront.inputs import read_wrapped_object
from shop.storefront.product_filters import read_filters
from shop.storefront.rendering import build_page, page_reply, read_render_options, user_links, with_session
from shop.storefront.resources.people import ADDRESS, SESSION, USER
from shop.storefront.resources.sales import CREDIT_CARD, ORDER
from shop.web.reply import NO_CONTENT, Reply, document_reply
from shop.web.request import Request

CARD_FILTERS = ("payment_method_id",)


async def show(request: Request, ctx: Context) -> Reply:
    drawing = read_render_options(request, ctx, USER)
    return document_reply(await _account(ctx, drawing))


async def update(request: Request, ctx: Context) -> Reply:
    drawing = read_render_options(request, ctx, USER)
    await account.update_account(ctx, read_wrapped_object(request.params, "user"))
    return document_reply(await _account(ctx, drawing))


async def list_addresses(request: Request, ctx: Context) -> Reply:
    drawing = read_render_options(request, ctx, ADDRESS)
    read_filters(request.params, ("exclude_quick_checkout",))
    read_sort(request.params, ())
    addresses = await account.list_addresses(ctx)
    return page_reply(request, ctx, ADDRESS, drawing, build_page(addresses, read_window(request.params)))


async def show_address(request: Request, ctx: Context) -> Reply:
    drawing = read_render_options(request, ctx, ADDRESS)
    return _address(await account.get_address(ctx, request.path_params["id"]), drawing)


async def create_address(request: Request, ctx: Context) -> Reply:
    drawing = read_render_options(request, ctx, ADDRESS)
    return _address(await account.add_address(ctx, read_wrapped_object(request.params, "address")), drawing)


async def update_address(request: Request, ctx: Context) -> Reply:
    drawing = read_render_options(request, ctx, ADDRESS)
    address = await account.change_address(
        ctx, request.path_params["id"], read_wrapped_object(request.params, "address")
    )
    return _address(address, drawing)


async def destroy_address(request: Request, ctx: Context) -> Reply:
    await account.remove_address(ctx, request.path_params["id"])
    return NO_CONTENT


async def list_cards(request: Request, ctx: Context) -> Reply:
    drawing = read_render_options(request, ctx, CREDIT_CARD)
    filters, page = read_filters(request.params, CARD_FILTERS), read_window(request.params)
    read_sort(request.params, ())
    cards = await saved_cards.list_cards(ctx, _method_id(filters.get("payment_method_id")))
    window = paginate_rows(cards, page)
    records = await _cards(ctx, drawing, list(window.records))
    return page_reply(request, ctx, CREDIT_CARD, drawing, PageWindow(records, window.total, page, window.next_place))


async def show_card(request: Request, ctx: Context) -> Reply:
    drawing = read_render_options(request, ctx, CREDIT_CARD)
    (record,) = await _cards(ctx, drawing, [await saved_cards.get_card(ctx, request.path_params["id"])])
    return document_reply(document(CREDIT_CARD, record, drawing))


async def destroy_card(request: Request, ctx: Context) -> Reply:
    await saved_cards.remove_card(ctx, request.path_params["id"])
    return NO_CONTENT


async def list_orders(request: Request, ctx: Context) -> Reply:
    drawing = read_render_options(request, ctx, ORDER, is_list=True)
    read_filters(request.params, ())
    sort = read_sort(request.params, orders.SORTS) or orders.NEWEST
    page = read_keyset(request.params, get_type_hints(Order)[sort.name]) or read_page(request.params)
    listing = await orders.list_completed(ctx, page, sort)
    records = await load_order_records(await orders.list_parts(ctx, listing.orders), ctx, drawing.query.include or {})
    return page_reply(request, ctx, ORDER, drawing, PageWindow(records, listing.total, page, listing.next_place))


async def show_order(request: Request, ctx: Context) -> Reply:
    drawing = read_render_options(request, ctx, ORDER)
    order = await orders.get_completed(ctx, request.path_params["number"])
    (record,) = await load_order_records(await orders.list_parts(ctx, [order]), ctx, drawing.query.include or {})
    return document_reply(document(ORDER, record, drawing))


async def list_sessions(request: Request, ctx: Context) -> Reply:
    drawing = read_render_options(request, ctx, SESSION)
    read_filters(request.params, ())
    read_sort(request.params, ())
    sessions, current = await account.list_sessions(ctx)
    page = build_page(sessions, read_window(request.params))
    return page_reply(request, ctx, SESSION, with_session(drawing, ctx, current), page)


async def destroy_session(request: Request, ctx: Context) -> Reply:
    await account.end_session(ctx, request.path_params["id"])
    return NO_CONTENT


def _method_id(value: object) -> UUID | None:
    if value in (None, ""):
        return None
    method_id = as_uuid(value)
    if method_id is None:
        raise Malformed("The filter payment_method_id takes an id.", code="unknown_filter")
    return method_id


async def _cards(ctx: Context, drawing: RenderOptions, cards: list[CreditCard]) -> list[Record]:
    is_included = "payment_method" in (drawing.query.include or {})
    methods = await saved_cards.list_methods_of(ctx, cards) if is_included else {}
    return [
        Record(
            card, {"payment_method": Record(methods.get(card.payment_method_id) or Reference(card.payment_method_id))}
        )
        for card in cards
    ]


async def _account(ctx: Context, drawing: RenderOptions) -> bytes:
    user, addresses = await account.get_account(ctx)
    return document(USER, Record(user, user_links(user, list(addresses.values()))), drawing)


def _address(address: PlacedAddress, drawing: RenderOptions) -> Reply:
    return document_reply(document(ADDRESS, Record(address), drawing))
