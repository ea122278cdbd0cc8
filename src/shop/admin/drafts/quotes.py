"""The quote of a draft as a printable page and as PDF."""

from functools import partial

from shop.actions.context import Context
from shop.actions.drafts.quotes import get_quote
from shop.admin.drafts.drafts import find_draft, path_of
from shop.admin.orders.document_pdf import render_quote, run_renderer
from shop.admin.orders.documents import find_paper, pdf_reply
from shop.admin.pages import PageContext, page
from shop.web.input.request import Request
from shop.web.reply import Reply


async def show_quote(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    order = await find_draft(request, ctx)
    if isinstance(order, Reply):
        return order
    return page(
        "drafts/quote.html",
        page_context,
        quote=await get_quote(ctx, order),
        title=f"Quote {order.number}",
        back=(path_of(order), f"Draft {order.number}"),
        pdf_path=f"{path_of(order)}/quote.pdf",
        has_address=page_context.shop.document_settings.has_address,
    )


async def show_quote_pdf(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    order = await find_draft(request, ctx)
    if isinstance(order, Reply):
        return order
    render = partial(render_quote, await get_quote(ctx, order), find_paper(page_context.shop))
    return pdf_reply(f"quote-{order.number}", await run_renderer(render))
