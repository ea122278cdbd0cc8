"""Delivers queued e-mails: leases, sends and marks them; retries if the server is down, and logs failures."""

import asyncio
from typing import Protocol

import structlog

from shop.actions.context import Shared
from shop.actions.mail.budget import count_mail
from shop.actions.operations.mail_templates import render_mail
from shop.base.errors import ShopError, TransactionConflict
from shop.gateways.mail import Mail, PermanentMailError, TemporaryMailError
from shop.models.journal import OutboxMail
from shop.queries.operations import outbox
from shop.queries.operations.outbox import MailLease

LEASE_SECONDS = 60
# Seconds until the next attempt, by the number of attempts. The last value repeats until the e-mail expires; it is
# short enough that e-mails are sent within a minute after the server is available again.
LADDER = (1, 5, 25, 50)
_OVER_BUDGET = "over the mail budget"
_log = structlog.get_logger("shop.mail")


class MailSender(Protocol):
    """A transport that sends e-mail."""

    async def send(self, mail: Mail) -> None: ...


async def lease(shared: Shared) -> MailLease | None:
    """Leases one due e-mail at a time, so that no lease expires while a slow server handles another e-mail."""
    return await outbox.lease_mail(shared.database.session(), lease=LEASE_SECONDS)


async def deliver(shared: Shared, sender: MailSender, outbox_mail: OutboxMail) -> None:
    """Sends a leased e-mail. After a crash, the same e-mail is sent again, with the same code and Message-ID."""
    db = shared.database.session()
    try:
        if outbox_mail.awaits_budget and not await _is_within_budget(shared, outbox_mail):
            return
        rendered_mail = await render_mail(shared, db, outbox_mail)
        if rendered_mail is None or not rendered_mail.is_fresh or await outbox.is_late(db, outbox_mail.id):
            await _give_up(shared, outbox_mail, "no longer of use")
            return
        async with asyncio.timeout(LEASE_SECONDS - 10):
            await sender.send(rendered_mail.mail)
    except PermanentMailError as reason:
        await _give_up(shared, outbox_mail, str(reason))
    except TemporaryMailError as reason:
        await _retry_later(shared, outbox_mail, str(reason))
    except TimeoutError:
        await _retry_later(shared, outbox_mail, "the mail server was too slow")
    except (ShopError, TransactionConflict) as busy:
        # The database failed, not the e-mail: retry soon instead of when the lease ends.
        await _retry_later(shared, outbox_mail, f"the database: {type(busy).__name__}")
    except Exception as defect:
        # An e-mail that cannot be rendered must not block the others.
        _log.exception("e-mail could not be rendered", mail=str(outbox_mail.id))
        await _give_up(shared, outbox_mail, type(defect).__name__)
    else:
        await outbox.mark_sent(db, outbox_mail.id)


async def _is_within_budget(shared: Shared, outbox_mail: OutboxMail) -> bool:
    """Returns whether the budget allows the e-mail; if not, postpones it, or gives up if that is too late."""
    wait = await count_mail(shared, outbox_mail)
    if wait and await outbox.postpone(shared.database.session(), outbox_mail.id, pause=wait, error=_OVER_BUDGET):
        _log.info("e-mail postponed by the mail budget", mail=str(outbox_mail.id), seconds=wait)
    elif wait:
        await _give_up(shared, outbox_mail, "the e-mail expired before the mail budget allowed it")
    return not wait


async def _give_up(shared: Shared, outbox_mail: OutboxMail, reason: str) -> None:
    await outbox.give_up(shared.database.session(), outbox_mail.id, reason)
    _log.error("e-mail delivery abandoned", mail=str(outbox_mail.id), reason=reason)


async def _retry_later(shared: Shared, outbox_mail: OutboxMail, reason: str) -> None:
    pause = LADDER[min(outbox_mail.attempts, len(LADDER)) - 1]
    await outbox.retry_later(shared.database.session(), outbox_mail.id, pause=pause, error=reason)
    _log.warning("e-mail delayed", mail=str(outbox_mail.id), attempts=outbox_mail.attempts, reason=reason)
