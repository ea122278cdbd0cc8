"""Finds out with one statement which background work is due, and wakes the loops that do it."""

from shop.actions.context import Shared
from shop.actions.payments.settlement import RETRY_SECONDS, SETTLE_SECONDS
from shop.queries.operations.due_work import find_due_work

_LOOPS = ("tasks", "batches", "imports", "erasures", "merges", "webhooks", "extension_webhooks")


async def signal_due_work(shared: Shared) -> None:
    """Wakes the loops of this process whose work is due."""
    due = await find_due_work(shared.database.session(), age=SETTLE_SECONDS, pause=RETRY_SECONDS)
    if due is None:
        return
    if due.mails:
        shared.mail_queued.set()
    if due.events:
        shared.event_tail.pending.set()
    if due.numbered_events:
        shared.event_tail.wake()
    if due.shop_version != shared.shop.version:
        shared.work_signals.wake("shop")
    for kind in _LOOPS:
        if getattr(due, kind):
            shared.work_signals.wake(kind)
