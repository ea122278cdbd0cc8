"""Dashboard routes of orders, shipments and payments."""

from shop.admin.orders import actions, bulk, carts, details, export, orders
from shop.admin.route_builder import RouteBuilder
from shop.web.endpoint import Route

_ORDER = "/admin/orders/{number}"
_SHIPMENT = _ORDER + "/shipments/{shipment_id}"
_PAYMENT = _ORDER + "/payments/{payment_id}"


def order_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    page, act = builder.page, builder.act
    return (
        page("/admin/orders", orders.listing, "Orders"),
        page("/admin/orders/export.csv", export.export, "Orders as CSV"),
        act("/admin/orders/bulk", bulk.change, "Change several orders", most_params=300),
        page("/admin/carts", carts.listing, "Carts"),
        page(_ORDER, orders.show, "One order"),
        act(f"{_ORDER}/details", details.change, "Change details of an order"),
        act(f"{_ORDER}/payment-link", details.send_payment_link, "E-mail a payment link"),
        act(f"{_SHIPMENT}/tracking", details.change_tracking, "Change a tracking number"),
        act(f"{_ORDER}/approve", actions.approve, "Approve an order"),
        page(f"{_ORDER}/cancel", actions.show_cancel, "Cancel an order?", fresh=True),
        act(f"{_ORDER}/cancel", actions.cancel, "Cancel an order", back=f"{_ORDER}/cancel"),
        act(f"{_ORDER}/resume", actions.resume, "Resume a canceled order"),
        act(f"{_SHIPMENT}/ready", actions.ready, "Mark a shipment as ready"),
        act(f"{_SHIPMENT}/ship", actions.ship, "Mark a shipment as shipped"),
        act(f"{_PAYMENT}/capture", actions.capture, "Capture a payment"),
        page(f"{_PAYMENT}/void", actions.show_void, "Void a payment?", fresh=True),
        act(f"{_PAYMENT}/void", actions.void, "Void a payment", back=f"{_PAYMENT}/void"),
        page(f"{_PAYMENT}/refund", actions.show_refund, "Refund a payment?", fresh=True),
        act(f"{_PAYMENT}/refund", actions.refund, "Refund a payment", back=f"{_PAYMENT}/refund"),
    )
