"""The loop that delivers the outbox, opens what is due and keeps house: in every serving process, or `shop worker`."""

import asyncio
import contextlib
import time

import structlog

from shop.actions.catalog import show_due
from shop.actions.context import Shared
from shop.actions.holding import release_due
from shop.actions.housekeeping import keep_house
from shop.actions.outbox import BATCH, Postman, deliver
from shop.actions.settling import settle_stuck
from shop.base.errors import ShopError
from shop.base.settings import Settings
from shop.gateways.mail import Mail, Smtp

LOOK_SECONDS = 1.0
HOUSE_SECONDS = 300.0
_log = structlog.get_logger("shop.worker")


class Mailbox:
    """The postman of a shop without a mail server: mails stay in the house, to be read at /mailbox."""

    async def send(self, mail: Mail) -> None:
        _log.info("a mail arrived; read it at /mailbox", to=mail.recipient)


def postman_for(settings: Settings) -> Postman:
    return Smtp(settings.smtp_url, settings.mail_from) if settings.smtp_url else Mailbox()


async def work(shared: Shared, postman: Postman) -> None:
    """Until cancelled. What fails is tried again at the next look: the loop itself never ends."""
    house_at = time.monotonic() + LOOK_SECONDS
    task = asyncio.current_task()
    # Asked again at each turn: before Python 3.12 `asyncio.wait_for`, by which mails are sent, can lose a cancellation.
    while task is None or not task.cancelling():
        try:
            while await deliver(shared, postman) >= BATCH:
                pass
            if settled := await settle_stuck(shared):
                _log.info("payments were settled", count=settled)
            if released := await release_due(shared):
                _log.info("goods that nobody paid for were put back", carts=released)
            if shown := await show_due(shared):
                _log.info("products' times have come", count=shown)
            if time.monotonic() >= house_at:
                house_at = time.monotonic() + HOUSE_SECONDS
                removed = await keep_house(shared)
                if removed:
                    _log.info("kept house", **removed)
        except ShopError as away:
            _log.warning("the worker waits", reason=away.code)
        except Exception:
            _log.exception("the worker stumbled")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(shared.mail_waits.wait(), LOOK_SECONDS)
        shared.mail_waits.clear()
