"""The timeline of an order: placed, paid, shipped, delivered, refunded, canceled."""

from collections.abc import Callable
from datetime import datetime
from math import inf

import msgspec

from shop.actions.orders.status import OrderStatus, TrackedShipment


class TimelineEntry(msgspec.Struct, frozen=True):
    """A step of the order, past or to come."""

    text: str
    at: datetime | None = None
    is_done: bool = True
    detail: str = ""
    tracking: str | None = None
    tracking_url: str | None = None


def build_timeline(page: OrderStatus, money: Callable[[int], str]) -> list[TimelineEntry]:
    """Returns the steps in their order; those to come are last."""
    order = page.order
    entries = [TimelineEntry("Order placed", order.completed_at), *_payment_entries(page, money)]
    entries += [_shipped(shipment) for shipment in page.shipments if shipment.shipment.state == "shipped"]
    entries += [_delivered(shipment) for shipment in page.shipments if shipment.shipment.delivered_at]
    entries += [TimelineEntry(f"Refunded {money(refund.amount)}", refund.created_at) for refund in page.refunds]
    if order.canceled_at is not None:
        entries.append(TimelineEntry("Order canceled", order.canceled_at))
    past_entries = sorted((entry for entry in entries if entry.is_done), key=_time_of)
    return [*past_entries, *(entry for entry in entries if not entry.is_done), *_entries_to_come(page)]


def _time_of(entry: TimelineEntry) -> float:
    return entry.at.timestamp() if entry.at else inf


def _payment_entries(page: OrderStatus, money: Callable[[int], str]) -> list[TimelineEntry]:
    if page.paid_at is not None and page.balance.amount_due <= 0:
        return [TimelineEntry("Payment received", page.paid_at)]
    if page.order.canceled_at is not None or not page.order.total:
        return []
    is_awaited = any(each.is_awaited for each in page.payments)
    detail = f"{money(page.balance.amount_due)} to pay" if is_awaited else ""
    return [
        TimelineEntry("Waiting for your payment" if is_awaited else "Payment pending", is_done=False, detail=detail)
    ]


def _shipped(shipment: TrackedShipment) -> TimelineEntry:
    row = shipment.shipment
    detail = f"{shipment.method}, shipment {row.number}" if shipment.method else f"Shipment {row.number}"
    return TimelineEntry("Shipped", row.shipped_at, True, detail, row.tracking, shipment.tracking_url)


def _delivered(shipment: TrackedShipment) -> TimelineEntry:
    return TimelineEntry("Delivered", shipment.shipment.delivered_at, detail=f"Shipment {shipment.shipment.number}")


def _entries_to_come(page: OrderStatus) -> list[TimelineEntry]:
    if page.order.canceled_at is not None:
        return []
    waiting = [each for each in page.shipments if each.shipment.state in {"pending", "ready"}]
    if not waiting:
        return []
    text = "Preparing your order" if len(waiting) == len(page.shipments) else "Preparing the rest of your order"
    return [TimelineEntry(text, is_done=False)]
