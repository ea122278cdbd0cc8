"""Documents of orders as printable pages and as PDF: invoices, credit notes, packing slips and pick lists."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any
from urllib.parse import quote

from shop.actions.context import Context
from shop.actions.documents import documents, invoices
from shop.actions.orders import pages as order_pages
from shop.admin.fields import Fields
from shop.admin.listing import text_param
from shop.admin.orders.document_pdf import TITLES, render_invoice, render_pick_list, render_slips, run_renderer
from shop.admin.orders.orders import LABELS, address_of, order_page
from shop.admin.pages import PageContext, confirmation_page, money, page, redirect
from shop.base.errors import Invalid, NotFound
from shop.base.ids import as_uuid
from shop.models.cart.orders import Order
from shop.models.documents.invoices import Invoice
from shop.models.setup.shop import Shop
from shop.rules.documents.documents import MAX_ORDERS, paper_of, parse_numbers
from shop.rules.documents.invoices import find_credit
from shop.web.input.request import Request
from shop.web.reply import DASHBOARD_HEADERS, NO_STORE, Reply

PATH = "/admin/documents"
SETTINGS = "/admin/settings/documents"
MAX_NUMBERS_LENGTH = 8_000
_PDF = b"application/pdf"
_LABELS = {"numbers": "Order numbers", "base": "The document"}


async def show_invoice(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    """Shows the invoice, or asks whether to issue it."""
    order = await _get_order(request, ctx)
    invoice = (await invoices.load_documents(ctx, order)).invoice
    if invoice is None:
        return _issue_page(page_context, order)
    return _invoice_page(page_context, order, invoice, f"{address_of(order)}/invoice.pdf")


async def issue_invoice(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    order = await _get_order(request, ctx)
    try:
        await invoices.issue_invoice(ctx, order.id)
    except Invalid as error:
        return _issue_page(page_context, order, 422, error.errors)
    return redirect(f"{address_of(order)}/invoice")


async def show_invoice_pdf(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    invoice = (await invoices.load_documents(ctx, await _get_order(request, ctx))).invoice
    if invoice is None:
        raise NotFound()
    return await _invoice_pdf(ctx, invoice)


async def show_credit(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    """Asks whether to issue the credit note of a refund or of a canceled order."""
    order = await _get_order(request, ctx)
    refund_id = as_uuid(text_param(request, "refund_id"))
    credit = find_credit((await invoices.load_documents(ctx, order)).open_credits, refund_id)
    if credit is None:
        return redirect(address_of(order))
    amount = money(credit.amount, order.currency, page_context.shop.default_locale)
    return confirmation_page(
        page_context,
        question=f"Issue a credit note for {amount}?",
        sentence=f"Reason: {credit.reason.rstrip('.')}. The credit note gets the next number and cannot be changed"
        " later.",
        action=f"{address_of(order)}/credit-notes",
        button="Issue credit note",
        back=(address_of(order), f"Order {order.number}"),
        hidden_fields={"refund_id": str(refund_id or "")},
        tone="main",
        lacks_address=not page_context.shop.document_settings.has_address,
    )


async def issue_credit_note(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    order = await _get_order(request, ctx)
    try:
        note = await invoices.issue_credit_note(ctx, order.id, Fields(request).id("refund_id"))
    except Invalid as error:
        errors = {"base": error.errors.get("base", [error.sentence])}
        return await order_page(ctx, page_context, order, 422, errors=errors)
    return redirect(f"{address_of(order)}/credit-notes/{quote(note.number, safe='')}")


async def show_credit_note(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    order, number = await _get_order(request, ctx), request.path_params["document"]
    note = await invoices.get_credit_note(ctx, order, number.removesuffix(".pdf"))
    if number.endswith(".pdf"):
        return await _invoice_pdf(ctx, note)
    path = f"{address_of(order)}/credit-notes/{quote(note.number, safe='')}.pdf"
    return _invoice_page(page_context, order, note, path)


async def show_packing_slip(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    order = await _get_order(request, ctx)
    return await _slip_page(
        ctx,
        page_context,
        await documents.get_packing_slips(ctx, order),
        title=f"Packing slip for order {order.number}",
        back=(address_of(order), f"Order {order.number}"),
        pdf_path=f"{address_of(order)}/packing-slip.pdf",
    )


async def show_packing_slip_pdf(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    order = await _get_order(request, ctx)
    slips = await documents.get_packing_slips(ctx, order)
    return await _slip_pdf(ctx, page_context, slips, f"packing-slip-{order.number}")


async def show_packing_slips(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    async def answer(numbers: list[str]) -> Reply:
        slips = await documents.list_packing_slips(ctx, numbers)
        return await _slip_page(
            ctx,
            page_context,
            slips,
            title="Packing slips",
            back=("/admin/orders", "Orders"),
            pdf_path=_path_of("packing-slips.pdf", numbers),
        )

    return await _answer_numbers(request, page_context, "packing-slips", "Packing slips", answer)


async def show_packing_slips_pdf(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    async def answer(numbers: list[str]) -> Reply:
        return await _slip_pdf(ctx, page_context, await documents.list_packing_slips(ctx, numbers), "packing-slips")

    return await _answer_numbers(request, page_context, "packing-slips", "Packing slips", answer)


async def show_pick_list(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    async def answer(numbers: list[str]) -> Reply:
        return page(
            "orders/documents/pick_list.html",
            page_context,
            pick_list=await documents.get_pick_list(ctx, numbers),
            title="Pick list",
            back=("/admin/orders", "Orders"),
            pdf_path=_path_of("pick-list.pdf", numbers),
            has_address=True,
        )

    return await _answer_numbers(request, page_context, "pick-list", "Pick list", answer)


async def show_pick_list_pdf(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    async def answer(numbers: list[str]) -> Reply:
        pick_list, shop = await documents.get_pick_list(ctx, numbers), page_context.shop
        render = partial(render_pick_list, pick_list, find_paper(shop), shop.default_locale)
        return pdf_reply("pick-list", await run_renderer(render))

    return await _answer_numbers(request, page_context, "pick-list", "Pick list", answer)


async def _answer_numbers(
    request: Request,
    page_context: PageContext,
    name: str,
    title: str,
    answer: Callable[[list[str]], Awaitable[Reply]],
) -> Reply:
    """Answers with the document of the orders in `numbers`; asks for them if there are none or they are invalid."""
    value = request.params.get("numbers")
    text = value[:MAX_NUMBERS_LENGTH] if isinstance(value, str) else ""
    numbers = parse_numbers(text)
    errors: Any = {}
    if numbers:
        try:
            return await answer(numbers)
        except Invalid as error:
            errors = error.errors
    context = {"path": f"{PATH}/{name}", "title": title, "numbers": text, "most": MAX_ORDERS, "labels": _LABELS}
    return page("orders/documents/choose.html", page_context, 422 if errors else 200, **context, errors=errors)


async def _get_order(request: Request, ctx: Context) -> Order:
    """Returns a completed order; a cart has no documents."""
    order = await order_pages.get_order(ctx, request.path_params["number"])
    if order.completed_at is None:
        raise NotFound()
    return order


def _issue_page(page_context: PageContext, order: Order, status: int = 200, errors: Any = None) -> Reply:
    return page(
        "orders/documents/issue.html",
        page_context,
        status,
        order=order,
        here=address_of(order),
        has_address=page_context.shop.document_settings.has_address,
        errors=errors or {},
        labels=LABELS,
    )


def _invoice_page(page_context: PageContext, order: Order, invoice: Invoice, pdf_path: str) -> Reply:
    return page(
        "orders/documents/invoice.html",
        page_context,
        invoice=invoice,
        content=invoice.document,
        title=f"{TITLES[invoice.kind]} {invoice.number}",
        back=(address_of(order), f"Order {order.number}"),
        pdf_path=pdf_path,
        has_address=True,
    )


async def _slip_page(ctx: Context, page_context: PageContext, slips: Any, **values: Any) -> Reply:
    return page(
        "orders/documents/packing_slips.html",
        page_context,
        slips=slips,
        seller=await documents.get_seller(ctx),
        has_address=page_context.shop.document_settings.has_address,
        **values,
    )


async def _invoice_pdf(ctx: Context, invoice: Invoice) -> Reply:
    render = partial(render_invoice, invoice, find_paper(ctx.shared.shop))
    return pdf_reply(invoice.number, await run_renderer(render))


async def _slip_pdf(ctx: Context, page_context: PageContext, slips: Any, name: str) -> Reply:
    shop = page_context.shop
    seller = await documents.get_seller(ctx)
    render = partial(render_slips, slips, seller, find_paper(shop), shop.default_locale, shop.zone)
    return pdf_reply(name, await run_renderer(render))


def find_paper(shop: Shop) -> str:
    return paper_of(shop.document_settings.country or shop.default_country)


def _path_of(name: str, numbers: list[str]) -> str:
    return f"{PATH}/{name}?numbers={quote(','.join(numbers), safe=',')}"


def pdf_reply(name: str, data: bytes) -> Reply:
    """Returns a PDF that browsers show; `name` may contain what the number of an order contains."""
    safe_name = "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in "._-") else "-" for letter in name
    )
    disposition = (b"content-disposition", f'inline; filename="{safe_name}.pdf"'.encode("ascii"))
    return Reply(200, data, ((b"content-type", _PDF), NO_STORE, disposition), security=DASHBOARD_HEADERS)
