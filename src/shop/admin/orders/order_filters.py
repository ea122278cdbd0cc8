"""Reads the filters of the order list from the URL."""

from datetime import timedelta

from shop.actions.orders.bulk import MAX_ORDERS
from shop.admin.listing import day_param, text_param
from shop.base.ids import as_uuid
from shop.models.catalog.product_query import search_query
from shop.queries.orders.order_list import SORTS, OrderQuery
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
SORT_NAMES = {"": "Newest first", "oldest": "Oldest first", "highest": "Highest total", "lowest": "Lowest total"}
SIZES = (25, 50, 100)
FILTERS = ("payment", "fulfilment", "country", "currency", "channel", "tag", "promotion", "product", "since", "until")
_NAMES = ("tab", "q", *FILTERS, "sort", "size")


def read_params(request: Request) -> dict[str, str]:
    """Returns the values of all filters, as the form and the links repeat them."""
    return {name: text_param(request, name) for name in _NAMES}


def read_size(params: dict[str, str]) -> int:
    return next((size for size in SIZES if params["size"] == str(size)), SIZES[0])


def read_query(request: Request, params: dict[str, str]) -> OrderQuery:
    """Builds the query; an unknown choice is ignored."""
    until = day_param(request, "until")
    return OrderQuery(
        tab=(params["tab"] if params["tab"] in TABS else "") or None,
        words=search_query(params["q"]) if params["q"] else None,
        payment_state=params["payment"] if params["payment"] in PAYMENT_STATES else None,
        shipment_state=params["fulfilment"] if params["fulfilment"] in SHIPMENT_STATES else None,
        country=params["country"].upper() or None,
        currency=params["currency"].upper() or None,
        channel=params["channel"] or None,
        tag=params["tag"].casefold() or None,
        product_id=as_uuid(params["product"]),
        promotion_id=as_uuid(params["promotion"]),
        since=day_param(request, "since"),
        until=until + timedelta(days=1) if until and until.year < 9999 else None,
        numbers=_read_numbers(request),
        sort=params["sort"] if params["sort"] in SORTS else "newest",
    )


def _read_numbers(request: Request) -> tuple[str, ...] | None:
    """Returns the numbers of ticked orders, to which an export is limited."""
    text = request.params.get("numbers")
    return tuple(text.split(",")[:MAX_ORDERS]) if isinstance(text, str) and text else None


def has_no_words(params: dict[str, str]) -> bool:
    """Returns whether the search has only punctuation, which matches nothing."""
    return bool(params["q"]) and search_query(params["q"]) is None
