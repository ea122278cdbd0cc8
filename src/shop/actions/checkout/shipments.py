"""Packs an order's lines into shipments with rates, and calculates the order's totals."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TypeVar
from uuid import UUID

import msgspec

from shop.actions.cart.orders import Checkout, NeedsLock
from shop.actions.cart.promotions import apply_promotions
from shop.actions.checkout.parts import find_destination, get_quotes, get_stock, list_methods, list_tax_rates
from shop.actions.context import Context
from shop.base.errors import Invalid
from shop.base.ids import derived_id, new_id, shipment_number
from shop.models.cart.orders import CartLine, Order
from shop.models.checkout.inputs import ShippingRateChoice
from shop.models.checkout.shipments import Shipment, ShipmentItem, ShippingRate
from shop.queries import bulk
from shop.queries.cart import line_items as line_queries
from shop.queries.catalog import stock
from shop.queries.checkout import shipments as shipment_queries
from shop.rules.cart.line_items import taxable, with_amounts
from shop.rules.cart.totals import Rate, Taxable, Totals, tax_on, total_order
from shop.rules.checkout.shipments import offer_pickup, with_shipment_amounts
from shop.rules.setup.shipping import (
    Offer,
    Package,
    PackageItem,
    PackingLine,
    StockShortage,
    choose_offer,
    list_offers,
    pack,
)

R = TypeVar("R")
_STAMPS = ("created_at", "updated_at")


class NewDetails(msgspec.Struct, frozen=True):
    """Contact details of an order that are saved with its totals."""

    columns: Mapping[str, object]
    addresses: Sequence[Mapping[str, object]]
    """The rows of new addresses."""


NO_DETAILS = NewDetails({}, ())


async def quote_shipments(ctx: Context, checkout: Checkout) -> Checkout:
    """Returns the shipments that `pack_order` would store, with the same ids; writes nothing."""
    quote, due = await _quote(ctx, checkout)
    return (await _calculate(ctx, quote, due))[0]


async def pack_order(ctx: Context, checkout: Checkout, details: NewDetails = NO_DETAILS) -> Checkout:
    """Packs the lines into shipments with their rates. Keeps the selected shipping method if it is still offered, and
    otherwise selects the cheapest. With `details`, the order must have no shipments.
    """
    new_checkout, due = await _quote(ctx, checkout)
    if checkout.shipments and _ids(new_checkout) == _ids(checkout):
        return checkout  # Unchanged: ids are derived from contents, address and costs.
    if checkout.shipments:
        if checkout.row_version:
            raise NeedsLock()
        await shipment_queries.unpack(ctx.db, checkout.order.id)
    after, columns = await _calculate(ctx, new_checkout, due)
    tables: Mapping[str, Sequence[msgspec.Struct]] = {
        "shipments": after.shipments,
        "shipment_items": after.items,
        "shipping_rates": after.rates,
    }
    rows = {table: [_as_row(struct) for struct in structs] for table, structs in tables.items()}
    return await _save(ctx, checkout.lines, after, columns, details, rows)


def _ids(checkout: Checkout) -> set[UUID]:
    return {record.id for records in (checkout.shipments, checkout.rates) for record in records}


async def ensure_packed(ctx: Context, checkout: Checkout) -> Checkout:
    """Packs the order if it has lines and an address but no shipments, so that quoted rates can be selected."""
    is_ready = checkout.lines and checkout.order.ship_address_id
    return await pack_order(ctx, checkout) if is_ready and not checkout.shipments else checkout


async def ensure_offered(ctx: Context, checkout: Checkout) -> Checkout:
    """Packs again if there are no shipments or a selected method is no longer offered."""
    order, selected_ids = checkout.order, {rate.shipping_method_id for rate in checkout.rates if rate.is_selected}
    if not checkout.shipments or not selected_ids or not order.ship_address_id or order.pickup_location_id:
        return await pack_order(ctx, checkout)
    destination = await find_destination(ctx, checkout)
    methods = await list_methods(ctx, destination, order.currency) if destination else []
    is_offered = selected_ids <= {method.id for method in methods}
    return checkout if is_offered else await pack_order(ctx, checkout)


async def _quote(ctx: Context, checkout: Checkout) -> tuple[Checkout, Sequence[Rate]]:
    """Returns the checkout with unsaved shipments, and the tax rates at the address."""
    order = checkout.order
    if not checkout.lines:
        raise Invalid({"line_items": ["Add an item to the cart."]}, code="cart_empty")
    destination = await find_destination(ctx, checkout)
    if destination is None:
        raise Invalid({"ship_address": ["Enter a shipping address."]}, code="address_missing")
    packages = await _pack(ctx, checkout)
    location = await stock.find_location(ctx.db, order.pickup_location_id) if order.pickup_location_id else None
    methods = [] if location else await list_methods(ctx, destination, order.currency)
    before = [rate.shipping_method_id for rate in checkout.rates if rate.is_selected]
    due = await list_tax_rates(ctx, checkout)
    rows = [
        _rows(order, package, [offer_pickup(location.name)] if location else list_offers(package, methods), before, due)
        for package in packages
    ]
    shipments = [shipment for shipment, _, _ in rows]
    items = [item for _, records, _ in rows for item in records]
    rates = [rate for _, _, records in rows for rate in records]
    return msgspec.structs.replace(checkout, shipments=shipments, items=items, rates=rates), due


def _as_row(struct: msgspec.Struct) -> dict[str, object]:
    return {name: value for name, value in msgspec.structs.asdict(struct).items() if name not in _STAMPS}


async def _pack(ctx: Context, checkout: Checkout) -> list[Package]:
    packages, shortages = await _pack_lines(ctx, checkout)
    if shortages:
        names = {line.id: line.name for line in checkout.lines}
        messages = [f"{names[shortage.line_item_id]}: {shortage.missing} too many" for shortage in shortages]
        raise Invalid({"line_items": messages}, "Not enough stock available.", code="out_of_stock")
    return packages


async def _pack_lines(ctx: Context, checkout: Checkout) -> tuple[list[Package], list[StockShortage]]:
    """Packs the lines. What the customer picks up is at one location, in one package for all shipping categories."""
    pickup_id = checkout.order.pickup_location_id
    variant_quotes = await get_quotes(ctx, checkout)
    items = [
        PackingLine(
            line.id,
            line.variant_id,
            line.quantity,
            pickup_id or variant_quotes[line.variant_id].shipping_category_id,
            variant_quotes[line.variant_id].weight,
            variant_quotes[line.variant_id].is_tracked,
        )
        for line in checkout.lines
        if line.variant_id in variant_quotes
    ]
    stocks = await get_stock(ctx, checkout)
    locations = await ctx.read_setup(shipment_queries.list_active_locations)
    location_ids = [location.id for location in locations if pickup_id in {None, location.id}]
    return pack(items, stocks, location_ids)


async def estimate(ctx: Context, checkout: Checkout, country_id: UUID) -> list[ShippingRate]:
    """Returns the rates for sending the first package to a country; writes nothing."""
    if not checkout.lines:
        return []
    packages, _ = await _pack_lines(ctx, checkout)
    if not packages:
        return []
    order = checkout.order
    methods = await list_methods(ctx, (country_id, None), order.currency)
    shipping_offers = sorted(list_offers(packages[0], methods), key=lambda offer: (offer.cost, offer.name))
    due = await list_tax_rates(ctx, checkout)
    shipment = _shipment(order, packages[0], 0)
    return [_rate(shipment, offer, due, is_selected=index == 0) for index, offer in enumerate(shipping_offers)]


_NO_METHOD = "No shipping method is available for this address and these items."


def _rows(
    order: Order, package: Package, shipping_offers: Sequence[Offer], before: Sequence[UUID], due: Sequence[Rate]
) -> tuple[Shipment, list[ShipmentItem], list[ShippingRate]]:
    selected_offer = choose_offer(shipping_offers, before)
    if selected_offer is None:
        raise Invalid({"shipments": [_NO_METHOD]}, _NO_METHOD, code="no_shipping_rate")
    shipment = _shipment(order, package, selected_offer.cost)
    items = [_item(shipment, item) for item in package.items]
    return (
        shipment,
        items,
        [_rate(shipment, offer, due, is_selected=offer is selected_offer) for offer in shipping_offers],
    )


def _shipment(order: Order, package: Package, cost: int) -> Shipment:
    now = datetime.now(UTC)
    contents = [part for item in package.items for part in (item.line_item_id, item.quantity)]
    origin = (package.stock_location_id, package.shipping_category_id, package.is_backordered)
    shipment_id = derived_id(order.id, "shipment", order.ship_address_id, *origin, *contents)
    return Shipment(
        id=shipment_id,
        order_id=order.id,
        number=shipment_number(shipment_id),
        stock_location_id=package.stock_location_id,
        cost=cost,
        created_at=now,
        updated_at=now,
    )


def _item(shipment: Shipment, item: PackageItem) -> ShipmentItem:
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
    taxable_cost = Taxable(shipment.id, offer.name, offer.cost, tax_category_id=offer.tax_category_id)
    return ShippingRate(
        id=derived_id(shipment.id, "rate", offer.shipping_method_id, offer.cost),
        order_id=shipment.order_id,
        shipment_id=shipment.id,
        shipping_method_id=offer.shipping_method_id,
        name=offer.name,
        cost=offer.cost,
        tax_amount=tax_on(taxable_cost, due),
        tax_category_id=offer.tax_category_id,
        is_selected=is_selected,
        created_at=shipment.created_at,
    )


def build_shipment_taxables(checkout: Checkout) -> list[Taxable]:
    """Returns the shipment costs as taxables, each in the tax category of its selected rate."""
    rates_by_shipment = {rate.shipment_id: rate for rate in checkout.rates if rate.is_selected}
    return [
        Taxable(
            shipment.id,
            rates_by_shipment[shipment.id].name if shipment.id in rates_by_shipment else "Shipping",
            shipment.cost,
            1,
            shipment.promo_total,
            rates_by_shipment[shipment.id].tax_category_id if shipment.id in rates_by_shipment else None,
        )
        for shipment in checkout.shipments
    ]


def explain_totals(checkout: Checkout, due: Sequence[Rate]) -> Totals:
    """Returns the totals with their calculation steps, using the discounts stored with the order."""
    order = checkout.order
    return total_order(
        [taxable(line) for line in checkout.lines],
        build_shipment_taxables(checkout),
        due,
        order_promo_total=order.order_promo_total,
        manual_total=order.manual_total,
        manual_shares=order.manual_shares,
        applied_promotions=order.promoted,
    )


async def _calculate(
    ctx: Context, checkout: Checkout, due: Sequence[Rate] | None = None, without: frozenset[UUID] = frozenset()
) -> tuple[Checkout, dict[str, object]]:
    """Returns lines and shipments with their amounts, and the resulting order columns; writes nothing."""
    order = checkout.order
    rates = await list_tax_rates(ctx, checkout) if due is None else due
    discounts = await apply_promotions(
        ctx,
        order,
        checkout.lines,
        checkout.shipments,
        quotes=checkout.quotes,
        facts=checkout.promotion_facts if order.user_id is None else None,
        without=without,
    )
    discounted_checkout = msgspec.structs.replace(checkout, lines=discounts.lines, shipments=discounts.shipments)
    totals = total_order(
        [taxable(line) for line in discounts.lines],
        build_shipment_taxables(discounted_checkout),
        rates,
        order_promo_total=discounts.order_promo_total,
        manual_total=order.manual_total,
        manual_shares=order.manual_shares,
    )
    lines = [with_amounts(line, amounts) for line, amounts in zip(discounts.lines, totals.lines, strict=True)]
    shipments = [
        with_shipment_amounts(each, amounts)
        for each, amounts in zip(discounts.shipments, totals.shipments, strict=True)
    ]
    columns: dict[str, object] = {
        **totals.columns,
        **discounts.columns,
        "state": order.state,
        "currency": order.currency,
    }
    return msgspec.structs.replace(checkout, lines=lines, shipments=shipments), columns


async def recalculate(
    ctx: Context,
    checkout: Checkout,
    due: Sequence[Rate] | None = None,
    *,
    without: frozenset[UUID] = frozenset(),
    defers_state: bool = False,
    details: NewDetails = NO_DETAILS,
) -> Checkout:
    """Recalculates the totals and saves them; `without` excludes promotions that are used up. With `defers_state`, the
    caller saves the state of the order, and totals that stay the same are not written.
    """
    after, columns = await _calculate(ctx, checkout, due, without)
    await bulk.update_rows(
        ctx.db, "shipments", [_as_row(each) for each in _changed_records(checkout.shipments, after.shipments)]
    )
    is_same = checkout.lines == after.lines and all(getattr(checkout.order, name) == columns[name] for name in columns)
    return after if defers_state and is_same else await _save(ctx, checkout.lines, after, columns, details)


async def _save(
    ctx: Context,
    lines_before: Sequence[CartLine],
    after: Checkout,
    columns: Mapping[str, object],
    details: NewDetails,
    new_rows: Mapping[str, Sequence[Mapping[str, object]]] | None = None,
) -> Checkout:
    """Saves the order's columns and details, the lines that changed, and new rows of other tables."""
    saved_order = await line_queries.write_checkout(
        ctx.db,
        after.order.id,
        put=_changed_records(lines_before, after.lines),
        order={**columns, **details.columns},
        new_rows={"addresses": details.addresses, **(new_rows or {})},
        row_version=after.row_version,
    )
    return msgspec.structs.replace(after, order=saved_order)


def _changed_records(before: Sequence[R], after: Sequence[R]) -> list[R]:
    return [now for was, now in zip(before, after, strict=True) if was != now]


async def choose_rate(ctx: Context, checkout: Checkout, shipment_id: UUID, rate: ShippingRate) -> Checkout:
    await shipment_queries.choose_rate(ctx.db, checkout.order.id, shipment_id, rate.id)
    rates = [
        msgspec.structs.replace(each, is_selected=each.id == rate.id) if each.shipment_id == shipment_id else each
        for each in checkout.rates
    ]
    shipments = [
        msgspec.structs.replace(each, cost=rate.cost) if each.id == shipment_id else each for each in checkout.shipments
    ]
    await bulk.update_rows(ctx.db, "shipments", [{"id": shipment_id, "cost": rate.cost}])
    order = msgspec.structs.replace(checkout.order, state="delivery")
    return await recalculate(ctx, msgspec.structs.replace(checkout, order=order, rates=rates, shipments=shipments))


async def select_rates(ctx: Context, checkout: Checkout, choices: Sequence[ShippingRateChoice]) -> Checkout:
    """Selects rates by the ids from `GET checkout/shipping_rates`."""
    if choices:
        checkout = await ensure_packed(ctx, checkout)
    rates = {(rate.shipment_id, rate.id): rate for rate in checkout.rates}
    rates_by_shipment: dict[UUID, ShippingRate] = {}
    for choice in choices:
        rate = rates.get((choice.id, choice.selected_shipping_rate_id))
        if rate is None:
            raise Invalid(
                {"shipments_attributes": ["names a shipment or rate that does not belong to this order"]},
                code="shipment_not_found",
            )
        rates_by_shipment[choice.id] = rate
    for shipment_id, rate in rates_by_shipment.items():
        checkout = await choose_rate(ctx, checkout, shipment_id, rate)
    return checkout
