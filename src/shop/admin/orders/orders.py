"""Order pages: search, details and timeline."""

from datetime import timedelta
from typing import Any
from urllib.parse import quote

from shop.actions.context import Context
from shop.actions.orders import pages as order_pages
from shop.admin.listing import SIZE, day_param, paginate_rows, read_cursor, text_param
from shop.admin.pages import PageContext, notice_of, page
from shop.models.cart.orders import Order
from shop.queries import dashboard
from shop.queries.dashboard import OrderFilter, sorted_by
from shop.web.input.request import Request
from shop.web.reply import Reply

STATES = {
    "": "All",
    "open": "Open carts",
    "completed": "Completed",
    "cart": "Cart",
    "address": "Address",
    "delivery": "Delivery",
    "payment": "Payment",
    "confirm": "Confirmation",
    "complete": "Complete",
    "canceled": "Canceled",
}
PATH = "/admin/orders"
LABELS = {"base": "The order", "tracking": "Tracking number", "line_items": "Stock"}
NOTICES = {
    "approved": "Order approved.",
    "canceled": "Order canceled. Its items are back in stock, and payments are refunded.",
    "resumed": "Order resumed.",
    "ready": "Shipment marked as ready.",
    "shipped": "Shipment marked as shipped.",
    "captured": "Payment captured.",
    "voided": "Payment voided.",
    "refunded": "Payment refunded.",
}


async def listing(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    params = {name: text_param(request, name) for name in ("q", "state", "since", "until")}
    filters = _filter(request, params)
    cursor = read_cursor(request)
    rows = await dashboard.list_orders(ctx.db, filters, cursor, most=SIZE + 1)
    page_rows, pages = paginate_rows(request, rows, cursor, by=sorted_by(filters), params=params)
    is_filtered = any(params.values())
    return page(
        "orders/orders.html",
        page_context,
        orders=page_rows,
        pages=pages,
        params=params,
        states=STATES,
        is_filtered=is_filtered,
    )


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    order = await order_pages.get_order(ctx, request.path_params["number"])
    return await order_page(ctx, page_context, order, notice=notice_of(request, NOTICES))


async def order_page(ctx: Context, page_context: PageContext, order: Order, status: int = 200, **more: Any) -> Reply:
    details = await order_pages.get_page(ctx, order)
    context = {"details": details, "order": order, "here": address_of(order)}
    return page("orders/order.html", page_context, status, **{"tracking": {}, **more}, **context, labels=LABELS)


def address_of(order: Order) -> str:
    return f"{PATH}/{quote(order.number, safe='')}"


def _filter(request: Request, params: dict[str, str]) -> OrderFilter:
    """Builds the filter. A query with an `@` is an e-mail address; any other is an order number or its prefix."""
    text, until = params["q"], day_param(request, "until")
    is_email = "@" in text
    return OrderFilter(
        number=text if text and not is_email else None,
        email=text if is_email else None,
        state=params["state"] if params["state"] in STATES else None,
        since=day_param(request, "since"),
        until=until + timedelta(days=1) if until and until.year < 9999 else None,
    )
