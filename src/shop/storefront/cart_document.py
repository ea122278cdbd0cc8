"""Cart documents: the order with its line items and the included relations; warnings go to `meta`."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from shop.actions.cart.access import acts_for_owner
from shop.actions.cart.locked_carts import Cart, get_pricing
from shop.actions.cart.orders import Checkout, build_payment_amounts, is_credit, load_parts
from shop.actions.catalog import storefront
from shop.actions.catalog.quotes import load_current_variants
from shop.actions.checkout import views
from shop.actions.context import Context
from shop.actions.customers import account
from shop.base.money import currency_digits, wire_decimal
from shop.base.record import Link, Record, Reference
from shop.jsonapi.document import NO_EXTRAS, Extras, RenderOptions, document
from shop.models.cart.orders import Order
from shop.models.checkout.payments import CreditCard, PaymentMethod
from shop.models.checkout.store_credit import StoreCredit
from shop.models.customers.addresses import AddressWithCountry
from shop.rules.cart.line_items import CartWarning
from shop.rules.checkout.payments import is_valid
from shop.storefront.rendering import user_links
from shop.storefront.resources.orders import (
    CART,
    EMPTY_RELATIONS,
    CartPromotion,
    PaymentRecord,
    ShipmentRecord,
    ShippingRateRecord,
)
from shop.web.input.request import Request
from shop.web.reply import Reply, document_reply

Tree = Mapping[str, Any]


async def cart_reply(
    cart: Cart,
    ctx: Context,
    options: RenderOptions,
    extras: Extras = NO_EXTRAS,
    *,
    status: int = 200,
    checkout: Checkout | None = None,
) -> Reply:
    if cart.warnings:
        warnings = [_warning_json(warning, cart.order.currency) for warning in cart.warnings]
        extras = msgspec.structs.replace(extras, meta={**(extras.meta or {}), "warnings": warnings})
    record = (
        Record(cart.order, EMPTY_RELATIONS)
        if _is_bare(cart)
        else await _build_cart_record(cart, ctx, options, checkout)
    )
    return document_reply(document(CART, record, options, extras), status)


def shows_lines(options: RenderOptions) -> bool:
    """Returns whether the document may show more of the lines than their ids."""
    return bool(options.query.include)


def _is_bare(cart: Cart) -> bool:
    """Returns whether the cart has no related records, like every new cart."""
    order = cart.order
    has_links = cart.lines or order.user_id or order.bill_address_id or order.ship_address_id
    return order.state == "cart" and not has_links


class RelatedRecords(msgspec.Struct, frozen=True):
    """Records related to several orders: loaded once for all orders, and only if included."""

    methods: Mapping[UUID, PaymentMethod] = {}
    sources: Mapping[UUID, CreditCard] = {}
    credits: Mapping[UUID, StoreCredit] = {}
    """By payment id."""
    places: Mapping[UUID, Record] = {}
    shipping_methods: Mapping[UUID, Record] = {}
    addresses: Mapping[UUID, AddressWithCountry] = {}
    variants: Mapping[tuple[str, UUID], Record] = {}
    """By currency and variant id, because a price has one currency."""
    owner: Link = None
    """The user who owns all the orders, if the caller may see it."""


async def _build_cart_record(cart: Cart, ctx: Context, options: RenderOptions, checkout: Checkout | None) -> Record:
    include = options.query.include or {}
    parts = checkout
    if parts is None:
        parts = (
            Checkout(cart.order, cart.lines)
            if cart.order.state == "cart"
            else await load_parts(ctx, cart.order, cart.lines)
        )
    parts = msgspec.structs.replace(parts, order=cart.order, lines=cart.lines, catalog=cart.catalog)
    (record,) = await load_order_records([parts], ctx, include)
    return record


async def load_order_records(checkouts: Sequence[Checkout], ctx: Context, include: Tree) -> list[Record]:
    """Builds the records of orders; the number of statements does not depend on the number of orders."""
    related = await _load_related(checkouts, ctx, include) if _has_related(checkouts, include) else RelatedRecords()
    return [Record(each.order, _links(each, include, related)) for each in checkouts]


def _has_related(checkouts: Sequence[Checkout], include: Tree) -> bool:
    return bool(include) or any(each.payments for each in checkouts)


def _links(checkout: Checkout, include: Tree, related: RelatedRecords) -> Mapping[str, Link]:
    order, links = checkout.order, EMPTY_RELATIONS
    if checkout.lines:
        links = {**links, **_line_links(checkout, include, related)}
    if order.promoted:
        links = {**links, "promotions": _promotion_links(order, include)}
    if order.user_id is not None:
        # Link to the owner; load the user only when included.
        links = {**links, "user": related.owner if "user" in include else Record(Reference(order.user_id))}
    if order.bill_address_id or order.ship_address_id:
        links = {**links, **_address_links(order, related)}
    if order.state != "cart":
        links = {
            **links,
            "shipments": build_shipment_records(checkout, related),
            "payments": _build_payment_records(checkout, include.get("payments", {}), related),
        }
    return links


def _promotion_links(order: Order, include: Tree) -> Link:
    if "promotions" in include:
        return [_promotion(order, *each) for each in order.promoted.items()]
    return msgspec.convert([*order.promoted], list[UUID])


def _promotion(order: Order, promotion_id: str, entry: Mapping[str, Any]) -> Record:
    fields = {name: entry[name] for name in ("name", "description", "code", "amount")}
    metadata = entry.get("public_metadata", {})
    return Record(CartPromotion(UUID(promotion_id), **fields, currency=order.currency, public_metadata=metadata))


async def _load_related(checkouts: Sequence[Checkout], ctx: Context, include: Tree) -> RelatedRecords:
    payments = [payment for each in checkouts for payment in each.payments if is_valid(build_payment_amounts(payment))]
    sources = [payment.source_id for payment in payments if payment.source_id]
    of_payments, of_shipments = include.get("payments", {}), include.get("shipments", {})
    addresses = [
        address_id
        for each in checkouts
        for name, address_id in _sides(each.order).items()
        if address_id and name in include
    ]
    return RelatedRecords(
        await views.list_methods_of(ctx, list({payment.payment_method_id for payment in payments})),
        await _sources(checkouts, ctx, sources) if "source" in of_payments else {},
        await _credits(checkouts, ctx, [payment.id for payment in payments if is_credit(payment)]),
        await load_stock_locations(ctx) if "stock_location" in of_shipments else {},
        await load_shipping_methods(ctx, checkouts) if _has_methods(of_shipments) else {},
        await views.find_addresses(ctx, list(set(addresses))) if addresses else {},
        await _variants(checkouts, ctx, include),
        await _owner(checkouts[0].order, ctx) if checkouts and "user" in include else None,
    )


async def _sources(checkouts: Sequence[Checkout], ctx: Context, ids: list[UUID]) -> Mapping[UUID, CreditCard]:
    """Returns the payment sources of the orders. An owner's card is visible to the owner only."""
    sources = await views.list_sources_of(ctx, ids)
    is_owner = all(acts_for_owner(ctx, each.order) for each in checkouts)
    return {source.id: source for source in sources.values() if is_owner or source.user_id is None}


async def _credits(checkouts: Sequence[Checkout], ctx: Context, ids: list[UUID]) -> Mapping[UUID, StoreCredit]:
    """Returns the store credits used by the orders, visible to the owner only."""
    if not ids or not all(acts_for_owner(ctx, each.order) for each in checkouts):
        return {}
    return await views.list_credits_of(ctx, ids)


async def load_stock_locations(ctx: Context) -> Mapping[UUID, Record]:
    return {location.id: Record(location) for location in await views.list_stock_locations(ctx)}


async def load_shipping_methods(ctx: Context, checkouts: Sequence[Checkout]) -> Mapping[UUID, Record]:
    ids = {rate.shipping_method_id for each in checkouts for rate in each.rates}
    return {method.id: Record(method) for method in await views.list_shipping_methods_of(ctx, list(ids))}


def _has_methods(of_shipments: Tree) -> bool:
    rates = [of_shipments.get(name, {}) for name in ("shipping_rates", "selected_shipping_rate")]
    return any("shipping_method" in each for each in rates)


async def _variants(checkouts: Sequence[Checkout], ctx: Context, include: Tree) -> Mapping[tuple[str, UUID], Record]:
    of_lines = include.get("line_items", {})
    trees = [tree for tree in (include.get("variants"), of_lines.get("variant")) if tree is not None]
    variants: dict[tuple[str, UUID], Record] = {}
    if not trees:
        return variants
    # Orders of one caller have one owner, so their prices differ only by currency.
    tree = storefront.merge_includes(trees)
    for checkout in {each.order.currency: each for each in checkouts if each.lines}.values():
        order = checkout.order
        ids = {line.variant_id for each in checkouts if each.order.currency == order.currency for line in each.lines}
        records = (
            await load_current_variants(ctx, ids, tree, order.currency, checkout.catalog)
            if checkout.catalog
            else await storefront.load_variants(ctx, list(ids), tree, await get_pricing(ctx, order))
        )
        variants |= {(order.currency, variant_id): variant for variant_id, variant in records.items()}
    return variants


def build_shipment_records(checkout: Checkout, related: RelatedRecords) -> list[Record]:
    """Builds shipments with their rates and line items; the stock location is loaded only when included."""
    currency = checkout.order.currency
    lines = {line.id: Record(line, {"variant": line.variant_id}) for line in checkout.lines}
    records = []
    for shipment in checkout.shipments:
        # A promotion that covers the selected rate covers every rate.
        is_free = shipment.promotion_id is not None and shipment.promo_total == -shipment.cost
        rates = [
            Record(
                ShippingRateRecord(**msgspec.structs.asdict(rate), currency=currency, is_free=is_free),
                {"shipping_method": method_link(rate.shipping_method_id, related.shipping_methods)},
            )
            for rate in checkout.rates
            if rate.shipment_id == shipment.id
        ]
        items = [item.line_item_id for item in checkout.items if item.shipment_id == shipment.id]
        location_id = shipment.stock_location_id
        links: dict[str, Link] = {
            "shipping_rates": rates,
            "selected_shipping_rate": next((rate for rate in rates if rate.row.is_selected), None),
            "stock_location": related.places.get(location_id, Record(Reference(location_id))),
            "line_items": [lines[line_id] for line_id in dict.fromkeys(items) if line_id in lines],
        }
        records.append(Record(ShipmentRecord(**msgspec.structs.asdict(shipment), currency=currency), links))
    return records


def method_link(method_id: UUID, methods: Mapping[UUID, Record]) -> Record:
    return methods.get(method_id) or Record(Reference(method_id))


def _build_payment_records(checkout: Checkout, include: Tree, related: RelatedRecords) -> list[Record]:
    """Builds the records of valid payments."""
    payments = [payment for payment in checkout.payments if is_valid(build_payment_amounts(payment))]
    records = []
    for payment in payments:
        method = related.methods[payment.payment_method_id]
        row = PaymentRecord(
            **msgspec.structs.asdict(payment), currency=checkout.order.currency, payment_method_name=method.name
        )
        is_included = "payment_method" in include or "payment_method" in include.get("source", {})
        method_record = Record(method) if is_included else Record(Reference(method.id))
        source: Link = None
        if credit := related.credits.get(payment.id):
            source = Record(credit, type="store_credit")
        elif payment.source_id and "source" not in include:
            source = Record(Reference(payment.source_id), {"payment_method": method_record}, "credit_card")
        elif card := payment.source_id and related.sources.get(payment.source_id):
            source = Record(card, {"payment_method": method_record}, "credit_card")
        records.append(Record(row, {"payment_method": method_record, "source": source}))
    return records


def _sides(order: Order) -> Mapping[str, UUID | None]:
    return {"billing_address": order.bill_address_id, "shipping_address": order.ship_address_id}


def _address_links(order: Order, related: RelatedRecords) -> Mapping[str, Link]:
    return {
        name: Record(related.addresses.get(address_id) or Reference(address_id)) if address_id else None
        for name, address_id in _sides(order).items()
    }


async def explain_totals_meta(request: Request, ctx: Context, checkout: Checkout) -> Extras:
    """Returns, for `explain=totals`, the calculation steps of the total; for a completed order, those stored at
    completion.
    """
    if request.params.get("explain") != "totals":
        return NO_EXTRAS
    order = checkout.order
    steps = (order.explained or {}).get("steps")
    if steps is None:
        steps = msgspec.to_builtins((await views.explain_current_totals(ctx, checkout)).steps)
    digits = currency_digits(order.currency)
    totals = [
        {name: wire_decimal(value, digits) if name in _AMOUNTS else value for name, value in step.items()}
        for step in steps
    ]
    return Extras({"totals": totals})


_AMOUNTS = ("amount", "price", "of")


def _line_links(checkout: Checkout, include: Tree, related: RelatedRecords) -> Mapping[str, Link]:
    """Links line items and variants. A deleted variant can be referenced but not included."""
    ids = [line.variant_id for line in checkout.lines]
    if not ("line_items" in include or "variants" in include):
        return {"line_items": [line.id for line in checkout.lines], "variants": ids}
    variants = {variant_id: related.variants.get((checkout.order.currency, variant_id)) for variant_id in ids}
    has_variants = "variant" in include.get("line_items", {})
    return {
        "line_items": [
            Record(line, {"variant": variants[line.variant_id] if has_variants else line.variant_id})
            for line in checkout.lines
        ],
        "variants": [variant for variant in variants.values() if variant] if "variants" in include else ids,
    }


async def _owner(order: Order, ctx: Context) -> Link:
    if order.user_id is None:
        return None
    if not acts_for_owner(ctx, order):
        return None
    user, addresses = await account.get_user(ctx, order.user_id)
    return Record(user, user_links(user, addresses))


def _warning_json(warning: CartWarning, currency: str) -> Mapping[str, Any]:
    amounts = {
        name: wire_decimal(amount, currency_digits(currency))
        for name, amount in (("quoted", warning.quoted), ("now", warning.now))
        if amount is not None
    }
    available = {} if warning.available is None else {"available": warning.available}
    line = {} if warning.line_item_id is None else {"line_item_id": warning.line_item_id}
    return {"code": warning.code, **line, "message": warning.sentence, **amounts, **available}
