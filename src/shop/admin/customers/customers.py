"""Customer pages: search, details, end sessions, disable and enable."""

from uuid import UUID

from shop.actions.context import Context
from shop.actions.customers import sessions as session_actions
from shop.actions.timeline import list_customer_timeline
from shop.admin.fields import id_of
from shop.admin.listing import SIZE, paginate_rows, read_cursor, text_param
from shop.admin.pages import PageContext, notice_of, page, redirect
from shop.base.errors import NotFound
from shop.models.access.users import AccountUser
from shop.queries import dashboard
from shop.queries.access import sessions as session_queries
from shop.queries.catalog_admin import price_preview
from shop.queries.checkout import store_credit_pages as credit_pages
from shop.queries.customers import customers, users
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/customers"
MAX_ORDERS, MAX_LINES = 20, 5
_NOTICES = {
    "ended": "Session ended. Its tokens no longer work.",
    "all": "All sessions ended. The customer must sign in again.",
    "disabled": "Customer disabled. All sessions have ended, and no sign-in codes are sent.",
    "enabled": "Customer enabled.",
}


async def listing(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    params, cursor = {"q": text_param(request, "q")}, read_cursor(request)
    rows = await customers.list_customers(ctx.db, params["q"], cursor, most=SIZE + 1)
    page_rows, pages = paginate_rows(request, rows, cursor, by="created_at", params=params)
    return page("customers/customers.html", page_context, customers=page_rows, pages=pages, params=params)


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    customer = await get_customer(request, ctx)
    orders = await dashboard.list_users_orders(ctx.db, customer.id, most=MAX_ORDERS)
    return page(
        "customers/customer.html",
        page_context,
        customer=customer,
        addresses=await users.list_addresses(ctx.db, customer.id),
        orders=orders,
        groups=await price_preview.list_groups_of(ctx.db, customer.id),
        lists=await price_preview.list_customers_lists(ctx.db, customer.id),
        balances=await credit_pages.list_balances(ctx.db, customer.id),
        credit_lines=await credit_pages.list_ledger(ctx.db, customer.id, most=MAX_LINES),
        sessions=await session_queries.list_sessions(ctx.db, customer.id),
        timeline=await list_customer_timeline(ctx, customer, orders),
        notice=notice_of(request, _NOTICES),
    )


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


async def get_customer(request: Request, ctx: Context) -> AccountUser:
    customer = await users.find_user(ctx.db, _id(request))
    if customer is None:
        raise NotFound()
    return customer


def _id(request: Request) -> UUID:
    return id_of(request, "user_id")


def _back(request: Request, notice: str) -> Reply:
    return redirect(f"{PATH}/{_id(request)}?done={notice}")
