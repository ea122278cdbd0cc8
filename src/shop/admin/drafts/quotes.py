"""The quote of a draft as a printable page, as PDF and by e-mail."""

from functools import partial

from shop.actions.context import Context
from shop.actions.drafts.quotes import MAX_NOTE_LENGTH, get_quote, mail_quote
from shop.admin.drafts.changes import refuse_change
from shop.admin.drafts.drafts import find_draft, path_of
from shop.admin.fields import Fields
from shop.admin.orders.document_pdf import render_quote, run_renderer
from shop.admin.orders.documents import find_paper, pdf_reply
from shop.admin.pages import PageContext, page, redirect
from shop.base.errors import Conflict, Invalid, NotFound
from shop.base.ids import new_id
from shop.models.cart.orders import Order
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
    return pdf_reply(f"quote-{order.number}", await _render_pdf(ctx, page_context, order))


async def send_quote(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    order = await find_draft(request, ctx)
    if isinstance(order, Reply):
        return order
    fields = Fields(request)
    text = fields.prose("quote_note", most=MAX_NOTE_LENGTH)
    quote_id, version = fields.id("quote_id") or new_id(), fields.texts.get("version", "")
    try:
        fields.check()
        await mail_quote(ctx, order, version, quote_id, text, await _render_pdf(ctx, page_context, order))
    except (Invalid, Conflict, NotFound) as error:
        return await refuse_change(request, ctx, page_context, fields, error)
    return redirect(f"{path_of(order)}?done=quote")


async def _render_pdf(ctx: Context, page_context: PageContext, order: Order) -> bytes:
    render = partial(render_quote, await get_quote(ctx, order), find_paper(page_context.shop))
    return await run_renderer(render)
