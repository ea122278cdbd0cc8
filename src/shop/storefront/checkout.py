"""Checkout endpoints."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from shop.actions.archive.views import read_own
from shop.actions.cart.locked_carts import Cart
from shop.actions.cart.orders import Checkout, load_checkout
from shop.actions.checkout import steps, views, workflow
from shop.actions.context import Context
from shop.actions.payments import completion
from shop.base.errors import Invalid, Malformed, NotPayable
from shop.base.record import Record
from shop.jsonapi.document import NO_EXTRAS, Extras, RenderOptions, list_document
from shop.models.checkout.inputs import (
    CheckoutAdvanceInput,
    CheckoutConsent,
    CheckoutFields,
    CheckoutInput,
    CheckoutPaymentInput,
    CheckoutValidationInput,
    ShippingMethodChoice,
)
from shop.storefront.cart_document import (
    RelatedRecords,
    build_shipment_records,
    cart_reply,
    explain_totals_meta,
    load_shipping_methods,
    load_stock_locations,
)
from shop.storefront.rendering import read_render_options
from shop.storefront.resources.orders import CART, PAYMENT_METHOD, SHIPMENT
from shop.web.input.inputs import read_input
from shop.web.input.request import Request
from shop.web.reply import Reply, document_reply, error_body, json_reply

# Errors name the fields of an address and of a payment as the actions do.
_ERROR_PATHS = (
    (re.compile(r"^(order\.)?(payments_attributes\.[0-9]+\.)?"), ""),
    (re.compile(r"^payment_source\.[^.]*"), "source_attributes"),
    (re.compile(r"^(bill|ship)_address_attributes$"), r"\1_address.base"),
    (re.compile(r"^(bill|ship)_address_attributes"), r"\1_address"),
    (re.compile(r"^shipments_attributes\..*"), "shipments_attributes"),
)


async def update(request: Request, ctx: Context) -> Reply:
    """Updates the checkout. Null values are ignored; without `order` nothing changes."""
    options = read_render_options(request, ctx, CART)
    members = request.params.get("order")
    if members is None:
        return await build_checkout_reply(request, ctx, options, await views.get_checkout(ctx))
    if not isinstance(members, dict):
        raise Malformed('The body must have an object "order".')
    values, invalid = _read_checkout(request.params)
    checkout = await workflow.update(ctx, values.order or CheckoutFields(), values.payment_source or {}, invalid)
    return await build_checkout_reply(request, ctx, options, checkout)


def _read_checkout(params: Mapping[str, Any]) -> tuple[CheckoutInput, Invalid | None]:
    """Returns the valid fields and the errors of the invalid ones. The action reports these errors together with those
    of the addresses, which only it can check.
    """
    try:
        return read_input(CheckoutInput, params), None
    except Invalid as invalid:
        names = {path.split(".")[1] for path in invalid.errors if path.startswith("order.")}
        members = {name: value for name, value in params["order"].items() if name not in names}
        errors = {_error_path(path): messages for path, messages in invalid.errors.items()}
        return read_input(CheckoutInput, {"order": members}), Invalid(errors, code=invalid.code)


def _error_path(path: str) -> str:
    for pattern, replacement in _ERROR_PATHS:
        path = pattern.sub(replacement, path)
    return path


async def next_step(request: Request, ctx: Context) -> Reply:
    options = read_render_options(request, ctx, CART)
    return await build_checkout_reply(request, ctx, options, await workflow.next_step(ctx))


async def advance(request: Request, ctx: Context) -> Reply:
    """Advances as far as possible. An incomplete step is an error only if the request names a state."""
    options = read_render_options(request, ctx, CART)
    state = read_input(CheckoutAdvanceInput, request.params).state
    checkout = await workflow.advance(ctx, state=None if state is UNSET else state)
    return await build_checkout_reply(request, ctx, options, checkout)


async def complete(request: Request, ctx: Context) -> Reply:
    options = read_render_options(request, ctx, CART)
    consent_token = read_input(CheckoutConsent, request.params).consent_token
    base_url = request.origin(ctx.shared.settings.public_url)
    checkout = await completion.complete(ctx, consent_token or None, base_url=base_url)
    return await build_checkout_reply(request, ctx, options, checkout)


async def create_payment(request: Request, ctx: Context) -> Reply:
    options = read_render_options(request, ctx, CART)
    checkout = await workflow.create_payment(ctx, read_input(CheckoutPaymentInput, request.params))
    return await build_checkout_reply(request, ctx, options, checkout, status=201)


async def validate_for_payment(request: Request, ctx: Context) -> Reply:
    """Returns 422 with the current cart if payment is not possible; `meta.messages` has the reasons."""
    options = read_render_options(request, ctx, CART)
    skip_state = read_input(CheckoutValidationInput, request.params).skip_state
    checkout, messages = await workflow.validate_for_payment(ctx, skips_state=bool(skip_state))
    cart = Cart(checkout.order, checkout.lines)
    extras = Extras({"messages": messages}, error=error_body(NotPayable(), request.id)) if messages else NO_EXTRAS
    return await cart_reply(cart, ctx, options, extras, status=422 if messages else 200, checkout=checkout)


async def select_shipping_method(request: Request, ctx: Context) -> Reply:
    options = read_render_options(request, ctx, CART)
    choice = read_input(ShippingMethodChoice, request.params)
    checkout = await workflow.select_shipping_method(ctx, choice.shipping_method_id, choice.shipment_id or None)
    return await build_checkout_reply(request, ctx, options, checkout)


async def shipping_rates(request: Request, ctx: Context) -> Reply:
    """Lists shipments with their shipping rates."""
    options = _with_parts(read_render_options(request, ctx, SHIPMENT))
    checkout = await views.get_shipments(ctx)
    rates = (options.query.include or {}).get("shipping_rates", {})
    methods = await load_shipping_methods(ctx, [checkout]) if "shipping_method" in rates else {}
    related = RelatedRecords(places=await load_stock_locations(ctx), shipping_methods=methods)
    shipments = build_shipment_records(checkout, related)
    return document_reply(list_document(SHIPMENT, shipments, options, NO_EXTRAS))


def _with_parts(options: RenderOptions) -> RenderOptions:
    """Returns the options with the relations that the shopper needs to choose a rate."""
    always: dict[str, Any] = {"shipping_rates": {}, "stock_location": {}, "line_items": {}}
    query = msgspec.structs.replace(options.query, include=always | dict(options.query.include or {}))
    return RenderOptions(options.resources, options.render_context, query)


async def payment_methods(request: Request, ctx: Context) -> Reply:
    options = read_render_options(request, ctx, PAYMENT_METHOD)
    methods = await views.list_payment_methods(ctx)
    return document_reply(list_document(PAYMENT_METHOD, [Record(method) for method in methods], options, NO_EXTRAS))


async def requirements(_request: Request, ctx: Context) -> Reply:
    """Lists the requirements that the cart does not meet yet."""
    checkout = await views.get_checkout(ctx)
    missing_requirements = steps.requirements(checkout)
    until = await views.find_reservation_expiry(ctx, checkout.order)
    return json_reply(
        {
            "state": checkout.order.state,
            "is_complete": not missing_requirements,
            "missing": missing_requirements,
            "held_until": until,
        }
    )


async def order_status(request: Request, ctx: Context) -> Reply:
    """Shows a completed order by its number and order token."""
    options, number = read_render_options(request, ctx, CART), request.path_params["number"]

    async def read() -> Reply:
        order = await views.get_order_status(ctx, number)
        return await build_checkout_reply(request, ctx, options, await load_checkout(ctx, order))

    return await read_own(ctx, number, read)


async def build_checkout_reply(
    request: Request, ctx: Context, options: RenderOptions, checkout: Checkout, *, status: int = 200
) -> Reply:
    extras = await explain_totals_meta(request, ctx, checkout)
    cart = Cart(checkout.order, checkout.lines, checkout.warnings)
    return await cart_reply(cart, ctx, options, extras, status=status, checkout=checkout)
