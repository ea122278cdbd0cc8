"""The page of an archived order, and the button that restores it."""

from urllib.parse import quote

from shop.actions.archive import archived_orders
from shop.actions.context import Context
from shop.actions.orders import pages as order_pages
from shop.admin.orders.order_filters import PAYMENT_STATES, SHIPMENT_STATES
from shop.admin.pages import PageContext, page, redirect
from shop.base.errors import Conflict, ShopError, Unavailable
from shop.models.cart.archived_orders import ArchivedOrder
from shop.models.order_edits.notes import ListedNote
from shop.queries.order_edits.notes import list_notes
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/archive"


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    return await _show_page(request, ctx, page_context)


async def restore(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    order = await archived_orders.get_archived(ctx, request.path_params["id"])
    try:
        await archived_orders.restore_order(ctx, order)
    except (Conflict, Unavailable) as error:
        return await _show_page(request, ctx, page_context, error)
    return redirect(f"/admin/orders/{quote(order.number, safe='')}?done=restored")


async def _show_page(
    request: Request, ctx: Context, page_context: PageContext, error: ShopError | None = None
) -> Reply:
    order = await archived_orders.get_archived(ctx, request.path_params["id"])
    status, details = error.status if error else 200, None
    is_connected = ctx.shared.settings.archive_url is not None
    notes: list[ListedNote] = []
    try:
        details, notes = await archived_orders.read_archived(ctx, [order], lambda: _read_details(ctx, order))
    except (Conflict, Unavailable) as read_error:
        error = error or read_error
    return page(
        "archive/archived_order.html",
        page_context,
        status,
        archived=order,
        details=details,
        notes=notes,
        is_connected=is_connected,
        # Without an archive, the page itself says so.
        refusal=error.sentence if error and is_connected else None,
        payment_states=PAYMENT_STATES,
        shipment_states=SHIPMENT_STATES,
    )


async def _read_details(ctx: Context, order: ArchivedOrder) -> tuple[order_pages.OrderPage, list[ListedNote]]:
    details = await order_pages.get_page(ctx, await order_pages.get_order(ctx, str(order.id)))
    return details, await list_notes(ctx.db, order.id)
