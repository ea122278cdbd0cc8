"""How a cart is drawn: the order with its lines, and whatever else of it was asked for; what must be said stands in
`meta`.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from shop.actions.cart.access import acts_for_owner
from shop.actions.cart.line_items import Cart, pricing_of
from shop.actions.cart.order_state import Checkout, is_credit, paid, read
from shop.actions.catalog import storefront
from shop.actions.checkout import views
from shop.actions.context import Context
from shop.actions.customers import account
from shop.base.loaded import Link, Loaded, Named
from shop.base.money import currency_digits, wire_decimal
from shop.jsonapi.document import NO_EXTRAS, Drawing, Extras, document
from shop.models.cart.orders import Order
from shop.models.checkout.payments import CreditCard, PaymentMethod
from shop.models.checkout.store_credit import StoreCredit
from shop.models.customers.addresses import PlacedAddress
from shop.rules.cart.line_items import CartWarning
from shop.rules.checkout.payments import is_valid
from shop.storefront.drawing import user_links
from shop.storefront.resources.sales import CART, UNLINKED, CartPromotion, OfferedRate, SentShipment, ShownPayment
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
        extras = msgspec.structs.replace(extras, meta={**(extras.meta or {}), "warnings": told})
    loaded = Loaded(cart.order, UNLINKED) if _is_bare(cart) else await _loaded_cart(cart, ctx, drawing, checkout)
    return document_reply(document(CART, loaded, drawing, extras), status)


def _is_bare(cart: Cart) -> bool:
    """Whether it is linked with nothing, as every new one."""
    order = cart.order
    linked = cart.lines or order.user_id or order.bill_address_id or order.ship_address_id
    return order.state == "cart" and not linked


class Around(msgspec.Struct, frozen=True):
    """What belongs to several orders, read for all of them at once, and only as far as it was asked for."""

    methods: Mapping[UUID, PaymentMethod] = {}
    sources: Mapping[UUID, CreditCard] = {}
    credits: Mapping[UUID, StoreCredit] = {}
    """By payment."""
    places: Mapping[UUID, Loaded] = {}
    shipping_methods: Mapping[UUID, Loaded] = {}
    addresses: Mapping[UUID, PlacedAddress] = {}
    variants: Mapping[tuple[str, UUID], Loaded] = {}
    """By currency and id: a price is of one."""
    owner: Link = None
    """Whose they all are, where that may be told."""


async def _loaded_cart(cart: Cart, ctx: Context, drawing: Drawing, checkout: Checkout | None) -> Loaded:
    include = drawing.query.include or {}
    parts = checkout
    if parts is None:
        parts = Checkout(cart.order, cart.lines) if cart.order.state == "cart" else await read(ctx, cart.order)
    parts = msgspec.structs.replace(parts, order=cart.order, lines=cart.lines)
    (loaded,) = await loaded_orders([parts], ctx, include)
    return loaded


async def loaded_orders(checkouts: Sequence[Checkout], ctx: Context, include: Tree) -> list[Loaded]:
    """As many statements for many as for one."""
    around = await _around(checkouts, ctx, include)
    return [Loaded(each.order, _links(each, include, around)) for each in checkouts]


def _links(checkout: Checkout, include: Tree, around: Around) -> Mapping[str, Link]:
    order, links = checkout.order, UNLINKED
    if checkout.lines:
        links = {**links, **_line_links(checkout, include, around)}
    if order.promoted:
        links = {**links, "promotions": [_promotion(order, *each) for each in order.promoted.items()]}
    if order.user_id is not None:
        # The owner stands as a link; who they are is read only when it was asked for.
        links = {**links, "user": around.owner if "user" in include else Loaded(Named(order.user_id))}
    if order.bill_address_id or order.ship_address_id:
        links = {**links, **_address_links(order, around)}
    if order.state != "cart":
        links = {
            **links,
            "shipments": loaded_shipments(checkout, around),
            "payments": _loaded_payments(checkout, include.get("payments", {}), around),
        }
    return links


def _promotion(order: Order, promotion_id: str, entry: Mapping[str, Any]) -> Loaded:
    told = {name: entry[name] for name in ("name", "description", "code", "amount")}
    metadata = entry.get("public_metadata", {})
    return Loaded(CartPromotion(UUID(promotion_id), **told, currency=order.currency, public_metadata=metadata))


async def _around(checkouts: Sequence[Checkout], ctx: Context, include: Tree) -> Around:
    counted = [payment for each in checkouts for payment in each.payments if is_valid(paid(payment))]
    sources = [payment.source_id for payment in counted if payment.source_id]
    of_payments, of_shipments = include.get("payments", {}), include.get("shipments", {})
    addresses = [
        address_id
        for each in checkouts
        for name, address_id in _sides(each.order).items()
        if address_id and name in include
    ]
    return Around(
        await views.list_methods_of(ctx, list({payment.payment_method_id for payment in counted})),
        await _sources(checkouts, ctx, sources) if "source" in of_payments else {},
        await _credits(checkouts, ctx, [payment.id for payment in counted if is_credit(payment)]),
        await loaded_places(ctx) if "stock_location" in of_shipments else {},
        await loaded_shipping_methods(ctx, checkouts) if _has_methods(of_shipments) else {},
        await views.find_addresses(ctx, list(set(addresses))) if addresses else {},
        await _variants(checkouts, ctx, include),
        await _owner(checkouts[0].order, ctx) if checkouts and "user" in include else None,
    )


async def _sources(checkouts: Sequence[Checkout], ctx: Context, ids: list[UUID]) -> Mapping[UUID, CreditCard]:
    """What the orders are paid with; an owner's card is shown to the owner alone."""
    found = await views.list_sources_of(ctx, ids)
    is_owner = all(acts_for_owner(ctx, each.order) for each in checkouts)
    return {source.id: source for source in found.values() if is_owner or source.user_id is None}


async def _credits(checkouts: Sequence[Checkout], ctx: Context, ids: list[UUID]) -> Mapping[UUID, StoreCredit]:
    """What of the owner's store credit the orders are paid with, for the owner alone."""
    if not ids or not all(acts_for_owner(ctx, each.order) for each in checkouts):
        return {}
    return await views.list_credits_of(ctx, ids)


async def loaded_places(ctx: Context) -> Mapping[UUID, Loaded]:
    return {place.id: Loaded(place) for place in await views.list_places(ctx)}


async def loaded_shipping_methods(ctx: Context, checkouts: Sequence[Checkout]) -> Mapping[UUID, Loaded]:
    ids = {rate.shipping_method_id for each in checkouts for rate in each.rates}
    return {method.id: Loaded(method) for method in await views.list_shipping_methods_of(ctx, list(ids))}


def _has_methods(of_shipments: Tree) -> bool:
    rates = [of_shipments.get(name, {}) for name in ("shipping_rates", "selected_shipping_rate")]
    return any("shipping_method" in each for each in rates)


async def _variants(checkouts: Sequence[Checkout], ctx: Context, include: Tree) -> Mapping[tuple[str, UUID], Loaded]:
    of_lines = include.get("line_items", {})
    wanted = [tree for tree in (include.get("variants"), of_lines.get("variant")) if tree is not None]
    found: dict[tuple[str, UUID], Loaded] = {}
    if not wanted:
        return found
    # The orders of one caller have one owner, so their prices differ by currency alone.
    for order in {each.order.currency: each.order for each in checkouts if each.lines}.values():
        ids = {line.variant_id for each in checkouts if each.order.currency == order.currency for line in each.lines}
        loaded = await storefront.load_variants(ctx, list(ids), storefront.merged(wanted), await pricing_of(ctx, order))
        found |= {(order.currency, variant_id): variant for variant_id, variant in loaded.items()}
    return found


def loaded_shipments(checkout: Checkout, around: Around) -> list[Loaded]:
    """Each with its rates and its lines; the place it comes from is read only when it was asked for."""
    currency = checkout.order.currency
    lines = {line.id: Loaded(line, {"variant": Loaded(Named(line.variant_id))}) for line in checkout.lines}
    found = []
    for shipment in checkout.shipments:
        # What pays for the chosen way pays for any.
        is_free = shipment.promotion_id is not None and shipment.promo_total == -shipment.cost
        rates = [
            Loaded(
                OfferedRate(**msgspec.structs.asdict(rate), currency=currency, is_free=is_free),
                {"shipping_method": method_link(rate.shipping_method_id, around.shipping_methods)},
            )
            for rate in checkout.rates
            if rate.shipment_id == shipment.id
        ]
        items = [item.line_item_id for item in checkout.items if item.shipment_id == shipment.id]
        place = shipment.stock_location_id
        links: dict[str, Link] = {
            "shipping_rates": rates,
            "selected_shipping_rate": next((rate for rate in rates if rate.row.is_selected), None),
            "stock_location": around.places.get(place, Loaded(Named(place))),
            "line_items": [lines[line_id] for line_id in dict.fromkeys(items) if line_id in lines],
        }
        found.append(Loaded(SentShipment(**msgspec.structs.asdict(shipment), currency=currency), links))
    return found


def method_link(method_id: UUID, methods: Mapping[UUID, Loaded]) -> Loaded:
    return methods.get(method_id) or Loaded(Named(method_id))


def _loaded_payments(checkout: Checkout, include: Tree, around: Around) -> list[Loaded]:
    """Those that count."""
    counted = [payment for payment in checkout.payments if is_valid(paid(payment))]
    found = []
    for payment in counted:
        method = around.methods[payment.payment_method_id]
        row = ShownPayment(
            **msgspec.structs.asdict(payment), currency=checkout.order.currency, payment_method_name=method.name
        )
        is_shown = "payment_method" in include or "payment_method" in include.get("source", {})
        shown = Loaded(method) if is_shown else Loaded(Named(method.id))
        source: Link = None
        if credit := around.credits.get(payment.id):
            source = Loaded(credit, type="store_credit")
        elif payment.source_id and "source" not in include:
            source = Loaded(Named(payment.source_id), {"payment_method": shown}, "credit_card")
        elif card := payment.source_id and around.sources.get(payment.source_id):
            source = Loaded(card, {"payment_method": shown}, "credit_card")
        found.append(Loaded(row, {"payment_method": shown, "source": source}))
    return found


def _sides(order: Order) -> Mapping[str, UUID | None]:
    return {"billing_address": order.bill_address_id, "shipping_address": order.ship_address_id}


def _address_links(order: Order, around: Around) -> Mapping[str, Link]:
    return {
        name: Loaded(around.addresses.get(address_id) or Named(address_id)) if address_id else None
        for name, address_id in _sides(order).items()
    }


async def explained(request: Request, ctx: Context, checkout: Checkout) -> Extras:
    """`explain=totals`: the steps that made the total; of a completed order, as they were frozen with it."""
    if request.params.get("explain") != "totals":
        return NO_EXTRAS
    order = checkout.order
    steps = (order.explained or {}).get("steps")
    if steps is None:
        steps = await views.explain(ctx, checkout)
    digits = currency_digits(order.currency)
    shown = [
        {name: wire_decimal(value, digits) if name in _AMOUNTS else value for name, value in step.items()}
        for step in steps
    ]
    return Extras({"totals": shown})


_AMOUNTS = ("amount", "price", "of")


def _line_links(checkout: Checkout, include: Tree, around: Around) -> Mapping[str, Link]:
    """One that was taken away since can be named, and not shown."""
    ids = list(dict.fromkeys(line.variant_id for line in checkout.lines))
    found = {variant_id: around.variants.get((checkout.order.currency, variant_id)) for variant_id in ids}
    named = {variant_id: Loaded(Named(variant_id)) for variant_id in ids}
    of_lines = found if "variant" in include.get("line_items", {}) else named
    of_cart = found if "variants" in include else named
    return {
        "line_items": [Loaded(line, {"variant": of_lines[line.variant_id]}) for line in checkout.lines],
        "variants": [variant for variant in of_cart.values() if variant],
    }


async def _owner(order: Order, ctx: Context) -> Link:
    if order.user_id is None:
        return None
    if not acts_for_owner(ctx, order):
        return None
    user, addresses = await account.get_user(ctx, order.user_id)
    return Loaded(user, user_links(user, addresses))


def _told(notice: CartWarning, currency: str) -> Mapping[str, Any]:
    amounts = {
        name: wire_decimal(amount, currency_digits(currency))
        for name, amount in (("quoted", notice.quoted), ("now", notice.now))
        if amount is not None
    }
    available = {} if notice.available is None else {"available": notice.available}
    line = {} if notice.line_item_id is None else {"line_item_id": notice.line_item_id}
    return {"code": notice.code, **line, "message": notice.sentence, **amounts, **available}
