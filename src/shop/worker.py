"""Background loops: e-mail delivery, event numbers, webhooks, the index of orders, due tasks, imports, bulk operations,
figures of reports, housekeeping, backups, the archive and the orders of a demo shop.

They run in every serving process and in `shop worker`.
"""

import asyncio
import contextlib
from collections.abc import Coroutine
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

import structlog

from shop.actions.catalog.products import update_due_products
from shop.actions.checkout.stock_holds import release_due
from shop.actions.context import Context, Shared
from shop.actions.customers.restocks import BATCH, queue_back_in_stock
from shop.actions.extensions.declarations import EventListener
from shop.actions.extensions.listeners import run_listener
from shop.actions.extensions.webhooks import handle_next_webhook
from shop.actions.installed_extensions import InstalledExtension
from shop.actions.operations.due_work import signal_due_work
from shop.actions.operations.event_log import EVENT_BATCH, number_events
from shop.actions.operations.housekeeping import BUDGET_SECONDS, run_housekeeping
from shop.actions.operations.order_index import update_order_index
from shop.actions.operations.outbox import MailSender, deliver, lease
from shop.actions.operations.report_days import refresh_days
from shop.actions.payments.settlement import settle_stale_attempts
from shop.actions.rate_limits import save_pending_counts
from shop.actions.webhooks.dispatch import WebhookDispatcher
from shop.actions.work_signals import SAFETY_SECONDS
from shop.base.config.settings import Settings
from shop.base.errors import ShopError
from shop.base.lazy_modules import LazyModule
from shop.gateways.mail import Mail, Smtp
from shop.queries.setup.demo import find_fill

if TYPE_CHECKING:
    from shop.actions.accounts import erasures, merges
    from shop.actions.archive import archived_orders
    from shop.actions.backups import schedule
    from shop.actions.catalog_bulk import batches
    from shop.actions.customers import csv_customers
    from shop.actions.imports import csv_runs
    from shop.demo.order_history import orders as demo_orders
    from shop.platform.events import webhook_bodies
    from shop.platform.imports import csv_rows
else:
    erasures, merges = LazyModule("shop.actions.accounts.erasures"), LazyModule("shop.actions.accounts.merges")
    archived_orders = LazyModule("shop.actions.archive.archived_orders")
    schedule = LazyModule("shop.actions.backups.schedule")
    batches = LazyModule("shop.actions.catalog_bulk.batches")
    csv_customers = LazyModule("shop.actions.customers.csv_customers")
    csv_runs = LazyModule("shop.actions.imports.csv_runs")
    demo_orders = LazyModule("shop.demo.order_history.orders")
    webhook_bodies = LazyModule("shop.platform.events.webhook_bodies")
    csv_rows = LazyModule("shop.platform.imports.csv_rows")

T = TypeVar("T")

POLL_SECONDS = 1.0
DUE_WORK_SECONDS = 1.5
"""How often a process asks whether work is due that it did not cause itself."""
COUNT_SECONDS = 1.0
"""How long counts of rate limits stay in memory."""
DELIVERY_LOOPS = 4
"""Concurrent deliveries: a mail server that hangs on one message does not delay the next."""
NUMBERING_SECONDS = 0.05
"""Events that are committed within this time are numbered together."""
HOUSEKEEPING_SECONDS, IDLE_SECONDS = 60.0, 300.0
"""The pause after housekeeping that deleted something, or nothing."""
BACKUP_SECONDS = 30.0
ARCHIVE_SECONDS = 0.5
"""The pause between batches of archived orders, so that they hardly slow down requests."""
ORDER_INDEX_SECONDS = 0.5
"""The pause between updates of the index of orders: one update serves all orders that change meanwhile."""
REPORT_SECONDS = 1.0
REPORT_SHARE, REBUILD_SHARE = 0.05, 0.2
"""The share of the time that refreshes of reports take at most, while few or many days remain to be calculated."""
DEMO_SECONDS = 0.1
"""The pause between batches of demo orders, so that they hardly slow down requests."""
_log = structlog.get_logger("shop.worker")


class Mailbox:
    """The mailer of a shop without a mail server: e-mail is stored locally and read at /mailbox."""

    async def send(self, mail: Mail) -> None:
        _log.info("e-mail received; read it at /mailbox", to=mail.recipient)


def build_mailer(settings: Settings) -> MailSender:
    return Smtp(settings.smtp_url, settings.mail_from) if settings.smtp_url else Mailbox()


async def work(shared: Shared, mailer: MailSender, housekeeping_seconds: float = BUDGET_SECONDS) -> None:
    """Runs all loops until canceled. A failed task is retried in the next round; no loop waits for another."""
    turn = DeliveryTurn()
    async with asyncio.TaskGroup() as group:
        group.create_task(_run_count_loop(shared))
        group.create_task(_run_poll_loop(shared))
        for _ in range(DELIVERY_LOOPS):
            group.create_task(_run_delivery_loop(shared, mailer, turn))
        group.create_task(_run_event_loop(shared))
        group.create_task(_run_webhook_loop(shared))
        group.create_task(_run_order_index_loop(shared))
        group.create_task(_run_due_tasks_loop(shared))
        group.create_task(_run_batch_loop(shared))
        group.create_task(_run_report_loop(shared))
        group.create_task(_run_import_loop(shared))
        group.create_task(_run_erasure_loop(shared))
        group.create_task(_run_merge_loop(shared))
        group.create_task(_run_housekeeping_loop(shared, housekeeping_seconds))
        group.create_task(_run_backup_loop(shared))
        group.create_task(_run_archive_loop(shared))
        group.create_task(_run_demo_loop(shared))
        if shared.extensions.providers:
            group.create_task(_run_extension_webhook_loop(shared))
        for extension in shared.extensions.extensions:
            for listener in extension.declaration.listeners:
                group.create_task(_run_listener_loop(shared, extension, listener))


async def _run_count_loop(shared: Shared) -> None:
    """Saves the counts of rate limits that are in memory, once a second while there are any."""
    while not _is_canceled():
        await shared.pending_counts.added.wait()
        await asyncio.sleep(COUNT_SECONDS)
        shared.pending_counts.added.clear()
        await _log_errors(save_pending_counts(Context(shared)))


async def _run_poll_loop(shared: Shared) -> None:
    """Asks for all kinds of work with one statement, and wakes the loops that have some."""
    while not _is_canceled():
        await asyncio.sleep(DUE_WORK_SECONDS)
        await _log_errors(signal_due_work(shared))


class DeliveryTurn:
    """Which loop leases the next e-mail, and whether it waits for one first."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.has_due = True
        """Whether an e-mail may be due."""


async def _run_delivery_loop(shared: Shared, mailer: MailSender, turn: DeliveryTurn) -> None:
    """Leases and delivers queued e-mail. Only one loop leases at a time; while it delivers, the next one leases."""
    while not _is_canceled():
        async with turn.lock:
            if not turn.has_due:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(shared.mail_queued.wait(), SAFETY_SECONDS)
            shared.mail_queued.clear()
            mail_lease = await _log_errors(lease(shared))
            turn.has_due = mail_lease is not None and mail_lease.has_more
        if mail_lease is not None:
            await _log_errors(deliver(shared, mailer, mail_lease.mail))


async def _run_event_loop(shared: Shared) -> None:
    """Numbers new events as soon as this process commits some, and those of other processes at the next poll."""
    while not _is_canceled():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(shared.event_tail.pending.wait(), SAFETY_SECONDS)
            await asyncio.sleep(NUMBERING_SECONDS)
        shared.event_tail.pending.clear()
        while await _log_errors(number_events(shared)) == EVENT_BATCH:
            pass


async def _run_webhook_loop(shared: Shared) -> None:
    dispatcher = WebhookDispatcher(shared, lambda *arguments: webhook_bodies.render_webhook(shared, *arguments))
    try:
        while not _is_canceled():
            if not await _log_errors(dispatcher.run_round()):
                await asyncio.sleep(POLL_SECONDS)
    finally:
        await dispatcher.stop()


async def _run_order_index_loop(shared: Shared) -> None:
    """Indexes an order as soon as this process numbers its event, and the next ones after a pause."""
    while not _is_canceled():
        if not await _log_errors(update_order_index(shared)):
            await asyncio.sleep(ORDER_INDEX_SECONDS)
            await shared.event_tail.wait_for_numbers(SAFETY_SECONDS)


async def _run_due_tasks_loop(shared: Shared) -> None:
    while not _is_canceled():
        await _log_errors(_run_due_tasks(shared))
        await shared.work_signals.wait("tasks")


async def _run_batch_loop(shared: Shared) -> None:
    """Runs bulk operations on products, a small transaction at a time."""
    while not _is_canceled():
        if await shared.work_signals.wait("batches"):
            while await _log_errors(batches.run_next_batch(shared)):
                pass


async def _run_report_loop(shared: Shared) -> None:
    """Refreshes the figures of reports after new events, and at the next poll after those that others numbered."""
    while not _is_canceled():
        start = monotonic()
        has_more = await _log_errors(refresh_days(shared))
        seconds = monotonic() - start
        if has_more:
            await asyncio.sleep(seconds * (1 / REBUILD_SHARE - 1))
        else:
            await asyncio.sleep(max(REPORT_SECONDS, seconds * (1 / REPORT_SHARE - 1)))
            await shared.event_tail.wait_for_numbers(SAFETY_SECONDS)


async def _run_listener_loop(shared: Shared, extension: InstalledExtension, listener: EventListener) -> None:
    """Runs a listener of an extension as soon as this process numbers events, and after a pause of its own."""
    while not _is_canceled():
        if not await _log_errors(run_listener(shared, extension, listener)):
            await shared.event_tail.wait_for_numbers(SAFETY_SECONDS)


async def _run_extension_webhook_loop(shared: Shared) -> None:
    """Handles the stored webhooks of the payment providers of extensions."""
    while not _is_canceled():
        if not await _log_errors(handle_next_webhook(shared)):
            await shared.work_signals.wait("extension_webhooks")


async def _run_erasure_loop(shared: Shared) -> None:
    """Continues erasures of customers with many orders; payments and stock do not wait for them."""
    while not _is_canceled():
        if await shared.work_signals.wait("erasures"):
            while await _log_errors(_erase_next(shared)):
                pass


async def _erase_next(shared: Shared) -> bool:
    return await erasures.erase_next_batch(shared) or await archived_orders.restore_erased(shared)


async def _run_merge_loop(shared: Shared) -> None:
    """Continues merges of customers with many orders."""
    while not _is_canceled():
        if await shared.work_signals.wait("merges"):
            while await _log_errors(merges.move_next_batch(shared)):
                pass


async def _run_import_loop(shared: Shared) -> None:
    while not _is_canceled():
        if await shared.work_signals.wait("imports"):
            run = partial(csv_runs.run_next_import, shared, csv_rows.parse_record, csv_customers.import_customers)
            while await _log_errors(run()):
                pass


async def _run_housekeeping_loop(shared: Shared, seconds: float) -> None:
    """Runs housekeeping periodically; an unfinished run is continued after a short pause."""
    pause = POLL_SECONDS
    while not _is_canceled():
        await asyncio.sleep(pause)
        run = await _log_errors(run_housekeeping(shared, seconds))
        pause = HOUSEKEEPING_SECONDS
        if run:
            if run.removed:
                _log.info("housekeeping finished", **run.removed)
            pause = POLL_SECONDS if run.unfinished else HOUSEKEEPING_SECONDS if run.removed else IDLE_SECONDS


async def _run_backup_loop(shared: Shared) -> None:
    """Makes the scheduled backups; ends if there is no place for them."""
    while shared.settings.backup_url and not _is_canceled():
        await _log_errors(schedule.run_due_backup(shared))
        await asyncio.sleep(BACKUP_SECONDS)


async def _run_archive_loop(shared: Shared) -> None:
    """Archives old orders, a small batch at a time; ends if there is no archive."""
    while shared.settings.archive_url and not _is_canceled():
        has_more = await _log_errors(archived_orders.archive_next(shared))
        await asyncio.sleep(ARCHIVE_SECONDS if has_more else HOUSEKEEPING_SECONDS)


async def _run_demo_loop(shared: Shared) -> None:
    """Adds the historical orders of a demo shop; ends when there are none to add."""
    pause = POLL_SECONDS
    while not _is_canceled():
        await asyncio.sleep(pause)
        remaining = await _log_errors(_add_demo_orders(shared))
        if remaining == 0:
            return
        pause = HOUSEKEEPING_SECONDS if remaining is None else DEMO_SECONDS


async def _add_demo_orders(shared: Shared) -> int:
    if await find_fill(shared.database.session()) is None:
        return 0
    return await demo_orders.add_orders(shared)


async def _run_due_tasks(shared: Shared) -> None:
    if payment_count := await settle_stale_attempts(shared):
        _log.info("payments settled", count=payment_count)
    if cart_count := await release_due(shared):
        _log.info("expired stock reservations released", carts=cart_count)
    if product_count := await update_due_products(shared):
        _log.info("scheduled product changes applied", count=product_count)
    while await queue_back_in_stock(shared) == BATCH:
        pass


async def _log_errors(work: Coroutine[Any, Any, T]) -> T | None:
    try:
        return await work
    except ShopError as error:
        _log.warning("worker task postponed", reason=error.code)
    except Exception:
        _log.exception("worker task failed")
    return None


def _is_canceled() -> bool:
    """Returns whether the task is being canceled; checked in each round, because before Python 3.12,
    `asyncio.wait_for`, which sends e-mail, can lose a cancellation.
    """
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
