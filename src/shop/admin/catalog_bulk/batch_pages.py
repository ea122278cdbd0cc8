"""Pages of batches of changes: progress, results and undo."""

from shop.actions.catalog_bulk import batches
from shop.actions.context import Context
from shop.admin.fields import id_of
from shop.admin.listing import SIZE, build_head, count_list, paginate_rows, read_cursor, read_sort
from shop.admin.pages import PageContext, page, redirect
from shop.queries.catalog_bulk import batches as queries
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/products/batches"
_SORTS = {"newest": "Newest", "oldest": "Oldest", "largest": "Most products"}


async def listing(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    sort = read_sort(request, _SORTS)
    order = queries.SORTS[sort]
    cursor = read_cursor(request, order.kind)
    rows = await queries.list_batches(ctx.db, cursor, sort=sort, most=SIZE + 1)
    page_rows, pages = paginate_rows(request, rows, cursor, by=order.field, params={"sort": sort})
    count = await count_list(rows, cursor, lambda: queries.count_batches(ctx.db))
    return page(
        "catalog/bulk/batches.html",
        page_context,
        batches=page_rows,
        pages=pages,
        head=build_head(PATH, count, _SORTS, sort, {}),
    )


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    batch = await batches.get_batch(ctx, id_of(request, "batch_id"))
    return page("catalog/bulk/batch.html", page_context, batch=batch)


async def undo(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    batch = await batches.get_batch(ctx, id_of(request, "batch_id"))
    await batches.undo_batch(ctx, batch.id)
    return redirect(f"{PATH}/{batch.id}")
