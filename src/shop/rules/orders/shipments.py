"""Decides which shipments of a placed order can be divided or merged."""

from collections.abc import Sequence

from shop.models.cart.orders import Order
from shop.models.checkout.shipments import Shipment, ShipmentItem

MOVABLE_STATES = frozenset({"pending", "ready"})
"""The states of shipments whose items can still change."""


def list_targets(shipments: Sequence[Shipment], source: Shipment) -> list[Shipment]:
    """Returns the other shipments of the same stock location that were not sent."""
    return [
        each
        for each in shipments
        if each.id != source.id and each.state in MOVABLE_STATES and each.stock_location_id == source.stock_location_id
    ]


def find_division_refusal(
    order: Order, shipment: Shipment, shipments: Sequence[Shipment], items: Sequence[ShipmentItem]
) -> str | None:
    """Returns why a shipment can neither be divided nor merged, or None if it can."""
    if order.completed_at is None or order.canceled_at is not None:
        return "Only a placed order can be edited."
    if shipment.state not in MOVABLE_STATES:
        return f"The shipment is {shipment.state} and cannot be changed any more."
    unit_count = sum(item.quantity for item in items if item.shipment_id == shipment.id)
    if unit_count < 2 and not list_targets(shipments, shipment):
        return "The shipment has one unit, and no other shipment can take it."
    return None
