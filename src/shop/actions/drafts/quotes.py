"""Builds the quote of a draft, which shows what the order would cost; nothing of it is stored."""

from datetime import datetime, timedelta

import msgspec

from shop.actions.cart.orders import load_checkout
from shop.actions.checkout.views import explain_current_totals
from shop.actions.context import Context
from shop.actions.documents.invoices import build_content
from shop.models.cart.orders import Order
from shop.models.documents.invoices import InvoiceAdjustment, InvoiceContent
from shop.queries.checkout import adjustments

VALIDITY = timedelta(days=30)


class DraftQuote(msgspec.Struct, frozen=True):
    """A quote: the amounts of a draft, the day of its last change, and how long the shop offers it."""

    content: InvoiceContent
    date: datetime
    valid_until: datetime
    has_shipping: bool


async def get_quote(ctx: Context, order: Order) -> DraftQuote:
    checkout = await load_checkout(ctx, order)
    steps = (await explain_current_totals(ctx, checkout)).steps
    content = await build_content(ctx, ctx.shared.shop, checkout, steps)
    manual = [
        InvoiceAdjustment(each.label, each.amount) for each in (await adjustments.list_manual(ctx.db, order.id))[::-1]
    ]
    others = [each for each in content.adjustments if each.label != "Adjustment"]
    if sum(each.amount for each in (*manual, *others)) == sum(each.amount for each in content.adjustments):
        # The reason of each discount instead of their sum.
        content = msgspec.structs.replace(content, adjustments=[*others, *manual])
    return DraftQuote(content, order.updated_at, order.updated_at + VALIDITY, bool(checkout.shipments))
