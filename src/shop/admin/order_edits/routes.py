"""Dashboard routes that edit placed orders."""

from shop.admin.order_edits import approvals, cancellations, divisions, edits, notes, refunds
from shop.admin.route_builder import RouteBuilder
from shop.web.endpoint import Route

_ORDER = "/admin/orders/{number}"
_SHIPMENT = _ORDER + "/shipments/{shipment_id}"
_MAX_PARAMS = 1000


def order_edit_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    page, act = builder.page, builder.act
    return (
        page(f"{_ORDER}/edit", edits.show, "Edit an order", permission="orders:write"),
        act(f"{_ORDER}/edit", edits.change, "Preview or save an edit of an order", most_params=_MAX_PARAMS),
        page(f"{_ORDER}/cancel-items", cancellations.show, "Cancel items of an order", permission="orders:write"),
        act(
            f"{_ORDER}/cancel-items",
            cancellations.cancel,
            "Preview or save a cancellation of items",
            most_params=_MAX_PARAMS,
        ),
        page(f"{_SHIPMENT}/divide", divisions.show, "Split or merge a shipment", permission="orders:write"),
        act(f"{_SHIPMENT}/divide", divisions.divide, "Move items to another shipment", most_params=_MAX_PARAMS),
        act(f"{_ORDER}/notes", notes.add, "Add a note to an order"),
        act(f"{_ORDER}/notes/{{note_id}}", notes.change, "Change an own note"),
        act(f"{_ORDER}/notes/{{note_id}}/delete", notes.delete, "Delete an own note"),
        act(f"{_ORDER}/messages", notes.send, "Send a message to the customer of an order"),
        *_refund_routes(builder),
    )


def _refund_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    page, act, may, one = builder.page, builder.act, "refunds:write", f"{approvals.PATH}/{{request_id}}"
    cancel = f"{_ORDER}/cancel"
    return (
        # Canceling an order refunds its payments.
        page(cancel, cancellations.show_order, "Cancel an order?", fresh=True, permission=may),
        act(
            cancel, cancellations.cancel_order, "Cancel an order", back=cancel, permission=may, most_params=_MAX_PARAMS
        ),
        page(approvals.PATH, approvals.listing, "Refunds that need approval", permission=may),
        act(f"{one}/approve", approvals.approve, "Approve and make a refund", back=approvals.PATH, permission=may),
        act(f"{one}/decline", approvals.decline, "Decline or withdraw a refund", permission=may),
        page(f"{_ORDER}/refund", refunds.show, "Refund items of an order", fresh=True, permission="refunds:write"),
        act(
            f"{_ORDER}/refund",
            refunds.refund,
            "Preview or make a refund of items",
            back=f"{_ORDER}/refund",
            permission="refunds:write",
            most_params=_MAX_PARAMS,
        ),
    )
