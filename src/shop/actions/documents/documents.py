"""Loads what packing slips and pick lists show; nothing of them is stored."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from shop.actions.cart.orders import Checkout, load_checkout, load_checkouts
from shop.actions.context import Context
from shop.actions.setup.documents import find_country_name
from shop.base.errors import Invalid
from shop.models.cart.orders import CartLine, Order
from shop.models.checkout.shipments import Shipment, ShipmentItem
from shop.models.documents.invoices import Seller
from shop.models.setup.shop import Shop
from shop.queries.checkout import shipments
from shop.queries.customers import users
from shop.queries.documents import documents as queries
from shop.rules.documents.documents import (
    MAX_ITEMS,
    MAX_ORDERS,
    PickLocation,
    build_seller,
    group_entries,
    recipient_lines,
)


class PackingSlip(msgspec.Struct, frozen=True):
    """The slip of one shipment, or of an order that has none."""

    order_number: str
    order_date: datetime | None
    ship_to: Sequence[str]
    instructions: str
    lines: Sequence[tuple[CartLine, int, int]]
    """Each line item with its quantity, and how much of it is backordered."""
    shipment_number: str = ""
    location_name: str = ""
    method: str = ""
    tracking: str = ""


class PickList(msgspec.Struct, frozen=True):
    """The items of several orders that are not shipped, by stock location."""

    locations: Sequence[PickLocation]
    numbers: Sequence[str]


async def get_seller(ctx: Context, shop: Shop | None = None) -> Seller:
    """Returns the shop as documents show it now."""
    shop = shop or ctx.shared.shop
    settings = shop.document_settings
    name = await find_country_name(ctx, settings.country) if settings.country else None
    return build_seller(shop, settings, name or "")


async def get_packing_slips(ctx: Context, order: Order) -> list[PackingSlip]:
    """Returns a slip for each shipment of an order that is not canceled."""
    return await _build_slips(ctx, [await load_checkout(ctx, order)])


async def list_packing_slips(ctx: Context, numbers: Sequence[str]) -> list[PackingSlip]:
    """Returns the slips of several orders, in the order of `numbers`."""
    orders = await _get_orders(ctx, numbers)
    return await _build_slips(ctx, await load_checkouts(ctx, orders))


async def get_pick_list(ctx: Context, numbers: Sequence[str]) -> PickList:
    orders = await _get_orders(ctx, numbers)
    entries = await queries.list_items(ctx.db, [order.number for order in orders])
    _check_size(len(entries))
    return PickList(group_entries(entries), [order.number for order in orders])


async def _get_orders(ctx: Context, numbers: Sequence[str]) -> list[Order]:
    """Returns the completed orders with these numbers, in this order."""
    if not numbers:
        raise Invalid({"numbers": ["are required"]})
    if len(numbers) > MAX_ORDERS:
        raise Invalid({"numbers": [f"must be at most {MAX_ORDERS}, not {len(numbers)}"]})
    orders = {order.number: order for order in await queries.list_orders(ctx.db, numbers)}
    unknown = [number for number in numbers if number not in orders]
    if unknown:
        raise Invalid({"numbers": [f"must be those of completed orders; {unknown[0][:40]} is not"]})
    return [orders[number] for number in numbers]


def _check_size(count: int) -> None:
    if count > MAX_ITEMS:
        raise Invalid({"numbers": [f"have {count:,} items together; choose orders with at most {MAX_ITEMS:,}"]})


async def _build_slips(ctx: Context, checkouts: Sequence[Checkout]) -> list[PackingSlip]:
    _check_size(sum(len(checkout.items) or len(checkout.lines) for checkout in checkouts))
    address_ids = [checkout.order.ship_address_id for checkout in checkouts]
    ids = list({address_id for address_id in address_ids if address_id})
    addresses = await users.find_addresses(ctx.db, ids) if ids else {}
    location_names = {location.id: location.name for location in await shipments.list_locations(ctx.db)}
    slips = []
    for checkout in checkouts:
        order = checkout.order
        address = addresses.get(order.ship_address_id) if order.ship_address_id else None
        slip = PackingSlip(
            order.number, order.completed_at, recipient_lines(address), order.special_instructions or "", ()
        )
        active_shipments = [each for each in checkout.shipments if each.state != "canceled"]
        slips += [
            _add_shipment(slip, checkout, each, location_names[each.stock_location_id]) for each in active_shipments
        ]
        if not checkout.shipments:
            slips.append(msgspec.structs.replace(slip, lines=[(line, line.quantity, 0) for line in checkout.lines]))
    return slips


def _add_shipment(slip: PackingSlip, checkout: Checkout, shipment: Shipment, location_name: str) -> PackingSlip:
    items: dict[object, ShipmentItem] = {
        item.line_item_id: item for item in checkout.items if item.shipment_id == shipment.id
    }
    method = next((rate.name for rate in checkout.rates if rate.is_selected and rate.shipment_id == shipment.id), "")
    return msgspec.structs.replace(
        slip,
        lines=[
            (line, items[line.id].quantity, items[line.id].backordered) for line in checkout.lines if line.id in items
        ],
        shipment_number=shipment.number,
        location_name=location_name,
        method=method,
        tracking=shipment.tracking or "",
    )
