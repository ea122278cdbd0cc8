"""How queued mails are delivered: leased, sent, marked; later again when the server is away, given up visibly."""

import asyncio
from typing import Protocol

import structlog

from shop.actions.context import Shared
from shop.actions.mail.budget import spend
from shop.actions.operations.mail_templates import write_letter
from shop.base.errors import Lost, ShopError
from shop.gateways.mail import Mail, MailDelayed, MailRefused
from shop.models.journal import OutboxMail
from shop.queries.operations import outbox

LEASE_SECONDS = 60
# Seconds to the next try, by the number of tries made; the last one is repeated while the mail is of use, and is short
# enough for a mail to leave within a minute of the server's return.
LADDER = (1, 5, 25, 50)
_log = structlog.get_logger("shop.mail")


class Postman(Protocol):
    """Whoever takes a mail out of the house."""

    async def send(self, mail: Mail) -> None: ...


async def lease(shared: Shared) -> OutboxMail | None:
    """The next mail that is due, and no other: a slow server must not outlast the lease of one that still waits."""
    return await outbox.lease_mail(shared.database.session(), lease=LEASE_SECONDS)


async def deliver(shared: Shared, postman: Postman, queued: OutboxMail) -> None:
    """A crash after sending repeats the same mail, code and mark."""
    db = shared.database.session()
    try:
        if queued.awaits_budget and not await _is_within_budget(shared, queued):
            return
        letter = await write_letter(shared, db, queued)
        if letter is None or not letter.is_fresh or await outbox.is_late(db, queued.id):
            await _give_up(shared, queued, "no longer of use")
            return
        async with asyncio.timeout(LEASE_SECONDS - 10):
            await postman.send(letter.mail)
    except MailRefused as reason:
        await _give_up(shared, queued, str(reason))
    except MailDelayed as reason:
        await _again(shared, queued, str(reason))
    except TimeoutError:
        await _again(shared, queued, "the mail server was too slow")
    except (ShopError, Lost) as busy:
        # The database, not the mail: it is tried again soon, not when its lease ends.
        await _again(shared, queued, f"the database: {type(busy).__name__}")
    except Exception as defect:
        # A mail that cannot be made must not stand in the way of the others.
        _log.exception("mail cannot be made", mail=str(queued.id))
        await _give_up(shared, queued, type(defect).__name__)
    else:
        await outbox.mark_sent(db, queued.id)


async def _is_within_budget(shared: Shared, queued: OutboxMail) -> bool:
    """A mail that is not waits until its windows have room, or is dropped when that comes too late."""
    wait = await spend(shared, queued)
    if wait and await outbox.is_late(shared.database.session(), queued.id):
        await _give_up(shared, queued, "the mail budget had no room in time")
    elif wait:
        await outbox.retry_later(shared.database.session(), queued.id, pause=wait, error="over the mail budget")
        _log.info("mail waits for the budget", mail=str(queued.id), seconds=wait)
    return not wait


async def _give_up(shared: Shared, queued: OutboxMail, reason: str) -> None:
    await outbox.give_up(shared.database.session(), queued.id, reason)
    _log.error("mail given up", mail=str(queued.id), reason=reason)


async def _again(shared: Shared, queued: OutboxMail, reason: str) -> None:
    pause = LADDER[min(queued.attempts, len(LADDER)) - 1]
    await outbox.retry_later(shared.database.session(), queued.id, pause=pause, error=reason)
    _log.warning("mail delayed", mail=str(queued.id), attempts=queued.attempts, reason=reason)
