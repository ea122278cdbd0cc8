"""Reads the filters of the order list from the URL."""

from uuid import UUID

from shop.actions.context import Context
from shop.actions.orders.bulk import MAX_ORDERS
from shop.admin.listing import read_day_range, read_sort, text_param
from shop.base.ids import as_uuid
from shop.models.catalog.product_query import search_query
from shop.queries.orders import order_list
from shop.queries.orders.order_list import OrderQuery
from shop.web.input.request import Request

TABS = {"to_ship": "To ship", "unpaid": "Unpaid", "open": "Open", "": "All"}
PAYMENT_STATES = {
    "paid": "Paid",
    "balance_due": "Balance due",
    "credit_owed": "Credit owed",
    "failed": "Failed",
    "void": "Void",
}
SHIPMENT_STATES = {
    "pending": "Pending",
    "ready": "Ready",
    "partial": "Partly shipped",
    "shipped": "Shipped",
    "backorder": "Backordered",
    "canceled": "Canceled",
}
SORT_NAMES = {"newest": "Newest", "oldest": "Oldest", "highest": "Highest total", "lowest": "Lowest total"}
SIZES = (25, 50, 100)
FILTERS = ("payment", "fulfilment", "country", "currency", "channel", "tag", "promotion", "product", "since", "until")
_NO_PRODUCT = UUID(int=0)
_NAMES = ("tab", "q", *FILTERS, "sort", "size")


def read_params(request: Request) -> dict[str, str]:
    """Returns the values of all filters, as the form and the links repeat them."""
    return {name: text_param(request, name) for name in _NAMES}


def read_size(params: dict[str, str]) -> int:
    return next((size for size in SIZES if params["size"] == str(size)), SIZES[0])


async def read_query(request: Request, ctx: Context, params: dict[str, str]) -> OrderQuery:
    """Builds the query; an unknown choice is ignored, and an unknown product has no orders."""
    since, until = read_day_range(request, ctx.shared.shop.zone)
    return OrderQuery(
        tab=(params["tab"] if params["tab"] in TABS else "") or None,
        words=search_query(params["q"]) if params["q"] else None,
        payment_state=params["payment"] if params["payment"] in PAYMENT_STATES else None,
        shipment_state=params["fulfilment"] if params["fulfilment"] in SHIPMENT_STATES else None,
        country=params["country"].upper() or None,
        currency=params["currency"].upper() or None,
        channel=params["channel"] or None,
        tag=params["tag"].casefold() or None,
        product_id=await _read_product(ctx, params["product"]),
        promotion_id=as_uuid(params["promotion"]),
        since=since,
        until=until,
        numbers=_read_numbers(request),
        sort=read_sort(request, SORT_NAMES),
    )


async def _read_product(ctx: Context, text: str) -> UUID | None:
    """Reads an id, as links contain, or an SKU or slug, as people type."""
    if not text:
        return None
    return as_uuid(text) or await order_list.find_product(ctx.db, text) or _NO_PRODUCT


def _read_numbers(request: Request) -> tuple[str, ...] | None:
    """Returns the numbers of ticked orders, to which an export is limited."""
    text = request.params.get("numbers")
    return tuple(text.split(",")[:MAX_ORDERS]) if isinstance(text, str) and text else None


def has_no_words(params: dict[str, str]) -> bool:
    """Returns whether the search has only punctuation, which matches nothing."""
    return bool(params["q"]) and search_query(params["q"]) is None
