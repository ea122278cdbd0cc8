"""Decides which shipments lose units of an edited order, and from which stock locations added units come."""

from collections.abc import Sequence
from uuid import UUID

import msgspec

from shop.models.checkout.shipments import ShipmentItem
from shop.rules.setup.shipping import LocationStock


class Allocation(msgspec.Struct, frozen=True):
    """Units to take from a stock location, some of which may be backordered."""

    location_id: UUID
    quantity: int
    backordered: int = 0


def release_units(items: Sequence[ShipmentItem], count: int) -> list[tuple[ShipmentItem, int]]:
    """Returns how many units each item loses: backordered ones first, then those of the newest shipment."""
    releases = []
    for item in sorted(items, key=lambda each: (each.backordered, each.shipment_id), reverse=True):
        quantity = min(count, item.quantity)
        if quantity:
            releases.append((item, quantity))
        count -= quantity
    return releases


def take_units(stocks: Sequence[LocationStock], location_ids: Sequence[UUID], count: int) -> list[Allocation] | None:
    """Returns where to take units from: what is on hand, in the order of the stock locations, and the rest backordered
    where that is possible. Returns None if there is not enough.
    """
    ranks = {location_id: rank for rank, location_id in enumerate(location_ids)}
    sorted_stocks = sorted(stocks, key=lambda stock: ranks.get(stock.stock_location_id, len(ranks)))
    quantities: dict[UUID, Allocation] = {}
    for stock in sorted_stocks:
        quantity = min(count, max(stock.on_hand, 0))
        if quantity:
            quantities[stock.stock_location_id] = Allocation(stock.stock_location_id, quantity)
        count -= quantity
    if count:
        location_id = next((stock.stock_location_id for stock in sorted_stocks if stock.backorderable), None)
        if location_id is None:
            return None
        on_hand = quantities[location_id].quantity if location_id in quantities else 0
        quantities[location_id] = Allocation(location_id, on_hand + count, count)
    return list(quantities.values())
