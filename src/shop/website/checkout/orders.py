"""The order status page, the links that open it, and reordering."""

from shop.actions.archive.views import read_own
from shop.actions.checkout import views
from shop.actions.context import Context
from shop.actions.orders import reorder, status
from shop.base.errors import ExpiredLink, Invalid, NotFound
from shop.base.money import money_text
from shop.web.input.request import Request
from shop.web.reply import Reply
from shop.website.checkout.cart import render_cart
from shop.website.checkout.progress import CART
from shop.website.checkout.summary import build_sums, load_rows
from shop.website.checkout.timeline import build_timeline
from shop.website.layout import show_page
from shop.website.pages import redirect
from shop.website.visits import ORDER_COOKIE, Visit


async def open_link(request: Request, ctx: Context, visit: Visit) -> Reply:
    """Moves the token of a link into a cookie, and opens the order at an address without it."""
    link_token = request.path_params["token"]
    try:
        order = await status.open_link(ctx, link_token)
    except ExpiredLink as error:
        return await show_missing(request, ctx, visit, error)
    visit.save_order_link(link_token, ctx.shared.settings.order_status_ttl)
    return redirect(f"/orders/{order.number}")


async def show(request: Request, ctx: Context, visit: Visit) -> Reply:
    try:
        return await read_own(ctx, request.path_params["number"], lambda: _show_order(request, ctx, visit))
    except (NotFound, ExpiredLink) as error:
        return await show_missing(request, ctx, visit, error)


async def _show_order(request: Request, ctx: Context, visit: Visit) -> Reply:
    page = await status.get_status(ctx, request.path_params["number"], visit.cookies.get(ORDER_COOKIE))
    order = page.order
    is_new = request.query.get("done") == "completed"
    return await show_page(
        ctx,
        request,
        visit,
        "checkout/order.html",
        title="Thank you for your order" if is_new else f"Order {order.number}",
        is_new=is_new,
        page=page,
        order=order,
        can_pay=page.is_owner and page.amount_to_pay > 0 and await views.can_pay_online(ctx),
        rows=await load_rows(ctx, order, page.lines),
        sums=build_sums(order),
        timeline=build_timeline(page, money_text(order.currency, ctx.shared.shop.default_locale)),
    )


async def show_missing(request: Request, ctx: Context, visit: Visit, error: NotFound | ExpiredLink) -> Reply:
    """Tells a shopper without access how to get it."""
    title = "This link is no longer valid" if isinstance(error, ExpiredLink) else "We cannot find this order"
    page = {"title": title, "sentence": error.sentence}
    return await show_page(ctx, request, visit, "checkout/no_order.html", error.status, **page)


async def order_again(request: Request, ctx: Context, visit: Visit) -> Reply:
    """Puts the items that are still sold into the shopper's own cart."""
    order = await status.get_visible_order(ctx, request.path_params["number"], visit.cookies.get(ORDER_COOKIE))
    try:
        result = await reorder.reorder(ctx, order)
    except Invalid as error:
        return await render_cart(request, ctx, visit, 422, problem=error.sentence)
    visit.save_cart(ctx, result.cart.order)
    return redirect(f"{CART}?done={'reordered' if result.is_complete else 'reordered-partly'}")
