"""How the lines of an order are packed and sent, and what it comes to with that."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec

from shop.actions.context import Context
from shop.actions.lines import pricing_of
from shop.actions.order_parts import Checkout, change_order
from shop.actions.promoting import discounted
from shop.base.errors import Invalid
from shop.base.ids import as_uuid, new_id, new_shipment_number
from shop.models.fulfilment import Shipment, ShipmentItem, ShippingRate
from shop.queries import bulk, fulfilment, quotes, taxes
from shop.queries import lines as line_queries
from shop.rules.lines import taxable, with_amounts
from shop.rules.shipping import Lacking, Offer, Packed, Parcel, Wanted, chosen, offers, pack
from shop.rules.totals import Amounts, Rate, Taxable, Totals, tax_on, total_order

_STAMPS = ("created_at", "updated_at")


async def pack_order(ctx: Context, checkout: Checkout) -> Checkout:
    """Packs the lines anew, with what each parcel would cost to send; a choice that was made before stays where it is
    still offered, else the cheapest is chosen.
    """
    order = checkout.order
    place = await fulfilment.find_place_of(ctx.db, order.ship_address_id) if order.ship_address_id else None
    if place is None:
        raise Invalid({"ship_address": ["Give a shipping address."]}, code="address_missing")
    parcels = await _parcels(ctx, checkout)
    methods = await fulfilment.list_methods(ctx.db, *place, order.currency)
    before = [rate.shipping_method_id for rate in checkout.rates if rate.is_selected]
    due = await taxes.list_rates(ctx.db, order.ship_address_id)
    rows = [_rows(order.id, parcel, offers(parcel, methods), before, due) for parcel in parcels]
    await fulfilment.unpack(ctx.db, order.id)
    shipments = [shipment for shipment, _, _ in rows]
    items = [item for _, found, _ in rows for item in found]
    rates = [rate for _, _, found in rows for rate in found]
    for table, structs in (("shipments", shipments), ("shipment_items", items), ("shipping_rates", rates)):
        await bulk.insert_rows(ctx.db, table, [_as_row(struct) for struct in structs])
    packed = msgspec.structs.replace(checkout, shipments=shipments, items=items, rates=rates)
    return await retotal(ctx, packed, due)


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
    unsent = _shipment(order.id, parcels[0], 0)
    return [_rate(unsent, offer, due, is_selected=place == 0) for place, offer in enumerate(found)]


_UNREACHED = "No shipping method reaches this address with these goods."


def _rows(
    order_id: UUID, parcel: Parcel, found: Sequence[Offer], before: Sequence[UUID], due: Sequence[Rate]
) -> tuple[Shipment, list[ShipmentItem], list[ShippingRate]]:
    selected = chosen(found, before)
    if selected is None:
        raise Invalid({"shipments": [_UNREACHED]}, _UNREACHED, code="no_shipping_rate")
    shipment = _shipment(order_id, parcel, selected.cost)
    items = [_item(shipment, item) for item in parcel.items]
    return shipment, items, [_rate(shipment, offer, due, is_selected=offer is selected) for offer in found]


def _shipment(order_id: UUID, parcel: Parcel, cost: int) -> Shipment:
    now = datetime.now(UTC)
    return Shipment(
        id=new_id(),
        order_id=order_id,
        number=new_shipment_number(),
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
        id=new_id(),
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
        promoted=order.promoted,
    )


async def retotal(
    ctx: Context,
    checkout: Checkout,
    due: Sequence[Rate] | None = None,
    *,
    without: frozenset[UUID] = frozenset(),
) -> Checkout:
    """Works the totals out anew and writes what changed; `without` names promotions that are used up."""
    order = checkout.order
    rates = await taxes.list_rates(ctx.db, order.ship_address_id) if due is None else due
    less = await discounted(ctx, order, checkout.lines, checkout.shipments, without=without)
    as_promoted = msgspec.structs.replace(checkout, lines=less.lines, shipments=less.shipments)
    totals = total_order(
        [taxable(line) for line in less.lines],
        sent_as(as_promoted),
        rates,
        order_promo_total=less.order_promo_total,
    )
    lines = [with_amounts(line, amounts) for line, amounts in zip(less.lines, totals.lines, strict=True)]
    shipments = [_sent(each, amounts) for each, amounts in zip(less.shipments, totals.shipments, strict=True)]
    changed = [_as_row(after) for before, after in zip(checkout.shipments, shipments, strict=True) if before != after]
    await bulk.update_rows(ctx.db, "shipments", changed)
    written = await line_queries.write_lines(
        ctx.db,
        order.id,
        put=[after for before, after in zip(checkout.lines, lines, strict=True) if before != after],
        gone=[],
        unpacks=False,
        order={**totals.columns, **less.columns, "state": order.state, "currency": order.currency},
    )
    return msgspec.structs.replace(checkout, order=written, lines=lines, shipments=shipments)


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
    order = await change_order(ctx, checkout.order, state="delivery")
    return await retotal(ctx, msgspec.structs.replace(checkout, order=order, rates=rates, shipments=shipments))


async def select_rates(ctx: Context, checkout: Checkout, wishes: Any) -> Checkout:
    for wish in wishes if isinstance(wishes, list) else []:
        given = wish if isinstance(wish, dict) else {}
        shipment_id, rate_id = as_uuid(given.get("id")), as_uuid(given.get("selected_shipping_rate_id"))
        rate = next((each for each in checkout.rates if each.id == rate_id and each.shipment_id == shipment_id), None)
        if shipment_id is None or rate is None:
            raise Invalid(
                {"shipments_attributes": ["names a shipment or a rate that is not this order's"]},
                code="shipment_not_found",
            )
        checkout = await choose_rate(ctx, checkout, shipment_id, rate)
    return checkout
