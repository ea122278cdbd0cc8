"""Order pages: search, details and timeline."""

from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from shop.actions.archive.archived_orders import get_archived
from shop.actions.archive.views import search_archived
from shop.actions.context import Context
from shop.actions.orders import pages as order_pages
from shop.actions.orders.details import fingerprint_details
from shop.admin.extensions.pages import load_panels
from shop.admin.listing import build_head, count_list, paginate_rows, read_cursor, remember_long
from shop.admin.orders.order_filters import (
    FILTERS,
    PAYMENT_STATES,
    SHIPMENT_STATES,
    SIZES,
    SORT_NAMES,
    TABS,
    has_no_words,
    read_params,
    read_query,
    read_size,
)
from shop.admin.pages import PageContext, notice_of, page, redirect
from shop.base.errors import NotFound
from shop.base.ids import new_id
from shop.models.cart.orders import Order
from shop.models.order_edits.notes import MAX_TEXT_LENGTH
from shop.queries.customers import users
from shop.queries.operations import order_index
from shop.queries.order_edits.notes import find_attention, list_notes
from shop.queries.orders import order_list
from shop.queries.orders.order_list import COUNT_LIMIT, SORTS
from shop.rules.setup.names import label_currency
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/orders"
LABELS = {
    "base": "The order",
    "tracking": "Tracking number",
    "line_items": "Stock",
    "email": "E-mail address",
    "note": "Note",
    "message": "Message",
    "tags": "Tags",
}
NOTICES = {
    "approved": "Order approved.",
    "canceled": "Order canceled. Its items are back in stock, except damaged or lost ones, and payments are refunded.",
    "resumed": "Order resumed.",
    "ready": "Shipment marked as ready.",
    "shipped": "Shipment marked as shipped.",
    "captured": "Payment captured.",
    "voided": "Payment voided.",
    "refunded": "Payment refunded.",
    "refund-requested": "Another operator must approve this refund, at Approvals.",
    "saved": "Details saved.",
    "noted": "Note added.",
    "note-saved": "Note saved.",
    "note-deleted": "Note deleted.",
    "messaged": "The customer gets your message by e-mail.",
    "edited": "Changes saved.",
    "items_canceled": "Items canceled.",
    "divided": "Items moved.",
    "tracking": "Tracking number saved.",
    "placed": "Order placed.",
    "placed-before": "The draft was placed as this order before.",
    "restored": "Order restored from the archive.",
    "link": "The customer gets an e-mail with a payment link.",
}


async def listing(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    params = read_params(request)
    query, size = await read_query(request, ctx, params), read_size(params)
    order = SORTS[query.sort]
    # A search without any word, such as "%", finds nothing.
    cursor, is_empty = read_cursor(request, order.kind), has_no_words(params)
    rows = [] if is_empty else await order_list.list_orders(ctx.db, query, cursor, most=size + 1)
    page_rows, pages = paginate_rows(request, rows, cursor, by=order.field, params=params, size=size)
    is_filtered = any(params[name] for name in ("q", *FILTERS))
    count_matches = partial(order_list.count_orders, ctx.db, query, size)
    count_all = count_matches if is_filtered else remember_long(ctx, f"orders {query.tab}", count_matches)
    count = await count_list(rows, cursor, count_all, size) if rows else 0
    head = build_head(PATH, count, SORT_NAMES, query.sort, params)
    return page(
        "orders/orders.html",
        page_context,
        notice=notice_of(request, NOTICES),
        orders=page_rows,
        archived=await search_archived(ctx, params["q"]) if params["q"] and cursor is None else (),
        head=msgspec.structs.replace(head, limit=size) if query.words else head,
        pages=pages,
        params=params,
        query=_encode(params),
        tab_queries={tab: _encode({**params, "tab": tab}) for tab in TABS},
        counts=msgspec.structs.asdict(await order_list.count_work(ctx.db)),
        progress=await order_index.find_progress(ctx.db),
        promotions=[(each.id, each.name) for each in await order_list.list_promotions(ctx.db, query.promotion_id)],
        countries=await users.list_country_names(ctx.db),
        currencies=[(code, label_currency(code)) for code in page_context.shop.currencies],
        has_filters=any(params[name] for name in FILTERS),
        is_filtered=is_filtered,
        tabs=TABS,
        payment_states=PAYMENT_STATES,
        shipment_states=SHIPMENT_STATES,
        sizes=SIZES,
        count_limit=COUNT_LIMIT,
    )


def _encode(params: Mapping[str, str]) -> str:
    return urlencode({name: value for name, value in params.items() if value})


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    try:
        order = await order_pages.get_order(ctx, request.path_params["number"])
    except NotFound:
        return redirect(f"/admin/archive/{(await get_archived(ctx, request.path_params['number'])).id}")
    if order.author_id and not order.completed_at:
        return redirect(f"/admin/drafts/{quote(order.number, safe='')}")
    return await order_page(ctx, page_context, order, notice=notice_of(request, NOTICES))


async def order_page(ctx: Context, page_context: PageContext, order: Order, status: int = 200, **more: Any) -> Reply:
    details = await order_pages.get_page(ctx, order)
    context = {"details": details, "order": order, "here": address_of(order), "labels": LABELS}
    states = {"payment_states": PAYMENT_STATES, "shipment_states": SHIPMENT_STATES}
    attention = await find_attention(ctx.db, order.id) if order.completed_at else None
    notes = {
        "notes": await list_notes(ctx.db, order.id) if attention and attention.has_notes else (),
        "requested_amount": attention.requested_amount if attention else None,
        "own_id": page_context.operator_session.operator.id,
        "new_ids": (new_id(), new_id()),
        "max_note_length": MAX_TEXT_LENGTH,
    }
    panels = await load_panels(ctx, page_context, order) if ctx.shared.extensions.extensions else ()
    own = {"values": details_values(order), "seen": fingerprint_details(order), "conflict": None, "theirs": {}}
    form = {**own, "tracking": {}, "texts": {"note": "", "message": ""}, "note_id": None, **more}
    return page("orders/order.html", page_context, status, **form, **context, **states, **notes, panels=panels)


def details_values(order: Order) -> dict[str, str]:
    return {"email": order.email or "", "tags": ", ".join(order.tags)}


def address_of(order: Order) -> str:
    return f"{PATH}/{quote(order.number, safe='')}"
