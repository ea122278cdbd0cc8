"""Pages of batches of changes: progress, results and undo."""

from shop.actions.catalog_bulk import batches
from shop.actions.context import Context
from shop.admin.fields import id_of
from shop.admin.listing import SIZE, paginate_rows, read_cursor
from shop.admin.pages import PageContext, page, redirect
from shop.queries.catalog_bulk import batches as queries
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/products/batches"


async def listing(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    cursor = read_cursor(request)
    rows = await queries.list_batches(ctx.db, cursor, most=SIZE + 1)
    page_rows, pages = paginate_rows(request, rows, cursor, by="created_at", params={})
    return page(
        "catalog/bulk/batches.html",
        page_context,
        batches=page_rows,
        pages=pages,
        count=await queries.count_batches(ctx.db),
    )


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    batch = await batches.get_batch(ctx, id_of(request, "batch_id"))
    return page("catalog/bulk/batch.html", page_context, batch=batch)


async def undo(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    batch = await batches.get_batch(ctx, id_of(request, "batch_id"))
    await batches.undo_batch(ctx, batch.id)
    return redirect(f"{PATH}/{batch.id}")
