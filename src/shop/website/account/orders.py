"""The list of a customer's orders."""

from collections.abc import Sequence

import msgspec

from shop.actions.archive.views import list_own
from shop.actions.context import Context
from shop.actions.orders import resources as orders
from shop.base.errors import NotFound
from shop.base.listing import Page
from shop.models.cart.orders import Order
from shop.web.input.request import Request
from shop.web.reply import Reply
from shop.website.layout import show_page
from shop.website.visits import Visit

PAGE_SIZE = 10
_MAX_PAGES = 1_000_000
_SHIPMENT_TEXTS = {
    "shipped": "Shipped",
    "partial": "Partly shipped",
    "backorder": "Ships later",
}
_UNPAID = frozenset({"balance_due", "failed"})


class OrderRow(msgspec.Struct, frozen=True):
    """An order in a list, with its status in words."""

    order: Order
    status: str


async def show_list(request: Request, ctx: Context, visit: Visit) -> Reply:
    number = read_page_number(request)
    listing = await list_own(ctx, Page(number, PAGE_SIZE), orders.NEWEST)
    page_count = max(1, -(-listing.total // PAGE_SIZE))
    if number > page_count:
        raise NotFound()
    return await show_page(
        ctx,
        request,
        visit,
        "account/orders.html",
        title="Orders",
        orders=build_rows(listing.orders),
        total=listing.total,
        page=number,
        page_count=page_count,
    )


def read_page_number(request: Request) -> int:
    """Reads `page`; anything that is not a page number is the first page."""
    text = str(request.query.get("page", ""))
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(_MAX_PAGES))
    return max(1, int(text)) if is_number else 1


def build_rows(rows: Sequence[Order]) -> list[OrderRow]:
    return [OrderRow(order, status_text(order)) for order in rows]


def status_text(order: Order) -> str:
    """Returns the status of an order in words; shipped goods matter more to a customer than an open payment."""
    if order.canceled_at is not None:
        return "Canceled"
    if order.payment_state == "void":
        return "Refunded"
    if order.shipment_state in {"shipped", "partial"}:
        return _SHIPMENT_TEXTS[order.shipment_state]
    if order.payment_state in _UNPAID:
        return "Awaiting payment"
    return _SHIPMENT_TEXTS.get(order.shipment_state or "", "Being prepared")
