"""Notes the changes of an order and its shipments for the event log."""

from shop.actions.cart.orders import Checkout
from shop.actions.context import Context
from shop.actions.event_subjects import ORDER, SHIPMENT
from shop.actions.events import note_change


def note_order_changes(ctx: Context, checkout: Checkout) -> None:
    """Notes that the transaction may change a locked order and its shipments; what stays the same has no event.

    The shipments of an open cart have no events, so that others first hear of them when the order completes.
    """
    note_change(ctx, ORDER, checkout.order.id, checkout.order)
    for shipment in checkout.shipments:
        note_change(ctx, SHIPMENT, shipment.id, shipment if checkout.order.completed_at else None)
