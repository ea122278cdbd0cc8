"""Queues the e-mails that events cause."""

from collections.abc import Sequence

from shop.actions.context import Context
from shop.queries import event_mails
from shop.rules.mail_events import CONFIRMATION, MailRequest


async def queue_mails(ctx: Context, mails: Sequence[MailRequest]) -> int:
    """Queues the e-mails that are turned on, in the caller's transaction; at most one of a kind about a record. Returns
    their number.
    """
    selected_mails = select_mails(ctx, mails)
    if not selected_mails:
        return 0
    return len(await event_mails.insert_mails(ctx.db, selected_mails, mail_source(ctx)))


def select_mails(ctx: Context, mails: Sequence[MailRequest]) -> list[MailRequest]:
    """Returns the e-mails to queue in the caller's transaction, which wakes their delivery."""
    distinct = {(each.kind, each.ref_id, each.recipient): each for each in mails if is_mail_on(ctx, each.kind)}
    if distinct:
        ctx.db.wakes.add(ctx.shared.mail_queued)
    return list(distinct.values())


def mail_source(ctx: Context) -> str | None:
    """Returns the source of the request for the mail budget. Webhooks and the worker have no source to count."""
    is_shopper = ctx.claim.cart_id is not None or ctx.claim.bearer is not None
    return ctx.origin.source if is_shopper else None


def is_mail_on(ctx: Context, kind: str) -> bool:
    """Returns whether e-mails of this kind are sent."""
    is_disabled = kind == CONFIRMATION and ctx.shared.settings.order_mail == "off"
    return not is_disabled and ctx.shared.shop.mail_settings(kind).is_on
