"""How the lines of an order are packed and sent, and what it comes to with that."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar
from uuid import UUID

import msgspec

from shop.actions.cart.discounts import discounted
from shop.actions.cart.line_items import pricing_of
from shop.actions.cart.order_state import Checkout
from shop.actions.context import Context
from shop.base.errors import Invalid
from shop.base.ids import as_uuid, derived_id, new_id, shipment_number
from shop.models.cart.orders import Order
from shop.models.checkout.shipments import Shipment, ShipmentItem, ShippingRate
from shop.queries import bulk
from shop.queries.cart import line_items as line_queries
from shop.queries.catalog import quotes
from shop.queries.checkout import shipments as fulfilment
from shop.queries.setup import taxes
from shop.rules.cart.line_items import taxable, with_amounts
from shop.rules.cart.totals import Amounts, Rate, Taxable, Totals, tax_on, total_order
from shop.rules.setup.shipping import Lacking, Offer, Packed, Parcel, Wanted, chosen, offers, pack

R = TypeVar("R")
_STAMPS = ("created_at", "updated_at")


async def quote_shipments(ctx: Context, checkout: Checkout) -> Checkout:
    """The shipments that `pack_order` would store, under the ids that they would have; writes nothing."""
    quoted, due = await _quote(ctx, checkout)
    return (await _calculate(ctx, quoted, due))[0]


async def pack_order(ctx: Context, checkout: Checkout) -> Checkout:
    """Packs the lines into shipments with their rates. A method that was chosen before stays selected where it is still
    offered, otherwise the cheapest is.
    """
    packed, due = await _quote(ctx, checkout)
    if _ids(packed) == _ids(checkout):
        return checkout  # As it is stored: the ids follow from contents, address and costs.
    await fulfilment.unpack(ctx.db, checkout.order.id)
    tables = (("shipments", packed.shipments), ("shipment_items", packed.items), ("shipping_rates", packed.rates))
    for table, structs in tables:
        await bulk.insert_rows(ctx.db, table, [_as_row(struct) for struct in structs])
    return await retotal(ctx, packed, due)


def _ids(checkout: Checkout) -> set[UUID]:
    return {record.id for records in (checkout.shipments, checkout.rates) for record in records}


async def ensure_packed(ctx: Context, checkout: Checkout) -> Checkout:
    """With shipments, as soon as there is something to send and an address: what was quoted can then be chosen."""
    is_ready = checkout.lines and checkout.order.ship_address_id
    return await pack_order(ctx, checkout) if is_ready and not checkout.shipments else checkout


async def ensure_offered(ctx: Context, checkout: Checkout) -> Checkout:
    """Packs again where there are no shipments, or a method that is selected is not offered any more."""
    order, selected = checkout.order, {rate.shipping_method_id for rate in checkout.rates if rate.is_selected}
    if not checkout.shipments or not selected or not order.ship_address_id:
        return await pack_order(ctx, checkout)
    place = await fulfilment.find_place_of(ctx.db, order.ship_address_id)
    methods = await fulfilment.list_methods(ctx.db, *place, order.currency) if place else []
    is_offered = selected <= {method.id for method in methods}
    return checkout if is_offered else await pack_order(ctx, checkout)


async def _quote(ctx: Context, checkout: Checkout) -> tuple[Checkout, Sequence[Rate]]:
    """With shipments that are not stored; and the taxes at the address."""
    order = checkout.order
    if not checkout.lines:
        raise Invalid({"line_items": ["Put something into the cart."]}, code="cart_empty")
    place = await fulfilment.find_place_of(ctx.db, order.ship_address_id) if order.ship_address_id else None
    if place is None:
        raise Invalid({"ship_address": ["Give a shipping address."]}, code="address_missing")
    parcels = await _parcels(ctx, checkout)
    methods = await fulfilment.list_methods(ctx.db, *place, order.currency)
    before = [rate.shipping_method_id for rate in checkout.rates if rate.is_selected]
    due = await taxes.list_rates(ctx.db, order.ship_address_id)
    rows = [_rows(order, parcel, offers(parcel, methods), before, due) for parcel in parcels]
    shipments = [shipment for shipment, _, _ in rows]
    items = [item for _, found, _ in rows for item in found]
    rates = [rate for _, _, found in rows for rate in found]
    return msgspec.structs.replace(checkout, shipments=shipments, items=items, rates=rates), due


def _as_row(struct: Any) -> dict[str, Any]:
    return {name: value for name, value in msgspec.structs.asdict(struct).items() if name not in _STAMPS}


async def _parcels(ctx: Context, checkout: Checkout) -> list[Parcel]:
    parcels, lacking = await _packed(ctx, checkout)
    if lacking:
        names = {line.id: line.name for line in checkout.lines}
        told = [f"{names[lack.line_item_id]}: {lack.missing} too many" for lack in lacking]
        raise Invalid({"line_items": told}, "Fewer can be had than are wanted.", code="out_of_stock")
    return parcels


async def _packed(ctx: Context, checkout: Checkout) -> tuple[list[Parcel], list[Lacking]]:
    pieces = {line.variant_id: line.quantity for line in checkout.lines}
    known = await quotes.list_quotes(ctx.db, await pricing_of(ctx, checkout.order), pieces)
    wanted = [
        Wanted(
            line.id,
            line.variant_id,
            line.quantity,
            known[line.variant_id].shipping_category_id,
            known[line.variant_id].weight,
            known[line.variant_id].is_tracked,
        )
        for line in checkout.lines
        if line.variant_id in known
    ]
    shelves = await fulfilment.list_shelves(ctx.db, pieces)
    places = [place.id for place in await fulfilment.list_places(ctx.db)]
    return pack(wanted, shelves, places)


async def estimate(ctx: Context, checkout: Checkout, country_id: UUID) -> list[ShippingRate]:
    """What it would cost to send the first parcel to a country; nothing of it is kept."""
    if not checkout.lines:
        return []
    parcels, _ = await _packed(ctx, checkout)
    if not parcels:
        return []
    order = checkout.order
    methods = await fulfilment.list_methods(ctx.db, country_id, None, order.currency)
    found = sorted(offers(parcels[0], methods), key=lambda offer: (offer.cost, offer.name))
    due = await taxes.list_rates(ctx.db, order.ship_address_id)
    unsent = _shipment(order, parcels[0], 0)
    return [_rate(unsent, offer, due, is_selected=place == 0) for place, offer in enumerate(found)]


_UNREACHED = "No shipping method reaches this address with these goods."


def _rows(
    order: Order, parcel: Parcel, found: Sequence[Offer], before: Sequence[UUID], due: Sequence[Rate]
) -> tuple[Shipment, list[ShipmentItem], list[ShippingRate]]:
    selected = chosen(found, before)
    if selected is None:
        raise Invalid({"shipments": [_UNREACHED]}, _UNREACHED, code="no_shipping_rate")
    shipment = _shipment(order, parcel, selected.cost)
    items = [_item(shipment, item) for item in parcel.items]
    return shipment, items, [_rate(shipment, offer, due, is_selected=offer is selected) for offer in found]


def _shipment(order: Order, parcel: Parcel, cost: int) -> Shipment:
    now = datetime.now(UTC)
    contents = [part for item in parcel.items for part in (item.line_item_id, item.quantity)]
    whence = (parcel.stock_location_id, parcel.shipping_category_id, parcel.is_backordered)
    shipment_id = derived_id(order.id, "shipment", order.ship_address_id, *whence, *contents)
    return Shipment(
        id=shipment_id,
        order_id=order.id,
        number=shipment_number(shipment_id),
        stock_location_id=parcel.stock_location_id,
        cost=cost,
        created_at=now,
        updated_at=now,
    )


def _item(shipment: Shipment, item: Packed) -> ShipmentItem:
    return ShipmentItem(
        id=new_id(),
        order_id=shipment.order_id,
        shipment_id=shipment.id,
        line_item_id=item.line_item_id,
        variant_id=item.variant_id,
        quantity=item.quantity,
        backordered=item.quantity if item.is_backordered else 0,
    )


def _rate(shipment: Shipment, offer: Offer, due: Sequence[Rate], *, is_selected: bool) -> ShippingRate:
    taxed = Taxable(shipment.id, offer.name, offer.cost, tax_category_id=offer.tax_category_id)
    return ShippingRate(
        id=derived_id(shipment.id, "rate", offer.shipping_method_id, offer.cost),
        order_id=shipment.order_id,
        shipment_id=shipment.id,
        shipping_method_id=offer.shipping_method_id,
        name=offer.name,
        cost=offer.cost,
        tax_amount=tax_on(taxed, due),
        tax_category_id=offer.tax_category_id,
        is_selected=is_selected,
        created_at=shipment.created_at,
    )


def sent_as(checkout: Checkout) -> list[Taxable]:
    """What the shipments cost, each taxed as its chosen rate is."""
    selected = {rate.shipment_id: rate for rate in checkout.rates if rate.is_selected}
    return [
        Taxable(
            shipment.id,
            selected[shipment.id].name if shipment.id in selected else "Shipping",
            shipment.cost,
            1,
            shipment.promo_total,
            selected[shipment.id].tax_category_id if shipment.id in selected else None,
        )
        for shipment in checkout.shipments
    ]


def explained(checkout: Checkout, due: Sequence[Rate]) -> Totals:
    """With the steps that led there; what was taken off is what the order says."""
    order = checkout.order
    return total_order(
        [taxable(line) for line in checkout.lines],
        sent_as(checkout),
        due,
        order_promo_total=order.order_promo_total,
        manual_total=order.manual_total,
        promoted=order.promoted,
    )


async def _calculate(
    ctx: Context, checkout: Checkout, due: Sequence[Rate] | None = None, without: frozenset[UUID] = frozenset()
) -> tuple[Checkout, dict[str, Any]]:
    """Lines and shipments with their amounts, and the order's columns that follow; writes nothing."""
    order = checkout.order
    rates = await taxes.list_rates(ctx.db, order.ship_address_id) if due is None else due
    less = await discounted(ctx, order, checkout.lines, checkout.shipments, without=without)
    as_promoted = msgspec.structs.replace(checkout, lines=less.lines, shipments=less.shipments)
    totals = total_order(
        [taxable(line) for line in less.lines],
        sent_as(as_promoted),
        rates,
        order_promo_total=less.order_promo_total,
        manual_total=order.manual_total,
    )
    lines = [with_amounts(line, amounts) for line, amounts in zip(less.lines, totals.lines, strict=True)]
    shipments = [_sent(each, amounts) for each, amounts in zip(less.shipments, totals.shipments, strict=True)]
    columns = {**totals.columns, **less.columns, "state": order.state, "currency": order.currency}
    return msgspec.structs.replace(checkout, lines=lines, shipments=shipments), columns


async def retotal(
    ctx: Context,
    checkout: Checkout,
    due: Sequence[Rate] | None = None,
    *,
    without: frozenset[UUID] = frozenset(),
) -> Checkout:
    """Works the totals out anew and writes what changed; `without` names promotions that are used up."""
    after, columns = await _calculate(ctx, checkout, due, without)
    await bulk.update_rows(
        ctx.db, "shipments", [_as_row(each) for each in _changed(checkout.shipments, after.shipments)]
    )
    written = await line_queries.write_lines(
        ctx.db,
        checkout.order.id,
        put=_changed(checkout.lines, after.lines),
        gone=[],
        unpacks=False,
        order=columns,
    )
    return msgspec.structs.replace(after, order=written)


def _changed(before: Sequence[R], after: Sequence[R]) -> list[R]:
    return [now for was, now in zip(before, after, strict=True) if was != now]


def _sent(shipment: Shipment, amounts: Amounts) -> Shipment:
    return msgspec.structs.replace(
        shipment,
        promo_total=amounts.promo_total,
        adjustment_total=amounts.adjustment_total,
        additional_tax_total=amounts.additional_tax_total,
        included_tax_total=amounts.included_tax_total,
        pre_tax_amount=amounts.pre_tax_amount,
    )


async def choose_rate(ctx: Context, checkout: Checkout, shipment_id: UUID, rate: ShippingRate) -> Checkout:
    await fulfilment.choose_rate(ctx.db, checkout.order.id, shipment_id, rate.id)
    rates = [
        msgspec.structs.replace(each, is_selected=each.id == rate.id) if each.shipment_id == shipment_id else each
        for each in checkout.rates
    ]
    shipments = [
        msgspec.structs.replace(each, cost=rate.cost) if each.id == shipment_id else each for each in checkout.shipments
    ]
    await bulk.update_rows(ctx.db, "shipments", [{"id": shipment_id, "cost": rate.cost}])
    order = msgspec.structs.replace(checkout.order, state="delivery")
    return await retotal(ctx, msgspec.structs.replace(checkout, order=order, rates=rates, shipments=shipments))


async def select_rates(ctx: Context, checkout: Checkout, wishes: Any) -> Checkout:
    """By the ids that `GET checkout/shipping_rates` shows."""
    if isinstance(wishes, list) and wishes:
        checkout = await ensure_packed(ctx, checkout)
    wanted: dict[UUID, ShippingRate] = {}
    for wish in wishes if isinstance(wishes, list) else []:
        given = wish if isinstance(wish, dict) else {}
        shipment_id, rate_id = as_uuid(given.get("id")), as_uuid(given.get("selected_shipping_rate_id"))
        rate = next((each for each in checkout.rates if each.id == rate_id and each.shipment_id == shipment_id), None)
        if shipment_id is None or rate is None:
            raise Invalid(
                {"shipments_attributes": ["names a shipment or a rate that is not this order's"]},
                code="shipment_not_found",
            )
        wanted[shipment_id] = rate
    for shipment_id, rate in wanted.items():
        checkout = await choose_rate(ctx, checkout, shipment_id, rate)
    return checkout
