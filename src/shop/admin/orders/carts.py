"""The page of open carts."""

from shop.actions.context import Context
from shop.admin.listing import SIZE, build_head, count_list, paginate_rows, read_cursor, read_sort, text_param
from shop.admin.pages import PageContext, page
from shop.queries.orders import cart_list
from shop.queries.orders.cart_list import CartFilter
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/carts"
_SORTS = {"newest": "Newest", "oldest": "Oldest"}
_KINDS = {"": "All carts", "email": "With an e-mail address", "abandoned": "Abandoned"}


async def listing(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    params = {name: text_param(request, name) for name in ("q", "kind")}
    kind = params["kind"] if params["kind"] in _KINDS else ""
    criteria, cursor, sort = (
        CartFilter(params["q"] or None, kind or None),
        read_cursor(request),
        read_sort(request, _SORTS),
    )
    rows = await cart_list.list_carts(ctx.db, criteria, cursor, sort=sort, most=SIZE + 1)
    carts, pages = paginate_rows(request, rows, cursor, by="created_at", params={**params, "sort": sort})
    count = await count_list(rows, cursor, lambda: cart_list.count_carts(ctx.db, criteria))
    head = build_head(PATH, count, _SORTS, sort, params)
    return page("orders/carts.html", page_context, carts=carts, head=head, pages=pages, params=params, kinds=_KINDS)
