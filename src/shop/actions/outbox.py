"""How queued mails are delivered: leased, sent, marked; later again when the server is away, given up visibly."""

from typing import Protocol

import structlog

from shop.actions.context import Shared
from shop.actions.letter import write_letter
from shop.gateways.mail import Mail, MailDelayed, MailRefused
from shop.models.journal import OutboxMail
from shop.queries import outbox

BATCH = 10
LEASE_SECONDS = 60
# Seconds to the next try, by the number of tries made; the last one is repeated while the mail is of use, and is short
# enough for a mail to leave within a minute of the server's return.
LADDER = (1, 5, 25, 50)
_log = structlog.get_logger("shop.mail")


class Postman(Protocol):
    """Whoever takes a mail out of the house."""

    async def send(self, mail: Mail) -> None: ...


async def deliver(shared: Shared, postman: Postman) -> int:
    """Delivers what is due; says how many it looked at. A crash after sending repeats the same mail, code and mark."""
    leased = await outbox.lease_mails(shared.database.session(), most=BATCH, lease=LEASE_SECONDS)
    for queued in leased:
        await _deliver_one(shared, postman, queued)
    return len(leased)


async def _deliver_one(shared: Shared, postman: Postman, queued: OutboxMail) -> None:
    db = shared.database.session()
    letter = await write_letter(shared, db, queued)
    if letter is None or not letter.is_fresh or await outbox.is_late(db, queued.id):
        await outbox.give_up(db, queued.id, "no longer of use")
        return
    try:
        await postman.send(letter.mail)
    except MailRefused as reason:
        await outbox.give_up(db, queued.id, str(reason))
        _log.error("mail given up", mail=str(queued.id), reason=str(reason))
    except MailDelayed as reason:
        await _again(shared, queued, str(reason))
    except Exception as defect:
        # A mail that cannot be made must not stand in the way of the others.
        await outbox.give_up(db, queued.id, type(defect).__name__)
        _log.exception("mail given up", mail=str(queued.id))
    else:
        await outbox.mark_sent(db, queued.id)


async def _again(shared: Shared, queued: OutboxMail, reason: str) -> None:
    pause = LADDER[min(queued.attempts, len(LADDER)) - 1]
    await outbox.retry_later(shared.database.session(), queued.id, pause=pause, error=reason)
    _log.warning("mail delayed", mail=str(queued.id), attempts=queued.attempts, reason=reason)
