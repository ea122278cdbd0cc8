"""Customer pages: search, details, orders, end sessions, block and unblock."""

from functools import partial
from uuid import UUID

from shop.actions.context import Context
from shop.actions.customers import sessions as session_actions
from shop.actions.timeline import list_customer_timeline
from shop.admin.customers import customer_form
from shop.admin.customers.customer_form import MAX_GROUPS, PATH, get_customer
from shop.admin.fields import id_of
from shop.admin.listing import (
    SIZE,
    build_head,
    count_list,
    paginate_rows,
    read_cursor,
    read_sort,
    remember_long,
    text_param,
)
from shop.admin.orders.order_filters import PAYMENT_STATES, SHIPMENT_STATES
from shop.admin.pages import PageContext, notice_of, page, redirect
from shop.base.ids import as_uuid
from shop.models.catalog.product_query import search_query
from shop.queries.access import sessions as session_queries
from shop.queries.accounts import merges
from shop.queries.catalog_admin import price_preview
from shop.queries.checkout import store_credit_pages as credit_pages
from shop.queries.customers import customer_orders, customers, users
from shop.queries.customers import groups as group_queries
from shop.queries.customers.customers import CustomerQuery
from shop.web.input.request import Request
from shop.web.reply import Reply

MAX_ORDERS, MAX_ARCHIVED, MAX_LINES, MAX_TAGS = 20, 20, 5, 100
_NOTICES = {
    "ended": "Session ended. Its tokens no longer work.",
    "all": "All sessions ended. The customer must sign in again.",
    "disabled": "Customer blocked. All sessions have ended, and orders with this account or address are refused.",
    "enabled": "Customer unblocked.",
    "created": "Customer created.",
    "saved": "Saved.",
    "added": "Address added.",
    "changed": "Address changed.",
    "removed": "Address deleted.",
    "default": "Default address changed.",
    "groups": "Groups saved.",
    "lists": "Price lists saved.",
    "merged": "Merged. This account has everything of the other one, which is closed.",
    "merging": "Merged. The other account is closed, and its orders move to this one.",
    "erased": "The personal data was erased. With many orders, the worker needs some minutes for all of them.",
}
_PARAMS = ("q", "tag", "group", "blocked")
_SORTS = {"newest": "Newest", "oldest": "Oldest", "changed": "Last changed"}
_ORDER_SORTS = {"newest": "Newest", "oldest": "Oldest"}


async def listing(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    params, cursor = {name: text_param(request, name) for name in _PARAMS}, read_cursor(request)
    query = CustomerQuery(
        words=search_query(params["q"]) if params["q"] else None,
        tag=params["tag"].casefold() or None,
        group_id=as_uuid(params["group"]),
        is_blocked={"yes": True, "no": False}.get(params["blocked"]),
        sort=read_sort(request, _SORTS),
    )
    # A search without any word, such as "%", finds nothing.
    is_empty = bool(params["q"]) and query.words is None
    rows = [] if is_empty else await customers.list_customers(ctx.db, query, cursor, most=SIZE + 1)
    by, links = customers.SORTS[query.sort].field, {**params, "sort": query.sort}
    page_rows, pages = paginate_rows(request, rows, cursor, by=by, params=links)
    is_filtered = any(params.values())
    count_matches = partial(customers.count_customers, ctx.db, query)
    count_all = count_matches if is_filtered else remember_long(ctx, "customers", count_matches)
    count = 0 if is_empty else await count_list(rows, cursor, count_all)
    return page(
        "customers/customers.html",
        page_context,
        customers=page_rows,
        pages=pages,
        params=params,
        head=build_head(PATH, count, _SORTS, query.sort, params),
        tags=await customers.list_tags(ctx.db, most=MAX_TAGS),
        groups=await group_queries.list_groups(ctx.db, most=MAX_GROUPS),
        is_filtered=is_filtered,
        has_filters=any(params[name] for name in _PARAMS if name != "q"),
        notice=notice_of(request, _NOTICES),
    )


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    customer = await get_customer(request, ctx)
    orders = await customer_orders.list_orders(ctx.db, customer.id, None, most=MAX_ORDERS + 1)
    memberships = await price_preview.list_groups_of(ctx.db, customer.id)
    lists = await price_preview.list_customers_lists(ctx.db, customer.id)
    return page(
        "customers/customer.html",
        page_context,
        customer=customer,
        addresses=await users.list_addresses(ctx.db, customer.id),
        orders=orders[:MAX_ORDERS],
        has_more_orders=len(orders) > MAX_ORDERS,
        archived=await customer_orders.list_archived(ctx.db, customer.id, most=MAX_ARCHIVED),
        payment_states=PAYMENT_STATES,
        shipment_states=SHIPMENT_STATES,
        spending=await customer_orders.list_spending(ctx.db, customer.id),
        groups=memberships,
        group_ids={group.id for group in memberships},
        all_groups=await group_queries.list_groups(ctx.db, most=MAX_GROUPS),
        lists=lists,
        list_ids={price_list.id for price_list in lists if price_list.is_direct},
        all_lists=await customer_form.list_price_lists(ctx),
        balances=await credit_pages.list_balances(ctx.db, customer.id),
        credit_lines=await credit_pages.list_ledger(ctx.db, customer.id, most=MAX_LINES),
        sessions=await session_queries.list_sessions(ctx.db, customer.id),
        merges=await merges.list_merges(ctx.db, customer.id),
        timeline=await list_customer_timeline(ctx, customer, [order for order in orders if not order.is_guest]),
        notice=notice_of(request, _NOTICES),
    )


async def list_orders(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    customer, cursor, sort = await get_customer(request, ctx), read_cursor(request), read_sort(request, _ORDER_SORTS)
    rows = await customer_orders.list_orders(ctx.db, customer.id, cursor, sort=sort, most=SIZE + 1)
    page_rows, pages = paginate_rows(request, rows, cursor, by="created_at", params={"sort": sort})
    count = await count_list(rows, cursor, lambda: customer_orders.count_orders(ctx.db, customer.id))
    head = build_head(f"{PATH}/{customer.id}/orders", count, _ORDER_SORTS, sort, {})
    return page("customers/orders.html", page_context, customer=customer, orders=page_rows, head=head, pages=pages)


async def end_session(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    await session_actions.end_session(ctx, _id(request), id_of(request, "session_id"))
    return _back(request, "ended")


async def end_all(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    await session_actions.end_all_sessions(ctx, (await get_customer(request, ctx)).id)
    return _back(request, "all")


async def disable(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    await session_actions.disable_customer(ctx, (await get_customer(request, ctx)).id)
    return _back(request, "disabled")


async def enable(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    await session_actions.enable_customer(ctx, (await get_customer(request, ctx)).id)
    return _back(request, "enabled")


def _id(request: Request) -> UUID:
    return id_of(request, "user_id")


def _back(request: Request, notice: str) -> Reply:
    return redirect(f"{PATH}/{_id(request)}?done={notice}")
