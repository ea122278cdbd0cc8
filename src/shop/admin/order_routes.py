"""The dashboard's table of orders and of what is done with them."""

from shop.admin import order_acts, orders
from shop.admin.rows import Rows
from shop.web.endpoint import Route

_ORDER = "/admin/orders/{number}"
_SHIPMENT = _ORDER + "/shipments/{shipment_id}"
_PAYMENT = _ORDER + "/payments/{payment_id}"


def order_routes(rows: Rows) -> tuple[Route, ...]:
    page, act = rows.page, rows.act
    return (
        page("/admin/orders", orders.listing, "Orders"),
        page(_ORDER, orders.show, "One order"),
        act(f"{_ORDER}/approve", order_acts.approve, "Approve an order"),
        page(f"{_ORDER}/cancel", order_acts.show_cancel, "Cancel an order?", fresh=True),
        act(f"{_ORDER}/cancel", order_acts.cancel, "Cancel an order", back=f"{_ORDER}/cancel"),
        act(f"{_ORDER}/resume", order_acts.resume, "Resume a canceled order"),
        act(f"{_SHIPMENT}/ready", order_acts.ready, "Say that a shipment can be sent"),
        act(f"{_SHIPMENT}/ship", order_acts.ship, "Say that a shipment was sent"),
        act(f"{_PAYMENT}/capture", order_acts.capture, "Take what was authorised"),
        page(f"{_PAYMENT}/void", order_acts.show_void, "Void a payment?", fresh=True),
        act(f"{_PAYMENT}/void", order_acts.void, "Void a payment", back=f"{_PAYMENT}/void"),
        page(f"{_PAYMENT}/refund", order_acts.show_refund, "Give money back?", fresh=True),
        act(f"{_PAYMENT}/refund", order_acts.refund, "Give money back", back=f"{_PAYMENT}/refund"),
    )
