"""Dashboard routes of orders, shipments and payments."""

from shop.admin.orders import actions, bulk, carts, details, documents, export, orders
from shop.admin.route_builder import RouteBuilder
from shop.web.endpoint import Route

_ORDER = "/admin/orders/{number}"
_SHIPMENT = _ORDER + "/shipments/{shipment_id}"
_CREDIT_NOTES = _ORDER + "/credit-notes"
_PAYMENT = _ORDER + "/payments/{payment_id}"


def order_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    page, act = builder.page, builder.act
    return (
        page("/admin/orders", orders.listing, "Orders"),
        page("/admin/orders/export.csv", export.export, "Orders as CSV"),
        act("/admin/orders/bulk", bulk.change, "Change several orders", most_params=300),
        act(
            "/admin/orders/selected",
            bulk.open_page,
            "Print or export several orders",
            most_params=300,
            permission="orders:read",
        ),
        page("/admin/carts", carts.listing, "Carts"),
        page(_ORDER, orders.show, "One order"),
        act(f"{_ORDER}/details", details.change, "Change details of an order"),
        act(f"{_ORDER}/payment-link", details.send_payment_link, "E-mail a payment link"),
        act(f"{_SHIPMENT}/tracking", details.change_tracking, "Change a tracking number"),
        act(f"{_ORDER}/approve", actions.approve, "Approve an order"),
        page(f"{_ORDER}/resume", actions.show_resume, "Resume a canceled order?", permission="orders:write"),
        act(f"{_ORDER}/resume", actions.resume, "Resume a canceled order"),
        act(f"{_SHIPMENT}/ready", actions.ready, "Mark a shipment as ready"),
        act(f"{_SHIPMENT}/ship", actions.ship, "Mark a shipment as shipped"),
        act(f"{_PAYMENT}/capture", actions.capture, "Capture a payment"),
        *_refund_routes(builder.of("refunds")),
        *_document_routes(builder),
    )


def _refund_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    page, act, may = builder.page, builder.act, "refunds:write"
    void, refund = f"{_PAYMENT}/void", f"{_PAYMENT}/refund"
    return (
        page(void, actions.show_void, "Void a payment?", fresh=True, permission=may),
        act(void, actions.void, "Void a payment", back=void),
        page(refund, actions.show_refund, "Refund a payment?", fresh=True, permission=may),
        act(refund, actions.refund, "Refund a payment", back=refund),
    )


def _document_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    page, act = builder.page, builder.act
    return (
        page(f"{_ORDER}/invoice", documents.show_invoice, "The invoice of an order"),
        act(f"{_ORDER}/invoice", documents.issue_invoice, "Issue the invoice of an order"),
        page(f"{_ORDER}/invoice.pdf", documents.show_invoice_pdf, "The invoice of an order as PDF"),
        page(_CREDIT_NOTES, documents.show_credit, "Issue a credit note?", permission="orders:write"),
        act(_CREDIT_NOTES, documents.issue_credit_note, "Issue a credit note"),
        page(f"{_CREDIT_NOTES}/{{document}}", documents.show_credit_note, "A credit note, also as PDF"),
        page(f"{_ORDER}/packing-slip", documents.show_packing_slip, "The packing slips of an order"),
        page(f"{_ORDER}/packing-slip.pdf", documents.show_packing_slip_pdf, "The packing slips of an order as PDF"),
        page("/admin/documents/packing-slips", documents.show_packing_slips, "The packing slips of several orders"),
        page(
            "/admin/documents/packing-slips.pdf",
            documents.show_packing_slips_pdf,
            "The packing slips of several orders as PDF",
        ),
        page("/admin/documents/pick-list", documents.show_pick_list, "A pick list for several orders"),
        page("/admin/documents/pick-list.pdf", documents.show_pick_list_pdf, "A pick list for several orders as PDF"),
    )
