"""Checkout endpoints."""

from typing import Any

import msgspec

from shop.actions.cart.line_items import Cart
from shop.actions.cart.order_state import Checkout, load_checkout
from shop.actions.checkout import steps, views, workflow
from shop.actions.context import Context
from shop.actions.payments import completion
from shop.base.errors import Malformed, NotPayable
from shop.base.ids import as_uuid
from shop.base.record import Record
from shop.jsonapi.document import NO_EXTRAS, Extras, RenderOptions, list_document
from shop.storefront.cart_document import (
    RelatedRecords,
    build_shipment_records,
    cart_reply,
    explain_totals_meta,
    load_shipping_methods,
    load_stock_locations,
)
from shop.storefront.rendering import read_render_options
from shop.storefront.resources.sales import CART, PAYMENT_METHOD, SHIPMENT
from shop.web.reply import Reply, document_reply, error_body, json_reply
from shop.web.request import Request


async def update(request: Request, ctx: Context) -> Reply:
    """Update the checkout. Null values are ignored; without `order` nothing changes."""
    drawing = read_render_options(request, ctx, CART)
    values = request.params.get("order")
    if values is None:
        return await build_checkout_reply(request, ctx, drawing, await views.get_checkout(ctx))
    if not isinstance(values, dict):
        raise Malformed('The body must have an object "order".')
    sources = request.params.get("payment_source")
    checkout = await workflow.update(ctx, values, sources if isinstance(sources, dict) else {})
    return await build_checkout_reply(request, ctx, drawing, checkout)


async def next_step(request: Request, ctx: Context) -> Reply:
    drawing = read_render_options(request, ctx, CART)
    return await build_checkout_reply(request, ctx, drawing, await workflow.next_step(ctx))


async def advance(request: Request, ctx: Context) -> Reply:
    """Advance as far as possible. An incomplete step is an error only if the request names a state."""
    drawing = read_render_options(request, ctx, CART)
    state = request.params.get("state")
    checkout = await workflow.advance(ctx, state=state if isinstance(state, str) else None)
    return await build_checkout_reply(request, ctx, drawing, checkout)


async def complete(request: Request, ctx: Context) -> Reply:
    drawing = read_render_options(request, ctx, CART)
    consent = request.params.get("consent_token")
    order = await completion.complete(
        ctx,
        consent if isinstance(consent, str) else None,
        base_url=request.origin(ctx.shared.settings.public_url),
    )
    return await build_checkout_reply(request, ctx, drawing, await load_checkout(ctx, order))


async def create_payment(request: Request, ctx: Context) -> Reply:
    drawing = read_render_options(request, ctx, CART)
    return await build_checkout_reply(
        request, ctx, drawing, await workflow.create_payment(ctx, request.params), status=201
    )


async def validate_for_payment(request: Request, ctx: Context) -> Reply:
    """Return 422 with the current cart and, in `meta.messages`, what must change before payment."""
    drawing = read_render_options(request, ctx, CART)
    skips_state = request.params.get("skip_state") in (True, "true", "1", 1)
    checkout, messages = await workflow.validate_for_payment(ctx, skips_state=skips_state)
    cart = Cart(checkout.order, checkout.lines)
    extras = Extras({"messages": messages}, error=error_body(NotPayable(), request.id)) if messages else NO_EXTRAS
    return await cart_reply(cart, ctx, drawing, extras, status=422 if messages else 200, checkout=checkout)


async def select_shipping_method(request: Request, ctx: Context) -> Reply:
    drawing = read_render_options(request, ctx, CART)
    method_id = as_uuid(request.params.get("shipping_method_id"))
    checkout = await workflow.select_shipping_method(ctx, method_id, request.params.get("shipment_id"))
    return await build_checkout_reply(request, ctx, drawing, checkout)


async def shipping_rates(request: Request, ctx: Context) -> Reply:
    """List shipments with their shipping rates."""
    drawing = _with_parts(read_render_options(request, ctx, SHIPMENT))
    checkout = await views.get_shipments(ctx)
    rates = (drawing.query.include or {}).get("shipping_rates", {})
    methods = await load_shipping_methods(ctx, [checkout]) if "shipping_method" in rates else {}
    related = RelatedRecords(places=await load_stock_locations(ctx), shipping_methods=methods)
    shipments = build_shipment_records(checkout, related)
    return document_reply(list_document(SHIPMENT, shipments, drawing, NO_EXTRAS))


def _with_parts(drawing: RenderOptions) -> RenderOptions:
    """Always include what the shopper needs to choose a rate."""
    always: dict[str, Any] = {"shipping_rates": {}, "stock_location": {}, "line_items": {}}
    query = msgspec.structs.replace(drawing.query, include=always | dict(drawing.query.include or {}))
    return RenderOptions(drawing.resources, drawing.scene, query)


async def payment_methods(request: Request, ctx: Context) -> Reply:
    drawing = read_render_options(request, ctx, PAYMENT_METHOD)
    methods = await views.list_payment_methods(ctx)
    return document_reply(list_document(PAYMENT_METHOD, [Record(method) for method in methods], drawing, NO_EXTRAS))


async def requirements(_request: Request, ctx: Context) -> Reply:
    """List what the cart still lacks for completion."""
    checkout = await views.get_checkout(ctx)
    lacks = steps.requirements(checkout)
    until = await views.find_held_until(ctx, checkout.order)
    return json_reply({"state": checkout.order.state, "is_complete": not lacks, "missing": lacks, "held_until": until})


async def order_status(request: Request, ctx: Context) -> Reply:
    """Show a completed order by its number and order token."""
    drawing = read_render_options(request, ctx, CART)
    order = await views.get_order_status(ctx, request.path_params["number"])
    return await build_checkout_reply(request, ctx, drawing, await load_checkout(ctx, order))


async def build_checkout_reply(
    request: Request, ctx: Context, drawing: RenderOptions, checkout: Checkout, *, status: int = 200
) -> Reply:
    extras = await explain_totals_meta(request, ctx, checkout)
    cart = Cart(checkout.order, checkout.lines, checkout.warnings)
    return await cart_reply(cart, ctx, drawing, extras, status=status, checkout=checkout)
