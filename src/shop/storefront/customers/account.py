"""Account endpoints: profile, addresses, saved cards, orders and sessions."""

from typing import get_type_hints

from shop.actions.archive.views import read_list, read_own
from shop.actions.context import Context
from shop.actions.customers import account
from shop.actions.orders import resources as order_actions
from shop.actions.payments import saved_cards
from shop.base.record import Record, Reference
from shop.base.values import read_lookup_id
from shop.jsonapi.document import RenderOptions, document
from shop.jsonapi.paging import PageWindow, paginate_rows, read_keyset, read_page, read_sort, read_window
from shop.models.cart.orders import Order
from shop.models.checkout.filters import CardFilters
from shop.models.checkout.payments import CreditCard
from shop.models.customers.addresses import AddressWithCountry
from shop.models.customers.filters import AddressFilters
from shop.models.customers.inputs import AccountAddressInput, AccountAddressUpdateInput, AccountFields
from shop.models.filters import NoFilters
from shop.storefront.cart_document import load_order_records
from shop.storefront.rendering import build_page, page_reply, read_render_options, user_links, with_session
from shop.storefront.resources.orders import CREDIT_CARD, ORDER
from shop.storefront.resources.users import ADDRESS, SESSION, USER
from shop.web.input.inputs import get_object, read_filters, read_input, read_valid_input
from shop.web.input.request import Request
from shop.web.reply import NO_CONTENT, Reply, document_reply


async def show(request: Request, ctx: Context) -> Reply:
    options = read_render_options(request, ctx, USER)
    return document_reply(await _account(ctx, options))


async def update(request: Request, ctx: Context) -> Reply:
    options = read_render_options(request, ctx, USER)
    await account.update_account(ctx, *read_valid_input(AccountFields, get_object(request.params, "user")))
    return document_reply(await _account(ctx, options))


async def list_addresses(request: Request, ctx: Context) -> Reply:
    options = read_render_options(request, ctx, ADDRESS)
    read_filters(AddressFilters, request.params)
    read_sort(request.params, ())
    addresses = await account.list_addresses(ctx)
    return page_reply(request, ctx, ADDRESS, options, build_page(addresses, read_window(request.params)))


async def show_address(request: Request, ctx: Context) -> Reply:
    options = read_render_options(request, ctx, ADDRESS)
    return _address(await account.get_address(ctx, read_lookup_id(request.path_params["id"])), options)


async def create_address(request: Request, ctx: Context) -> Reply:
    options = read_render_options(request, ctx, ADDRESS)
    values = read_input(AccountAddressInput, request.params).address
    return _address(await account.add_address(ctx, values), options)


async def update_address(request: Request, ctx: Context) -> Reply:
    options = read_render_options(request, ctx, ADDRESS)
    values = read_input(AccountAddressUpdateInput, request.params).address
    return _address(await account.change_address(ctx, read_lookup_id(request.path_params["id"]), values), options)


async def destroy_address(request: Request, ctx: Context) -> Reply:
    await account.remove_address(ctx, read_lookup_id(request.path_params["id"]))
    return NO_CONTENT


async def list_cards(request: Request, ctx: Context) -> Reply:
    options = read_render_options(request, ctx, CREDIT_CARD)
    filters, page = read_filters(CardFilters, request.params), read_window(request.params)
    read_sort(request.params, ())
    cards = await saved_cards.list_cards(ctx, filters.payment_method_id)
    window = paginate_rows(cards, page)
    records = await _cards(ctx, options, list(window.records))
    return page_reply(request, ctx, CREDIT_CARD, options, PageWindow(records, window.total, page, window.next_cursor))


async def show_card(request: Request, ctx: Context) -> Reply:
    options = read_render_options(request, ctx, CREDIT_CARD)
    (record,) = await _cards(ctx, options, [await saved_cards.get_card(ctx, request.path_params["id"])])
    return document_reply(document(CREDIT_CARD, record, options))


async def destroy_card(request: Request, ctx: Context) -> Reply:
    await saved_cards.remove_card(ctx, request.path_params["id"])
    return NO_CONTENT


async def list_orders(request: Request, ctx: Context) -> Reply:
    options = read_render_options(request, ctx, ORDER, is_list=True)
    read_filters(NoFilters, request.params)
    sort = read_sort(request.params, order_actions.SORTS) or order_actions.NEWEST
    page = read_keyset(request.params, get_type_hints(Order)[sort.name]) or read_page(request.params)

    async def reply(listing: order_actions.ListedOrders) -> Reply:
        parts = await order_actions.list_parts(ctx, listing.orders)
        records = await load_order_records(parts, ctx, options.query.include or {})
        return page_reply(request, ctx, ORDER, options, PageWindow(records, listing.total, page, listing.next_cursor))

    return await read_list(ctx, page, sort, reply)


async def show_order(request: Request, ctx: Context) -> Reply:
    options, number = read_render_options(request, ctx, ORDER), request.path_params["number"]

    async def read() -> Record:
        parts = await order_actions.list_parts(ctx, [await order_actions.get_completed(ctx, number)])
        (record,) = await load_order_records(parts, ctx, options.query.include or {})
        return record

    return document_reply(document(ORDER, await read_own(ctx, number, read), options))


async def list_sessions(request: Request, ctx: Context) -> Reply:
    options = read_render_options(request, ctx, SESSION)
    read_filters(NoFilters, request.params)
    read_sort(request.params, ())
    sessions, current = await account.list_sessions(ctx)
    page = build_page(sessions, read_window(request.params))
    return page_reply(request, ctx, SESSION, with_session(options, ctx, current), page)


async def destroy_session(request: Request, ctx: Context) -> Reply:
    await account.end_session(ctx, read_lookup_id(request.path_params["id"]))
    return NO_CONTENT


async def _cards(ctx: Context, options: RenderOptions, cards: list[CreditCard]) -> list[Record]:
    is_included = "payment_method" in (options.query.include or {})
    methods = await saved_cards.list_methods_of(ctx, cards) if is_included else {}
    return [
        Record(
            card, {"payment_method": Record(methods.get(card.payment_method_id) or Reference(card.payment_method_id))}
        )
        for card in cards
    ]


async def _account(ctx: Context, options: RenderOptions) -> bytes:
    user, addresses = await account.get_account(ctx)
    return document(USER, Record(user, user_links(user, list(addresses.values()))), options)


def _address(address: AddressWithCountry, options: RenderOptions) -> Reply:
    return document_reply(document(ADDRESS, Record(address), options))
