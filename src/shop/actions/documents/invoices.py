"""Issues invoices and credit notes, with gapless numbers.

The transaction locks the order, then the counter of the series; another one that needs a number of this series waits.
If it fails, the counter returns to its last number. Completing an order takes no number.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from shop.actions.audit import audit
from shop.actions.cart.orders import Checkout, load_checkout
from shop.actions.context import Context
from shop.actions.documents.documents import get_seller
from shop.actions.event_subjects import INVOICE
from shop.actions.events import note_replacement
from shop.actions.setup.shop import get_shop
from shop.base.errors import Invalid, NotFound
from shop.base.ids import new_id
from shop.base.times import day_of, find_display_zone
from shop.models.cart.orders import LineItem, Order
from shop.models.checkout.shipments import Shipment
from shop.models.documents.invoices import Invoice, InvoiceContent, InvoiceKind, InvoiceLine, InvoiceSummary
from shop.models.setup.shop import Shop
from shop.queries.cart import orders
from shop.queries.customers import users
from shop.queries.documents import invoices as queries
from shop.queries.orders.pages import list_refunds
from shop.rules.documents.documents import recipient_lines
from shop.rules.documents.invoices import (
    Credit,
    build_tax_rows,
    find_credit,
    find_rate_name,
    list_adjustments,
    list_credits,
    name_rates,
    share_tax_rows,
)
from shop.rules.setup.documents import format_number, name_series


class OrderDocuments(msgspec.Struct, frozen=True):
    """The invoice of an order, its credit notes, and what can be credited."""

    invoice: Invoice | None = None
    credit_notes: Sequence[Invoice] = ()
    open_credits: Sequence[Credit] = ()


async def load_documents(ctx: Context, order: Order) -> OrderDocuments:
    rows = await queries.list_invoices(ctx.db, order.id)
    invoice = next((row for row in rows if row.kind == "invoice"), None)
    if invoice is None:
        return OrderDocuments()
    notes = [row for row in rows if row.kind == "credit_note"]
    refunds = await list_refunds(ctx.db, order.id)
    open_credits = list_credits(invoice, notes, refunds, is_canceled=order.canceled_at is not None)
    return OrderDocuments(invoice, notes, open_credits)


async def get_credit_note(ctx: Context, order: Order, number: str) -> Invoice:
    """Returns a credit note of this order by number."""
    for row in await queries.list_invoices(ctx.db, order.id):
        if row.kind == "credit_note" and row.number == number:
            return row
    raise NotFound()


async def issue_invoice(ctx: Context, order_id: UUID) -> Invoice:
    """Issues the invoice of a completed order, or returns the one that it has."""
    async with ctx.db.transaction():
        order = await _lock_order(ctx, order_id)
        documents = await load_documents(ctx, order)
        if documents.invoice:
            return documents.invoice
        if order.completed_at is None:
            raise _refusal("Only a completed order can have an invoice.")
        if order.canceled_at is not None:
            raise _refusal("The order is canceled, so that it needs no invoice.")
        shop = await get_shop(ctx)
        steps = (order.explained or {}).get("steps", [])
        content = await build_content(ctx, shop, await load_checkout(ctx, order), steps)
        return await _insert(ctx, shop, order, "invoice", content)


async def issue_credit_note(ctx: Context, order_id: UUID, refund_id: UUID | None) -> Invoice:
    """Issues the credit note of a refund, or without one that of a canceled order; returns the one that exists."""
    async with ctx.db.transaction():
        order = await _lock_order(ctx, order_id)
        documents = await load_documents(ctx, order)
        if documents.invoice is None:
            raise _refusal("The order has no invoice that could be corrected.")
        for note in documents.credit_notes:
            if note.refund_id == refund_id:
                return note
        credit = find_credit(documents.open_credits, refund_id)
        if credit is None:
            raise _refusal("Nothing of the invoice is left to credit for this.")
        content = _build_credit_content(documents.invoice, documents.credit_notes, credit)
        return await _insert(ctx, await get_shop(ctx), order, "credit_note", content, refund_id)


def _refusal(sentence: str) -> Invalid:
    return Invalid({"base": [sentence]}, sentence)


async def _lock_order(ctx: Context, order_id: UUID) -> Order:
    order = await orders.lock_order(ctx.db, order_id)
    if order is None:
        raise NotFound()
    return order


async def _insert(
    ctx: Context,
    shop: Shop,
    order: Order,
    kind: InvoiceKind,
    content: InvoiceContent,
    refund_id: UUID | None = None,
) -> Invoice:
    settings, at = shop.document_settings, await queries.get_time(ctx.db)
    prefix = settings.invoice_prefix if kind == "invoice" else settings.credit_note_prefix
    series = name_series(prefix, day_of(at, find_display_zone(content.time_zone)).year)
    running_number = await queries.take_number(ctx.db, series)
    number = format_number(series, running_number, settings.digits)
    values: dict[str, Any] = {"series": series, "running_number": running_number, "number": number}
    amounts = {"currency": content.currency, "total": content.total, "content": msgspec.to_builtins(content)}
    invoice = await queries.insert_invoice(
        ctx.db,
        id=new_id(),
        order_id=order.id,
        kind=kind,
        refund_id=refund_id,
        issued_at=at,
        actor_kind=ctx.actor.kind,
        actor_id=ctx.actor.id,
        **values,
        **amounts,
    )
    names = InvoiceSummary.__struct_fields__
    note_replacement(ctx, INVOICE, None, InvoiceSummary(**{name: getattr(invoice, name) for name in names}))
    detail = {"number": number}
    await audit(ctx, f"{kind}_issue", "done", subject_id=order.id, detail=detail, record_id=invoice.id)
    return invoice


async def build_content(
    ctx: Context, shop: Shop, checkout: Checkout, steps: Sequence[Mapping[str, Any]]
) -> InvoiceContent:
    """Returns what an invoice or a quote prints; `steps` are those of the calculation of the total."""
    order = checkout.order
    ids = [address_id for address_id in {order.bill_address_id, order.ship_address_id} if address_id]
    addresses = await users.find_addresses(ctx.db, ids) if ids else {}
    bill_to, ship_to = (
        recipient_lines(addresses.get(address_id) if address_id else None)
        for address_id in (order.bill_address_id, order.ship_address_id)
    )
    shipments = [] if order.pickup_location_id else checkout.shipments
    parts: list[LineItem | Shipment] = [*checkout.lines, *shipments]
    tax_rows = build_tax_rows(parts, name_rates(steps), order.total)
    lines = _build_lines(checkout, name_rates(steps))
    rest = order.total - order.additional_tax_total - sum(line.amount for line in lines)
    return InvoiceContent(
        seller=await get_seller(ctx, shop),
        # A customer who picks up the goods may have no address; the location is not the one who pays.
        bill_to=bill_to or (() if order.pickup_location_id else ship_to),
        ship_to=ship_to if (bill_to or order.pickup_location_id) and ship_to != bill_to else (),
        email=order.email or "",
        order_number=order.number,
        order_date=order.completed_at or order.created_at,
        time_zone=shop.time_zone,
        currency=order.currency,
        locale=shop.default_locale,
        lines=lines,
        adjustments=list_adjustments(steps, rest),
        additional_tax_total=order.additional_tax_total,
        tax_rows=tax_rows,
        total=order.total,
    )


def _build_lines(checkout: Checkout, rate_names: dict[str, str]) -> list[InvoiceLine]:
    lines = [
        InvoiceLine(
            line.name,
            line.options_text,
            line.sku,
            line.quantity,
            line.price or 0,
            line.promo_total,
            find_rate_name(rate_names, line),
            line.discounted_amount,
        )
        for line in checkout.lines
    ]
    methods = {rate.shipment_id: rate.name for rate in checkout.rates if rate.is_selected}
    for shipment in [] if checkout.order.pickup_location_id else checkout.shipments:
        cost, discount = shipment.cost, shipment.promo_total
        tax, method = find_rate_name(rate_names, shipment), methods.get(shipment.id, "")
        lines.append(InvoiceLine("Shipping", method, "", 1, cost, discount, tax, cost + discount))
    return lines


def _build_credit_content(invoice: Invoice, notes: Sequence[Invoice], credit: Credit) -> InvoiceContent:
    content = invoice.document
    credited = sum(note.total for note in notes)
    rows = share_tax_rows(content.tax_rows, credited, credit.amount)
    name = f"Refund of invoice {invoice.number}" if credit.refund else f"Cancellation of invoice {invoice.number}"
    return msgspec.structs.replace(
        content,
        lines=[InvoiceLine(name, credit.reason if credit.refund else "", price=credit.amount, amount=credit.amount)],
        adjustments=[],
        additional_tax_total=0,
        tax_rows=rows,
        total=credit.amount,
        invoice_number=invoice.number,
        reason=credit.reason,
    )
