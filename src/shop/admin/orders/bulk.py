"""Form handlers that change, print or export the orders that are ticked in the list."""

from typing import Any
from urllib.parse import urlencode

from shop.actions.context import Context
from shop.actions.orders import bulk
from shop.actions.orders.bulk import MAX_ORDERS, Change
from shop.actions.orders.details import MAX_TAG_LENGTH
from shop.admin.fields import Fields
from shop.admin.pages import PageContext, page, redirect
from shop.web.input.request import Request
from shop.web.reply import Reply

_LIST = "/admin/orders"
_RESULTS = {
    "ready": ("marked as ready", "had no pending shipment"),
    "ship": ("shipped", "had no shipment that is ready"),
    "tag": ("tagged", "had the tag already"),
    "untag": ("changed", "did not have the tag"),
}
"""What the page says of orders that were changed, and of those that needed no change."""
_PAGES = {
    "export": f"{_LIST}/export.csv",
    "packing_slips": "/admin/documents/packing-slips",
    "pick_list": "/admin/documents/pick-list",
}
"""Pages about the ticked orders, which change nothing."""


async def open_page(request: Request, _ctx: Context, page_context: PageContext) -> Reply:
    """Leads to a document or file about the ticked orders. The form is a POST to keep its CSRF token out of the URL."""
    fields = Fields(request)
    numbers, action = _read_numbers(fields), fields.choice("do", _PAGES)
    if fields.errors:
        return page("orders/bulk.html", page_context, 422, back=_back(fields), errors=fields.errors, result=None)
    return redirect(f"{_PAGES[action]}?{urlencode({'numbers': ','.join(numbers)})}")


async def change(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    fields = Fields(request)
    numbers, action = _read_numbers(fields), fields.choice("do", _RESULTS)
    tag = fields.line("tag", most=MAX_TAG_LENGTH, required=action in {"tag", "untag"}).casefold()
    values: dict[str, Any] = {"numbers": numbers, "back": _back(fields), "action": action, "tag": tag}
    if fields.errors:
        return page("orders/bulk.html", page_context, 422, **values, errors=fields.errors, result=None)
    if action == "ship" and not fields.flag("is_confirmed"):
        return page("orders/bulk_ship.html", page_context, **values)
    result = await bulk.change_orders(ctx, numbers, _choose(action, tag))
    return page("orders/bulk.html", page_context, **values, result=result, words=_RESULTS[action])


def _read_numbers(fields: Fields) -> list[str]:
    numbers = list(dict.fromkeys(fields.lines("numbers")))
    if not numbers:
        fields.refuse("numbers", "Tick at least one order.")
    if len(numbers) > MAX_ORDERS:
        fields.refuse("numbers", f"Tick at most {MAX_ORDERS} orders.")
    return numbers


def _choose(action: str, tag: str) -> Change:
    changes = {
        "ready": bulk.mark_ready,
        "ship": bulk.ship_order,
        "tag": bulk.add_tag(tag),
        "untag": bulk.remove_tag(tag),
    }
    return changes[action]


def _back(fields: Fields) -> str:
    """Returns the list from which the form was sent; only its own query, never another address."""
    query = fields.texts.get("query", "")
    is_safe = query.isascii() and query.isprintable() and len(query) < 2000 and not set(query) & set('"<>\\ ')
    return f"{_LIST}?{query}" if query and is_safe else _LIST
