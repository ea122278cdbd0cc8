"""Statements for packing slips and pick lists."""

from collections.abc import Sequence

from sqlalchemy import Text, literal_column, select

from shop.db.pool import DatabaseSession
from shop.db.statements import any_of, into, statement
from shop.models.cart.orders import Order, line_items, orders
from shop.models.catalog.stock import stock_locations
from shop.models.checkout.shipments import shipment_items, shipments
from shop.rules.documents.documents import PickEntry

_of_numbers = orders.c.number == any_of("numbers", Text())
_ORDERS = statement(select(orders).where(_of_numbers, orders.c.completed_at.is_not(None)), into(Order))
_ITEMS = statement(
    select(
        stock_locations.c.id.label("location_id"),
        stock_locations.c.name.label("location_name"),
        line_items.c.variant_id,
        line_items.c.name,
        line_items.c.options_text,
        line_items.c.sku,
        orders.c.number.label("order_number"),
        shipment_items.c.quantity,
        shipment_items.c.backordered,
    )
    .select_from(shipment_items)
    .join(shipments, shipments.c.id == shipment_items.c.shipment_id)
    .join(line_items, line_items.c.id == shipment_items.c.line_item_id)
    .join(orders, orders.c.id == shipment_items.c.order_id)
    .join(stock_locations, stock_locations.c.id == shipments.c.stock_location_id)
    .where(
        _of_numbers,
        orders.c.completed_at.is_not(None),
        shipments.c.state.in_([literal_column("'pending'"), literal_column("'ready'")]),
    )
    .order_by(
        stock_locations.c.default.desc(),
        stock_locations.c.name,
        stock_locations.c.id,
        line_items.c.name,
        line_items.c.options_text,
        line_items.c.sku,
        line_items.c.variant_id,
        orders.c.number,
    ),
    into(PickEntry),
)


async def list_orders(db: DatabaseSession, numbers: Sequence[str]) -> list[Order]:
    """Returns the completed orders with these numbers."""
    return await db.all(_ORDERS, numbers=list(numbers))


async def list_items(db: DatabaseSession, numbers: Sequence[str]) -> list[PickEntry]:
    """Returns the items of these orders that are neither shipped nor canceled, by stock location and product."""
    return await db.all(_ITEMS, numbers=list(numbers))
