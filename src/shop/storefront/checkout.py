"""The checkout's endpoints."""

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import msgspec

from shop.actions import checkout as actions
from shop.actions import completion, shown_orders
from shop.actions.checkout import step, walk
from shop.actions.context import Context
from shop.actions.coupons import counting_guesses, put_on, read_code
from shop.actions.holding import hold_goods
from shop.actions.lines import Cart
from shop.actions.order_parts import Checkout, read
from shop.actions.packing import choose_rate, ensure_packed, select_rates
from shop.actions.paying import choose_payment, payment_wish
from shop.base.errors import Invalid, Malformed, NotPayable
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

Values = Mapping[str, Any]
MOST_CHOICES = 10
"""Payments that one request may choose. The last one counts."""


async def update(request: Request, ctx: Context) -> Reply:
    """Null says nothing; without `order` nothing is done."""
    drawing = read_drawing(request, ctx, CART)
    wishes = request.params.get("order")
    if wishes is None:
        return await shown(request, ctx, drawing, await shown_orders.get_checkout(ctx))
    if not isinstance(wishes, dict):
        raise Malformed('The body must have an object "order".')
    sources = request.params.get("payment_source")
    guessing = counting_guesses(ctx) if wishes.get("coupon_code") is not None else nullcontext()
    async with guessing, ctx.transaction() as once:
        checkout = await actions.hold_checkout(ctx)
        if not once.done:
            checkout = await actions.tell(ctx, checkout, wishes)
            checkout = await select_rates(ctx, checkout, wishes.get("shipments_attributes"))
            if wishes.get("coupon_code") is not None:
                checkout = await put_on(ctx, checkout, read_code(wishes["coupon_code"]))
            checkout = await _add_payments(ctx, checkout, wishes, sources if isinstance(sources, dict) else {})
            once.made(checkout.order.id)
    return await shown(request, ctx, drawing, checkout)


async def next_step(request: Request, ctx: Context) -> Reply:
    drawing = read_drawing(request, ctx, CART)
    async with ctx.db.transaction():
        checkout = await step(ctx, await actions.hold_checkout(ctx))
    return await shown(request, ctx, drawing, checkout)


async def advance(request: Request, ctx: Context) -> Reply:
    """As far as can be; that a step asks for something is no failure."""
    drawing = read_drawing(request, ctx, CART)
    wanted = request.params.get("state")
    async with ctx.db.transaction():
        checkout, why = await walk(ctx, await actions.hold_checkout(ctx))
        if why and isinstance(wanted, str) and checkout.order.state != wanted:
            raise why
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
    async with ctx.transaction() as once:
        checkout = await actions.hold_checkout(ctx)
        if not once.done:
            checkout, _ = await walk(ctx, checkout, upto="payment")
            checkout = await choose_payment(ctx, checkout, payment_wish(request.params, {}))
            checkout = await hold_goods(ctx, checkout)
            once.made(checkout.order.id)
    return await shown(request, ctx, drawing, checkout, status=201)


async def validate_for_payment(request: Request, ctx: Context) -> Reply:
    """Answers 422 with the cart as it is now and, in `meta.messages`, what must change before it can be paid."""
    drawing = read_drawing(request, ctx, CART)
    skips_state = request.params.get("skip_state") in (True, "true", "1", 1)
    async with ctx.db.transaction():
        checkout, told = await actions.validate(ctx, skips_state=skips_state)
    cart = Cart(checkout.order, checkout.lines)
    extras = Extras({"messages": told}, error=error_body(NotPayable(), request.id)) if told else NO_EXTRAS
    return await cart_reply(cart, ctx, drawing, extras, status=422 if told else 200, checkout=checkout)


async def select_shipping_method(request: Request, ctx: Context) -> Reply:
    drawing = read_drawing(request, ctx, CART)
    method_id = as_uuid(request.params.get("shipping_method_id"))
    wanted = request.params.get("shipment_id")
    async with ctx.db.transaction():
        checkout = await ensure_packed(ctx, await actions.hold_checkout(ctx))
        chosen = [each for each in checkout.shipments if wanted is None or str(each.id) == wanted]
        if not chosen:
            raise Invalid({"shipment_id": ["is not a shipment of this order"]}, code="shipment_not_found")
        for shipment in chosen:
            rates = [rate for rate in checkout.rates if rate.shipment_id == shipment.id]
            rate = next((rate for rate in rates if rate.shipping_method_id == method_id), None)
            if rate is None:
                told = f"is not offered for shipment {shipment.number}"
                raise Invalid({"shipping_method_id": [told]}, code="shipping_method_not_found")
            checkout = await choose_rate(ctx, checkout, shipment.id, rate)
    return await shown(request, ctx, drawing, checkout)


async def shipping_rates(request: Request, ctx: Context) -> Reply:
    """Each shipment with what it costs to send."""
    drawing = _with_parts(read_drawing(request, ctx, SHIPMENT))
    checkout = await shown_orders.get_shipments(ctx)
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
    found = await shown_orders.list_payment_methods(ctx)
    return document_reply(list_document(PAYMENT_METHOD, [Loaded(method) for method in found], drawing, NO_EXTRAS))


async def requirements(_request: Request, ctx: Context) -> Reply:
    """What stands between this cart and its completion."""
    checkout = await shown_orders.get_checkout(ctx)
    lacks = actions.requirements(checkout)
    until = await shown_orders.find_held_until(ctx, checkout.order)
    return json_reply({"state": checkout.order.state, "is_complete": not lacks, "missing": lacks, "held_until": until})


async def order_status(request: Request, ctx: Context) -> Reply:
    """A completed order, by its number and its own token."""
    drawing = read_drawing(request, ctx, CART)
    order = await shown_orders.get_order_status(ctx, request.path_params["number"])
    return await shown(request, ctx, drawing, await read(ctx, order))


async def shown(request: Request, ctx: Context, drawing: Drawing, checkout: Checkout, *, status: int = 200) -> Reply:
    extras = await explained(request, ctx, checkout)
    cart = Cart(checkout.order, checkout.lines, checkout.warnings)
    return await cart_reply(cart, ctx, drawing, extras, status=status, checkout=checkout)


async def _add_payments(ctx: Context, checkout: Checkout, wishes: Values, sources: Values) -> Checkout:
    """A card that is kept says by itself how it is paid with."""
    given, card = wishes.get("payments_attributes"), wishes.get("existing_card")
    by_itself: list[Any] = [] if card is None else [{}]
    if isinstance(given, list) and len(given) > MOST_CHOICES:
        raise Invalid({"payments_attributes": [f"must be a list of at most {MOST_CHOICES} objects"]})
    for wish in (given if isinstance(given, list) else []) or by_itself:
        if not isinstance(wish, dict):
            raise Invalid({"payments_attributes": ["must be a list of objects"]})
        named = {**wish, "source_id": card} if card is not None else wish
        checkout, _ = await walk(ctx, checkout, upto="payment")
        checkout = await hold_goods(ctx, await choose_payment(ctx, checkout, payment_wish(named, sources)))
    return checkout
