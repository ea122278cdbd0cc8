"""Builds the quote of a draft, which shows what the order would cost, and mails it to the customer.

The PDF is stored as it was mailed; other quotes are not stored.
"""

from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from shop.actions.audit import audit
from shop.actions.cart.orders import load_checkout
from shop.actions.checkout.views import explain_current_totals
from shop.actions.context import Context
from shop.actions.documents.invoices import build_content
from shop.actions.drafts.drafts import lock_draft
from shop.actions.drafts.placement import version_of
from shop.actions.event_subjects import ORDER
from shop.actions.events import note_event
from shop.actions.mail_events import queue_mails
from shop.base.errors import Conflict, Forbidden, Invalid
from shop.models.cart.orders import Order
from shop.models.documents.invoices import InvoiceAdjustment, InvoiceContent
from shop.models.order_edits.notes import order_notes
from shop.queries import writes
from shop.queries.checkout import adjustments
from shop.queries.order_edits import notes
from shop.rules.mail_events import DRAFT_QUOTE, MailRequest

VALIDITY = timedelta(days=30)
MAX_QUOTES = 20
"""The number of quotes of a draft that can be mailed."""
MAX_NOTE_LENGTH = 2000
QUOTE_CONFLICT = "The draft has changed since this page was loaded. Check it, and mail the quote again."
NOT_COMPLETE = "The draft needs items and an e-mail address first."


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


async def mail_quote(ctx: Context, draft: Order, version: str, quote_id: UUID, text: str, file: bytes) -> None:
    """Queues the e-mail with the PDF of a draft that the page showed at `version`; the same quote again sends nothing.
    The PDF was rendered from `draft`: a draft that changed in the meantime is refused.
    """
    if ctx.actor.id is None:
        raise Forbidden()
    async with ctx.db.transaction():
        order = await lock_draft(ctx, draft.id)
        former_quote = await notes.find_note(ctx.db, quote_id)
        if former_quote and former_quote.order_id == order.id:
            return
        if former_quote or not version == version_of(order) == version_of(draft):
            raise Conflict(QUOTE_CONFLICT)
        if not order.email or not order.item_count:
            raise Invalid({"quote_note": [NOT_COMPLETE]}, NOT_COMPLETE)
        if await notes.count_notes(ctx.db, order.id) >= MAX_QUOTES:
            sentence = f"At most {MAX_QUOTES} quotes of a draft can be mailed."
            raise Invalid({"quote_note": [sentence]}, sentence)
        values = {"order_id": order.id, "author_id": ctx.actor.id, "kind": "quote", "text": text, "file": file}
        await writes.insert_record(ctx.db, order_notes, quote_id, values)
        mail = MailRequest(kind=DRAFT_QUOTE, ref_id=quote_id, order_id=order.id, is_free=True)
        await queue_mails(ctx, [mail])
        note_event(ctx, "order.quote_sent", ORDER, order.id)
        await audit(ctx, "draft_quote_mail", "done", subject_id=order.id)
