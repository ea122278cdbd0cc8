"""The audit: who did what, with the values before and after."""

from shop.actions.context import Context
from shop.admin.listing import SIZE, build_head, count_list, paginate_rows, read_cursor, read_sort
from shop.admin.operations.log_filters import SORTS, list_actor_options, name_actors, page_of, read_filter
from shop.admin.operations.log_texts import describe_detail, title_action
from shop.admin.pages import PageContext, page
from shop.queries import logs
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/audit"


async def listing(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    (params, criteria), cursor, sort = await read_filter(request, ctx), read_cursor(request), read_sort(request, SORTS)
    rows = await logs.list_audit_events(ctx.db, criteria, cursor, sort=sort, most=SIZE + 1)
    page_rows, pages = paginate_rows(request, rows, cursor, by="at", params={**params, "sort": sort})
    count = await count_list(rows, cursor, lambda: logs.count_audit_events(ctx.db, criteria))
    return page(
        "operations/audit.html",
        page_context,
        entries=page_rows,
        head=build_head(PATH, count, SORTS, sort, params),
        pages=pages,
        params=params,
        is_filtered=any(params.values()),
        actors=await list_actor_options(ctx),
        names=await name_actors(ctx, page_rows),
        page_of=page_of,
        title_action=title_action,
        describe_detail=describe_detail,
    )
