"""Cart endpoints."""

from typing import Any

import msgspec

from shop.actions.cart import carts as cart_actions
from shop.actions.cart import line_items, locked_carts
from shop.actions.checkout import views
from shop.actions.context import Context
from shop.base.crypto.order_tokens import read_order_token
from shop.base.ids import as_uuid
from shop.base.record import Record
from shop.jsonapi.document import Extras, list_document
from shop.models.cart.inputs import (
    CartCurrencyInput,
    CartInput,
    CartItemInput,
    CartItemsInput,
    CartQuantityInput,
    GuestCartInput,
)
from shop.storefront.cart_document import cart_reply, method_link, shows_lines
from shop.storefront.rendering import read_render_options
from shop.storefront.resources.orders import CART, SHIPPING_RATE_ESTIMATE, ShippingRateRecord
from shop.web.input.inputs import read_input
from shop.web.input.request import Request
from shop.web.reply import NO_CONTENT, Reply, document_reply


async def create(request: Request, ctx: Context) -> Reply:
    options = read_render_options(request, ctx, CART)
    order = await cart_actions.open_cart(ctx, read_input(CartInput, request.params))
    return await cart_reply(await locked_carts.load_cart(ctx, order), ctx, options, status=201)


async def show(request: Request, ctx: Context) -> Reply:
    options = read_render_options(request, ctx, CART)
    return await cart_reply(await locked_carts.load_cart(ctx, await cart_actions.get_cart(ctx)), ctx, options)


async def destroy(_request: Request, ctx: Context) -> Reply:
    await cart_actions.abandon_cart(ctx)
    return NO_CONTENT


async def add_item(request: Request, ctx: Context) -> Reply:
    options = read_render_options(request, ctx, CART)
    item = read_input(CartItemInput, request.params)
    cart = await line_items.add_items(ctx, [item], is_one=True, with_details=shows_lines(options))
    return await cart_reply(cart, ctx, options)


async def add_items(request: Request, ctx: Context) -> Reply:
    options = read_render_options(request, ctx, CART)
    items = read_input(CartItemsInput, request.params).items
    cart = await line_items.add_items(ctx, items, is_one=False, with_details=shows_lines(options))
    return await cart_reply(cart, ctx, options)


async def set_quantity(request: Request, ctx: Context) -> Reply:
    options = read_render_options(request, ctx, CART)
    change = read_input(CartQuantityInput, request.params)
    return await cart_reply(await line_items.set_quantity(ctx, change.line_item_id, change.quantity), ctx, options)


async def remove_line_item(request: Request, ctx: Context) -> Reply:
    options = read_render_options(request, ctx, CART)
    return await cart_reply(await line_items.remove_line(ctx, as_uuid(request.path_params["id"])), ctx, options)


async def empty(request: Request, ctx: Context) -> Reply:
    options = read_render_options(request, ctx, CART)
    return await cart_reply(await line_items.empty_cart(ctx), ctx, options)


async def change_currency(request: Request, ctx: Context) -> Reply:
    options = read_render_options(request, ctx, CART)
    currency = read_input(CartCurrencyInput, request.params).new_currency.upper()
    return await cart_reply(await line_items.change_currency(ctx, currency), ctx, options)


async def estimate_shipping_rates(request: Request, ctx: Context) -> Reply:
    """Estimates shipping rates to a country. An estimate has no id because it is not stored."""
    options = read_render_options(request, ctx, SHIPPING_RATE_ESTIMATE)
    country_iso = request.params.get("country_iso")
    estimates = await views.estimate_rates(ctx, country_iso if isinstance(country_iso, str) and country_iso else None)
    ids = (
        [rate.shipping_method_id for _, rate in estimates] if "shipping_method" in (options.query.include or {}) else []
    )
    methods = {method.id: Record(method) for method in await views.list_shipping_methods_of(ctx, ids)}
    rates = [
        Record(
            ShippingRateRecord(**{**msgspec.structs.asdict(rate), "id": None}, currency=currency),
            {"shipping_method": method_link(rate.shipping_method_id, methods)},
        )
        for currency, rate in estimates
    ]
    return document_reply(list_document(SHIPPING_RATE_ESTIMATE, rates, options))


async def associate(request: Request, ctx: Context) -> Reply:
    options = read_render_options(request, ctx, CART)
    # The token is never read from the URL, which is logged.
    token = {"guest_order_token": request.body_params().get("guest_order_token") or ""}
    guest = read_input(GuestCartInput, {**request.params, **token})
    guest_token = read_order_token(ctx.shared.keys, guest.guest_order_token)
    result = await cart_actions.join_carts(ctx, guest_token, guest.strategy, dry_run=guest.dry_run)
    merge_meta: dict[str, Any] = {
        "strategy": result.merge.strategy,
        "dry_run": guest.dry_run,
        "repeated": result.is_repetition,
    }
    if not result.is_repetition:
        # A repeated request omits the outcome, which the first response reported.
        merge_meta |= {
            "survivor": result.merge.survivor,
            "closed": result.closed and result.closed.number,
            "moved": result.merge.moved,
            "capped": result.merge.capped,
        }
    return await cart_reply(result.cart, ctx, options, Extras({"merge": merge_meta}))
