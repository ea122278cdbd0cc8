"""The audit: who did what, with the values before and after."""

from shop.actions.context import Context
from shop.admin.listing import SIZE, paginate_rows, read_cursor
from shop.admin.operations.log_filters import list_actor_options, name_actors, page_of, read_filter
from shop.admin.pages import PageContext, page
from shop.queries import logs
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/audit"


async def listing(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    (params, criteria), cursor = await read_filter(request, ctx), read_cursor(request)
    rows = await logs.list_audit_events(ctx.db, criteria, cursor, most=SIZE + 1)
    page_rows, pages = paginate_rows(request, rows, cursor, by="at", params=params)
    return page(
        "operations/audit.html",
        page_context,
        entries=page_rows,
        pages=pages,
        params=params,
        is_filtered=any(params.values()),
        actors=await list_actor_options(ctx),
        names=await name_actors(ctx, page_rows),
        page_of=page_of,
    )
