"""The page of open carts."""

from shop.actions.context import Context
from shop.admin.listing import SIZE, paginate_rows, read_cursor, text_param
from shop.admin.pages import PageContext, page
from shop.queries.orders import cart_list
from shop.queries.orders.cart_list import CartFilter
from shop.web.input.request import Request
from shop.web.reply import Reply

_KINDS = {"": "All carts", "email": "With an e-mail address", "abandoned": "Abandoned"}


async def listing(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    params = {name: text_param(request, name) for name in ("q", "kind")}
    kind = params["kind"] if params["kind"] in _KINDS else ""
    cursor = read_cursor(request)
    rows = await cart_list.list_carts(ctx.db, CartFilter(params["q"] or None, kind or None), cursor, most=SIZE + 1)
    carts, pages = paginate_rows(request, rows, cursor, by="created_at", params=params)
    return page("orders/carts.html", page_context, carts=carts, pages=pages, params=params, kinds=_KINDS)
