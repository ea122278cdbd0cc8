"""How a cart is drawn: the order with its lines, and whatever else of it was asked for; what must be said stands in
`meta`.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import msgspec

from shop.actions import account, browse, shown_orders
from shop.actions.context import Context
from shop.actions.lines import Cart, pricing_of
from shop.actions.order_parts import Checkout, paid, read
from shop.base.loaded import Link, Loaded, Named
from shop.base.money import currency_digits, wire_decimal
from shop.jsonapi.document import NO_EXTRAS, Drawing, Extras, document
from shop.models.orders import Order
from shop.rules.lines import Notice
from shop.rules.payments import is_valid
from shop.storefront.drawing import user_links
from shop.storefront.resources.sales import CART, UNLINKED, OfferedRate, SentShipment, ShownPayment
from shop.web.reply import Reply, document_reply
from shop.web.request import Request

Tree = Mapping[str, Any]


async def cart_reply(
    cart: Cart,
    ctx: Context,
    drawing: Drawing,
    extras: Extras = NO_EXTRAS,
    *,
    status: int = 200,
    checkout: Checkout | None = None,
) -> Reply:
    if cart.warnings:
        told = [_told(found, cart.order.currency) for found in cart.warnings]
        extras = Extras({**(extras.meta or {}), "warnings": told}, extras.links)
    return document_reply(document(CART, await loaded_cart(cart, ctx, drawing, checkout), drawing, extras), status)


async def loaded_cart(cart: Cart, ctx: Context, drawing: Drawing, checkout: Checkout | None = None) -> Loaded:
    include = drawing.query.include or {}
    links = UNLINKED
    if cart.lines:
        links = {**links, **await _line_links(cart, ctx, include)}
    if cart.order.user_id is not None:
        links = {**links, "user": await _user_link(cart.order, ctx, include)}
    if cart.order.bill_address_id or cart.order.ship_address_id:
        links = {**links, **await _address_links(cart.order, ctx, include)}
    if cart.order.state != "cart":
        parts = checkout or await read(ctx, cart.order)
        links = {
            **links,
            "shipments": await loaded_shipments(parts, ctx, include.get("shipments", {})),
            "payments": await _loaded_payments(parts, ctx, include.get("payments", {})),
        }
    return Loaded(cart.order, links)


async def loaded_shipments(checkout: Checkout, ctx: Context, include: Tree) -> list[Loaded]:
    """Each with its rates and its lines; the place it comes from is read only when it was asked for."""
    currency = checkout.order.currency
    places = {}
    if "stock_location" in include:
        places = {place.id: Loaded(place) for place in await shown_orders.list_places(ctx)}
    lines = {line.id: Loaded(line, {"variant": Loaded(Named(line.variant_id))}) for line in checkout.lines}
    found = []
    for shipment in checkout.shipments:
        rates = [
            Loaded(OfferedRate(**msgspec.structs.asdict(rate), currency=currency))
            for rate in checkout.rates
            if rate.shipment_id == shipment.id
        ]
        items = [item.line_item_id for item in checkout.items if item.shipment_id == shipment.id]
        place = shipment.stock_location_id
        links: dict[str, Link] = {
            "shipping_rates": rates,
            "selected_shipping_rate": next((rate for rate in rates if rate.row.is_selected), None),
            "stock_location": places.get(place, Loaded(Named(place))),
            "line_items": [lines[line_id] for line_id in dict.fromkeys(items) if line_id in lines],
        }
        found.append(Loaded(SentShipment(**msgspec.structs.asdict(shipment), currency=currency), links))
    return found


async def _loaded_payments(checkout: Checkout, ctx: Context, include: Tree) -> list[Loaded]:
    """Those that count."""
    counted = [payment for payment in checkout.payments if is_valid(paid(payment))]
    methods = await shown_orders.list_methods_of(ctx, [payment.payment_method_id for payment in counted])
    source_ids = [payment.source_id for payment in counted if payment.source_id]
    sources = await shown_orders.list_sources_of(ctx, source_ids) if "source" in include else {}
    found = []
    for payment in counted:
        method = methods[payment.payment_method_id]
        source: Link = None
        if payment.source_id:
            source = Loaded(sources.get(payment.source_id) or Named(payment.source_id))
        row = ShownPayment(
            **msgspec.structs.asdict(payment), currency=checkout.order.currency, payment_method_name=method.name
        )
        shown = Loaded(method) if "payment_method" in include else Loaded(Named(method.id))
        found.append(Loaded(row, {"payment_method": shown, "source": source}))
    return found


async def _address_links(order: Order, ctx: Context, include: Tree) -> Mapping[str, Link]:
    sides = {"billing_address": order.bill_address_id, "shipping_address": order.ship_address_id}
    known: Mapping[UUID, Any] = {}
    if include.keys() & sides.keys():
        known = await shown_orders.find_addresses(ctx, [address_id for address_id in set(sides.values()) if address_id])
    return {
        name: Loaded(known.get(address_id) or Named(address_id)) if address_id else None
        for name, address_id in sides.items()
    }


async def explained(request: Request, ctx: Context, checkout: Checkout) -> Extras:
    """`explain=totals`: the steps that made the total; of a completed order, as they were frozen with it."""
    if request.params.get("explain") != "totals":
        return NO_EXTRAS
    order = checkout.order
    steps = (order.explained or {}).get("steps")
    if steps is None:
        steps = await shown_orders.explain(ctx, checkout)
    digits = currency_digits(order.currency)
    shown = [
        {name: wire_decimal(value, digits) if name in _AMOUNTS else value for name, value in step.items()}
        for step in steps
    ]
    return Extras({"totals": shown})


_AMOUNTS = ("amount", "price", "of")


async def _line_links(cart: Cart, ctx: Context, include: Tree) -> Mapping[str, Link]:
    ids = list(dict.fromkeys(line.variant_id for line in cart.lines))
    of_lines = include.get("line_items", {})
    wanted = [tree for tree in (include.get("variants"), of_lines.get("variant")) if tree is not None]
    variants: Mapping[UUID, Loaded] = {variant_id: Loaded(Named(variant_id)) for variant_id in ids}
    if wanted:
        found = await browse.load_variants(ctx, ids, browse.merged(wanted), await pricing_of(ctx, cart.order))
        variants = {**variants, **found}
    return {
        "line_items": [Loaded(line, {"variant": variants[line.variant_id]}) for line in cart.lines],
        "variants": [variants[variant_id] for variant_id in ids],
    }


async def _user_link(order: Order, ctx: Context, include: Tree) -> Link:
    """The owner stands as a link; who they are is read only when it was asked for."""
    if order.user_id is None:
        return None
    if "user" not in include:
        return Loaded(Named(order.user_id))
    if ctx.claim.bearer is None or (await ctx.signed_in()).user.id != order.user_id:
        return None  # The token opens the cart, and not who its owner is and where they live.
    user, addresses = await account.get_user(ctx, order.user_id)
    return Loaded(user, user_links(user, addresses))


def _told(notice: Notice, currency: str) -> Mapping[str, Any]:
    amounts = {
        name: wire_decimal(amount, currency_digits(currency))
        for name, amount in (("quoted", notice.quoted), ("now", notice.now))
        if amount is not None
    }
    available = {} if notice.available is None else {"available": notice.available}
    line = {"code": notice.code, "line_item_id": notice.line_item_id, "message": notice.sentence}
    return {**line, **amounts, **available}
