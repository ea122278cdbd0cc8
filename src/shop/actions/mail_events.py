"""Queues the e-mails that events cause."""

from collections.abc import Sequence

from shop.actions.context import Context
from shop.queries.operations import outbox
from shop.rules.mail_events import CONFIRMATION, MailRequest


async def queue_mails(ctx: Context, mails: Sequence[MailRequest]) -> int:
    """Queues the e-mails that are turned on, in the caller's transaction; at most one of a kind about a record. Returns
    their number.
    """
    distinct = {(each.kind, each.ref_id, each.recipient): each for each in mails if is_mail_on(ctx, each.kind)}
    if not distinct:
        return 0
    # Webhooks and the worker have no source to count.
    is_shopper = ctx.claim.cart_id is not None or ctx.claim.bearer is not None
    source = ctx.origin.source if is_shopper else None
    mail_ids = await outbox.insert_mails(ctx.db, list(distinct.values()), source)
    ctx.db.wakes.add(ctx.shared.mail_queued)
    return len(mail_ids)


def is_mail_on(ctx: Context, kind: str) -> bool:
    """Returns whether e-mails of this kind are sent."""
    is_disabled = kind == CONFIRMATION and ctx.shared.settings.order_mail == "off"
    return not is_disabled and ctx.shared.shop.mail_settings(kind).is_on
