"""The loops that deliver mails, and settle, show and clean what is due: in every serving process, or `shop worker`."""

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any, TypeVar

import structlog

from shop.actions.catalog.products import show_due
from shop.actions.checkout.stock_holds import release_due
from shop.actions.context import Shared
from shop.actions.operations.housekeeping import BUDGET_SECONDS, keep_house
from shop.actions.operations.outbox import Postman, deliver, lease
from shop.actions.payments.settlement import settle_stuck
from shop.base.errors import ShopError
from shop.base.settings import Settings
from shop.gateways.mail import Mail, Smtp

T = TypeVar("T")

LOOK_SECONDS = 1.0
LANES = 4
"""So many mails are under way at a time: a server that is silent to one does not hold up the next."""
HOUSE_SECONDS = 60.0
_log = structlog.get_logger("shop.worker")


class Mailbox:
    """The postman of a shop without a mail server: mails stay in the house, to be read at /mailbox."""

    async def send(self, mail: Mail) -> None:
        _log.info("a mail arrived; read it at /mailbox", to=mail.recipient)


def postman_for(settings: Settings) -> Postman:
    return Smtp(settings.smtp_url, settings.mail_from) if settings.smtp_url else Mailbox()


async def work(shared: Shared, postman: Postman, housekeeping_seconds: float = BUDGET_SECONDS) -> None:
    """Until cancelled. What fails is tried again at the next look: no loop ever ends, or waits for another."""
    turn = asyncio.Lock()
    async with asyncio.TaskGroup() as group:
        for _ in range(LANES):
            group.create_task(_deliver(shared, postman, turn))
        group.create_task(_keep(shared))
        group.create_task(_clean(shared, housekeeping_seconds))


async def _deliver(shared: Shared, postman: Postman, turn: asyncio.Lock) -> None:
    """One lane looks for a mail; while it delivers what it found, the next one looks."""
    while not _is_cancelled():
        async with turn:
            if (queued := await _tried(lease(shared))) is None:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(shared.mail_waits.wait(), LOOK_SECONDS)
                shared.mail_waits.clear()
                continue
        await _tried(deliver(shared, postman, queued))


async def _keep(shared: Shared) -> None:
    while not _is_cancelled():
        await _tried(_look(shared))
        await asyncio.sleep(LOOK_SECONDS)


async def _clean(shared: Shared, seconds: float) -> None:
    """A run that did not come to the end is followed by the next one at once."""
    pause = LOOK_SECONDS
    while not _is_cancelled():
        await asyncio.sleep(pause)
        run = await _tried(keep_house(shared, seconds))
        if run and run.removed:
            _log.info("housekeeping finished", **run.removed)
        pause = LOOK_SECONDS if run and run.unfinished else HOUSE_SECONDS


async def _look(shared: Shared) -> None:
    if settled := await settle_stuck(shared):
        _log.info("payments were settled", count=settled)
    if released := await release_due(shared):
        _log.info("goods that nobody paid for were put back", carts=released)
    if shown := await show_due(shared):
        _log.info("products' times have come", count=shown)


async def _tried(work: Coroutine[Any, Any, T]) -> T | None:
    try:
        return await work
    except ShopError as away:
        _log.warning("the worker waits", reason=away.code)
    except Exception:
        _log.exception("the worker stumbled")
    return None


def _is_cancelled() -> bool:
    """Asked at each turn: before Python 3.12 `asyncio.wait_for`, by which mails are sent, can lose a cancellation."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
