"""The checkout's endpoints."""

from typing import Any

import msgspec

from shop.actions.cart.line_items import Cart
from shop.actions.cart.order_state import Checkout, read
from shop.actions.checkout import steps, views, workflow
from shop.actions.context import Context
from shop.actions.payments import completion
from shop.base.errors import Malformed, NotPayable
from shop.base.ids import as_uuid
from shop.base.loaded import Loaded
from shop.jsonapi.document import NO_EXTRAS, Drawing, Extras, list_document
from shop.storefront.cart_document import (
    Around,
    cart_reply,
    explained,
    loaded_places,
    loaded_shipments,
    loaded_shipping_methods,
)
from shop.storefront.drawing import read_drawing
from shop.storefront.resources.sales import CART, PAYMENT_METHOD, SHIPMENT
from shop.web.reply import Reply, document_reply, error_body, json_reply
from shop.web.request import Request


async def update(request: Request, ctx: Context) -> Reply:
    """Null changes nothing; without `order` nothing is done."""
    drawing = read_drawing(request, ctx, CART)
    values = request.params.get("order")
    if values is None:
        return await shown(request, ctx, drawing, await views.get_checkout(ctx))
    if not isinstance(values, dict):
        raise Malformed('The body must have an object "order".')
    sources = request.params.get("payment_source")
    checkout = await workflow.update(ctx, values, sources if isinstance(sources, dict) else {})
    return await shown(request, ctx, drawing, checkout)


async def next_step(request: Request, ctx: Context) -> Reply:
    drawing = read_drawing(request, ctx, CART)
    return await shown(request, ctx, drawing, await workflow.next_step(ctx))


async def advance(request: Request, ctx: Context) -> Reply:
    """As far as possible; that a step lacks something is no failure, unless a state is named."""
    drawing = read_drawing(request, ctx, CART)
    state = request.params.get("state")
    checkout = await workflow.advance(ctx, state=state if isinstance(state, str) else None)
    return await shown(request, ctx, drawing, checkout)


async def complete(request: Request, ctx: Context) -> Reply:
    drawing = read_drawing(request, ctx, CART)
    consent = request.params.get("consent_token")
    order = await completion.complete(
        ctx,
        consent if isinstance(consent, str) else None,
        base_url=request.origin(ctx.shared.settings.public_url),
    )
    return await shown(request, ctx, drawing, await read(ctx, order))


async def create_payment(request: Request, ctx: Context) -> Reply:
    drawing = read_drawing(request, ctx, CART)
    return await shown(request, ctx, drawing, await workflow.create_payment(ctx, request.params), status=201)


async def validate_for_payment(request: Request, ctx: Context) -> Reply:
    """Answers 422 with the cart as it is now and, in `meta.messages`, what must change before it can be paid."""
    drawing = read_drawing(request, ctx, CART)
    skips_state = request.params.get("skip_state") in (True, "true", "1", 1)
    checkout, messages = await workflow.validate_for_payment(ctx, skips_state=skips_state)
    cart = Cart(checkout.order, checkout.lines)
    extras = Extras({"messages": messages}, error=error_body(NotPayable(), request.id)) if messages else NO_EXTRAS
    return await cart_reply(cart, ctx, drawing, extras, status=422 if messages else 200, checkout=checkout)


async def select_shipping_method(request: Request, ctx: Context) -> Reply:
    drawing = read_drawing(request, ctx, CART)
    method_id = as_uuid(request.params.get("shipping_method_id"))
    checkout = await workflow.select_shipping_method(ctx, method_id, request.params.get("shipment_id"))
    return await shown(request, ctx, drawing, checkout)


async def shipping_rates(request: Request, ctx: Context) -> Reply:
    """Each shipment with what it costs to send."""
    drawing = _with_parts(read_drawing(request, ctx, SHIPMENT))
    checkout = await views.get_shipments(ctx)
    rates = (drawing.query.include or {}).get("shipping_rates", {})
    methods = await loaded_shipping_methods(ctx, [checkout]) if "shipping_method" in rates else {}
    around = Around(places=await loaded_places(ctx), shipping_methods=methods)
    shipments = loaded_shipments(checkout, around)
    return document_reply(list_document(SHIPMENT, shipments, drawing, NO_EXTRAS))


def _with_parts(drawing: Drawing) -> Drawing:
    """What a parcel is chosen by comes with it, asked for or not."""
    always: dict[str, Any] = {"shipping_rates": {}, "stock_location": {}, "line_items": {}}
    query = msgspec.structs.replace(drawing.query, include=always | dict(drawing.query.include or {}))
    return Drawing(drawing.resources, drawing.scene, query)


async def payment_methods(request: Request, ctx: Context) -> Reply:
    drawing = read_drawing(request, ctx, PAYMENT_METHOD)
    found = await views.list_payment_methods(ctx)
    return document_reply(list_document(PAYMENT_METHOD, [Loaded(method) for method in found], drawing, NO_EXTRAS))


async def requirements(_request: Request, ctx: Context) -> Reply:
    """What stands between this cart and its completion."""
    checkout = await views.get_checkout(ctx)
    lacks = steps.requirements(checkout)
    until = await views.find_held_until(ctx, checkout.order)
    return json_reply({"state": checkout.order.state, "is_complete": not lacks, "missing": lacks, "held_until": until})


async def order_status(request: Request, ctx: Context) -> Reply:
    """A completed order, by its number and its own token."""
    drawing = read_drawing(request, ctx, CART)
    order = await views.get_order_status(ctx, request.path_params["number"])
    return await shown(request, ctx, drawing, await read(ctx, order))


async def shown(request: Request, ctx: Context, drawing: Drawing, checkout: Checkout, *, status: int = 200) -> Reply:
    extras = await explained(request, ctx, checkout)
    cart = Cart(checkout.order, checkout.lines, checkout.warnings)
    return await cart_reply(cart, ctx, drawing, extras, status=status, checkout=checkout)
