"""Renders invoices, credit notes, packing slips and pick lists as PDF, in a thread of their own."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, tzinfo

from shop.actions.documents.documents import PackingSlip, PickList
from shop.actions.drafts.quotes import DraftQuote
from shop.admin.orders.pdf_page import LARGE, MARGIN, NORMAL, SMALL, PdfColumn, PdfPages
from shop.base.money import money_text
from shop.base.times import find_display_zone, format_day
from shop.models.documents.invoices import Invoice, InvoiceContent, Seller
from shop.rules.documents.documents import PickedItem

TITLES = {"invoice": "Invoice", "credit_note": "Credit note"}
_LINE_COLUMNS = (
    PdfColumn("Item", 0.33),
    PdfColumn("SKU", 0.17),
    PdfColumn("Quantity", 0.09, "right"),
    PdfColumn("Price", 0.13, "right"),
    PdfColumn("Tax", 0.14, "right"),
    PdfColumn("Amount", 0.14, "right"),
)
_TAX_COLUMNS = (
    PdfColumn("Tax", 0.46),
    PdfColumn("Net", 0.18, "right"),
    PdfColumn("Tax", 0.18, "right"),
    PdfColumn("Gross", 0.18, "right"),
)
_SLIP_COLUMNS = (PdfColumn("Quantity", 0.12), PdfColumn("Item", 0.6), PdfColumn("SKU", 0.28))
_PICK_COLUMNS = (
    PdfColumn("Quantity", 0.11),
    PdfColumn("Item", 0.33),
    PdfColumn("SKU", 0.2),
    PdfColumn("Orders", 0.36),
)
_ROW_ORDERS = 10
# One at a time: a burst of documents must not take the processor from the requests of customers.
_pool = ThreadPoolExecutor(1, thread_name_prefix="documents")


async def run_renderer(render: Callable[[], bytes]) -> bytes:
    """Renders a document without blocking other requests."""
    return await asyncio.get_running_loop().run_in_executor(_pool, render)


def render_invoice(invoice: Invoice, paper: str) -> bytes:
    content = invoice.document
    date, order_date = (_format_day(content, each) for each in (invoice.issued_at, content.order_date))
    facts = [f"Date: {date}", f"Order {content.order_number} of {order_date}"]
    if content.invoice_number:
        facts.append(f"For invoice {content.invoice_number}")
    return _render_content(content, f"{TITLES[invoice.kind]} {invoice.number}", facts, paper)


def render_quote(quote: DraftQuote, paper: str) -> bytes:
    date, last_date = (_format_day(quote.content, each) for each in (quote.date, quote.valid_until))
    facts = [f"Date: {date}", f"Valid until: {last_date}"]
    if not quote.has_shipping:
        facts.append("Without shipping costs, which depend on the address.")
    return _render_content(quote.content, f"Quote {quote.content.order_number}", facts, paper)


def _format_day(content: InvoiceContent, moment: datetime) -> str:
    return format_day(moment, find_display_zone(content.time_zone))


def _render_content(content: InvoiceContent, title: str, facts: Sequence[str], paper: str) -> bytes:
    pages = PdfPages(title, paper, content.locale)
    _draw_seller(pages, content.seller)
    _draw_addresses(pages, content)
    pages.paragraph(title, size=LARGE, is_bold=True)
    pages.skip(4)
    for fact in facts:
        pages.paragraph(fact)
    pages.skip(12)
    _draw_amounts(pages, content)
    return pages.finish()


def _draw_seller(pages: PdfPages, seller: Seller) -> None:
    pages.paragraph(seller.name, is_bold=True, align="right")
    numbers = [f"{each.label}: {each.number}" for each in seller.tax_numbers]
    for line in [*seller.address, seller.email, *numbers]:
        pages.paragraph(line, size=SMALL, align="right")
    pages.skip(16)


def _draw_addresses(pages: PdfPages, content: InvoiceContent) -> None:
    top, half = pages.y, pages.inner_width / 2
    lowest = top
    for number, (label, lines) in enumerate([("Bill to", content.bill_to), ("Ship to", content.ship_to)]):
        if lines:
            pages.y = top
            _draw_block(pages, label, lines, x=MARGIN + number * half, width=half - 12)
            lowest = min(lowest, pages.y)
    pages.y = lowest
    pages.skip(24)


def _draw_block(pages: PdfPages, label: str, lines: Sequence[str], *, x: float = MARGIN, width: float) -> None:
    pages.paragraph(label, size=SMALL, is_bold=True, x=x, width=width)
    for line in lines:
        pages.paragraph(line, x=x, width=width)


def _draw_amounts(pages: PdfPages, content: InvoiceContent) -> None:
    money = money_text(content.currency, content.locale)
    rows = [
        [
            _join(line.name, line.detail, f"Discount {money(line.discount)}" if line.discount else ""),
            line.sku,
            str(line.quantity),
            money(line.price),
            line.tax,
            money(line.amount),
        ]
        for line in content.lines
    ]
    rows += [[each.label, "", "", "", "", money(each.amount)] for each in content.adjustments]
    if content.additional_tax_total:
        rows.append(["Taxes", "", "", "", "", money(content.additional_tax_total)])
    rows.append(["Total", "", "", "", "", money(content.total)])
    pages.table(_LINE_COLUMNS, rows, bold_rows=frozenset({len(rows) - 1}))
    pages.skip(20)
    tax_rows = [[row.label, money(row.net), money(row.tax), money(row.gross)] for row in content.tax_rows]
    tax_rows.append(["Total", money(content.net_total), money(content.tax_total), money(content.total)])
    pages.table(_TAX_COLUMNS, tax_rows, bold_rows=frozenset({len(tax_rows) - 1}))


def render_slips(slips: Sequence[PackingSlip], seller: Seller, paper: str, locale: str, zone: tzinfo) -> bytes:
    """Renders packing slips, each on pages of its own."""
    pages = PdfPages("Packing slips" if len(slips) > 1 else "Packing slip", paper, locale)
    for number, slip in enumerate(slips):
        if number:
            pages.new_page()
        pages.set_footer(f"Order {slip.order_number} {slip.shipment_number}")
        _draw_slip(pages, slip, seller, zone)
    if not slips:
        pages.paragraph("Nothing to pack: all shipments are canceled.")
    return pages.finish()


def _draw_slip(pages: PdfPages, slip: PackingSlip, seller: Seller, zone: tzinfo) -> None:
    _draw_seller(pages, seller)
    if slip.ship_to:
        _draw_block(pages, "Ship to", slip.ship_to, width=pages.inner_width)
        pages.skip(24)
    pages.paragraph(f"Packing slip for order {slip.order_number}", size=LARGE, is_bold=True)
    pages.skip(4)
    facts = [
        f"Order date: {format_day(slip.order_date, zone)}" if slip.order_date else "",
        _join(f"Shipment {slip.shipment_number}" if slip.shipment_number else "", slip.method, slip.location_name),
        f"Tracking: {slip.tracking}" if slip.tracking else "",
        f"Instructions: {slip.instructions}" if slip.instructions else "",
    ]
    for fact in filter(None, facts):
        pages.paragraph(fact)
    pages.skip(12)
    rows = [
        [
            str(quantity),
            _join(line.name, line.options_text, f"{backordered} backordered" if backordered else ""),
            line.sku,
        ]
        for line, quantity, backordered in slip.lines
    ]
    pages.table(_SLIP_COLUMNS, rows)


def render_pick_list(pick_list: PickList, paper: str, locale: str) -> bytes:
    pages = PdfPages("Pick list", paper, locale)
    pages.paragraph("Pick list", size=LARGE, is_bold=True)
    pages.skip(4)
    pages.paragraph(f"{len(pick_list.numbers)} orders" if len(pick_list.numbers) != 1 else "1 order")
    for location in pick_list.locations:
        pages.skip(16)
        pages.paragraph(location.name, size=NORMAL + 3, is_bold=True)
        pages.skip(4)
        rows = [row for item in location.items for row in _pick_rows(item)]
        pages.table(_PICK_COLUMNS, rows)
    if not pick_list.locations:
        pages.skip(16)
        pages.paragraph("Nothing to pick: everything is shipped or canceled.")
    return pages.finish()


def _pick_rows(item: PickedItem) -> list[list[str]]:
    """Returns the row of a variant, and more rows if many orders need it: no row is longer than a page."""
    text = _join(item.name, item.options_text, f"{item.backordered} backordered" if item.backordered else "")
    orders = [f"{number}\u00a0\u00d7\u00a0{quantity}" for number, quantity in item.orders]
    parts = [", ".join(orders[start : start + _ROW_ORDERS]) for start in range(0, len(orders), _ROW_ORDERS)]
    return [[str(item.quantity), text, item.sku, parts[0]], *(["", "", "", part] for part in parts[1:])]


def _join(*texts: str) -> str:
    return " · ".join(filter(None, texts))
