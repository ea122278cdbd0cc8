"""Queues e-mails to owners of wishlists when a product is back in stock: in the background, in small batches."""

from shop.actions.context import Context, Shared
from shop.actions.event_subjects import WISHED_ITEM
from shop.actions.events import note_rows
from shop.actions.mail_events import is_mail_on, queue_mails
from shop.base.actor import SHOP_ACTOR
from shop.queries.customers import restocks
from shop.rules.mail_events import BACK_IN_STOCK, MailRequest

BATCH = 100


async def queue_back_in_stock(shared: Shared) -> int:
    """Queues the e-mails of one batch; returns their number. Each answers one request, which it resets."""
    ctx = Context(shared)
    ctx.actor = SHOP_ACTOR
    async with ctx.db.transaction():
        variant_id = await restocks.lock_next(ctx.db)
        if variant_id is None:
            return 0
        # While the e-mail is turned off, the requests remain for the next time.
        is_on = is_mail_on(ctx, BACK_IN_STOCK)
        items = await restocks.lock_waiting_items(ctx.db, variant_id, BATCH) if is_on else []
        emails = sorted({item.email for item in items})
        if len(emails) < BATCH:
            await restocks.delete_restocked(ctx.db, variant_id)
        if items:
            ids = [item.id for item in items]
            await note_rows(ctx, WISHED_ITEM, ids)
            await restocks.reset_items(ctx.db, ids)
            # It spends the budget: shoppers cause a restock too, when their reservation of the last item ends.
            mails = [MailRequest(kind=BACK_IN_STOCK, ref_id=variant_id, recipient=email) for email in emails]
            await queue_mails(ctx, mails)
    return len(emails)
