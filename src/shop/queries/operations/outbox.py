"""Statements for the outbox of e-mails to send."""

from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import (
    BigInteger,
    Text,
    bindparam,
    exists,
    func,
    literal_column,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import UUID as PG_UUID
from sqlalchemy.dialects.postgresql import insert

from shop.db.pool import DatabaseSession
from shop.db.statements import into, into_parts, seconds, statement
from shop.models.cart.orders import orders
from shop.models.journal import OutboxMail
from shop.models.journal import outbox_mails as mails
from shop.queries.event_mails import HOUR
from shop.rules.mail_events import CONFIRMATION

_now = func.now()

_INSERT = statement(
    insert(mails)
    .values(
        id=bindparam("id"),
        kind=bindparam("kind"),
        recipient=bindparam("recipient"),
        ref_id=bindparam("ref_id"),
        not_after=_now + seconds("ttl"),
        next_at=_now + seconds("delay"),
        awaits_budget=bindparam("awaits_budget"),
        source=bindparam("source"),
        is_test=bindparam("is_test"),
        created_at=_now,
    )
    .returning(mails.c.id),
    lambda record: cast(UUID, record[0]),
)
_ID = PG_UUID(as_uuid=True)
_IS_REPEATED = statement(
    select(
        exists().where(
            mails.c.created_at > _now - HOUR,
            mails.c.kind == bindparam("kind", type_=Text()),
            mails.c.ref_id == bindparam("ref_id", type_=_ID),
        )
    ),
    lambda record: cast(bool, record[0]),
)


class MailLease(msgspec.Struct, frozen=True):
    """A leased e-mail."""

    mail: OutboxMail
    has_more: bool
    """Whether others were due."""


def _is_due(table: Any) -> list[Any]:
    is_waiting = table.c.sent_at.is_(None), table.c.dead_at.is_(None)
    return [*is_waiting, table.c.next_at <= _now, table.c.locked_until.is_(None) | (table.c.locked_until < _now)]


_read_parts = into_parts(OutboxMail, len(mails.c))


def _read_lease(record: Any) -> MailLease:
    mail, (has_more,) = _read_parts(record)
    return MailLease(mail, has_more)


_other = mails.alias("other")
_others = exists().where(*_is_due(_other), _other.c.id != mails.c.id).correlate(mails)
_due = (
    select(mails.c.id)
    .where(*_is_due(mails))
    .order_by(mails.c.next_at)
    .limit(literal_column("1"))
    .with_for_update(skip_locked=True)
    .scalar_subquery()
)
# A lease, not a row lock: if a worker dies, its e-mail becomes available again when the lease ends. Uses `=` so that
# the subquery runs once: with `IN`, a plan may run it for each row and lease several e-mails.
_LEASE = statement(
    update(mails)
    .where(mails.c.id == _due)
    .values(locked_until=_now + seconds("lease"), attempts=mails.c.attempts + 1)
    .returning(mails, _others.label("has_more")),
    _read_lease,
)
_mark_mail = (
    update(mails)
    .where(mails.c.id == bindparam("mail_id"))
    .values(sent_at=_now, locked_until=None)
    .returning(mails.c.id, mails.c.kind, mails.c.ref_id)
    .cte("sent")
)
# Stored on the order, because e-mails are not retained as long as orders.
_mark_order = (
    update(orders)
    .where(orders.c.id == _mark_mail.c.ref_id, _mark_mail.c.kind == CONFIRMATION)
    .values(confirmation_delivered=True)
    .returning(orders.c.id)
    .cte("confirmed")
)
_MARK_SENT = statement(select(_mark_mail.c.id).add_cte(_mark_order), lambda record: cast(UUID, record[0]))
_retry = (
    update(mails)
    .where(mails.c.id == bindparam("mail_id"))
    .values(next_at=_now + seconds("pause"), locked_until=None, last_error=bindparam("error"))
    .returning(mails.c.id)
)
_RETRY = statement(_retry, lambda record: cast(UUID, record[0]))
_POSTPONE = statement(_retry.where(mails.c.not_after > _now), lambda record: cast(UUID, record[0]))
_MARK_COUNTED = statement(
    update(mails)
    .where(mails.c.id == bindparam("mail_id"))
    .values(awaits_budget=False, source=None)
    .returning(mails.c.id),
    lambda record: cast(UUID, record[0]),
)
_GIVE_UP = statement(
    update(mails)
    .where(mails.c.id == bindparam("mail_id"))
    .values(dead_at=_now, locked_until=None, last_error=bindparam("error"))
    .returning(mails.c.id),
    lambda record: cast(UUID, record[0]),
)
_IS_LATE = statement(
    select(mails.c.id).where(mails.c.id == bindparam("id"), mails.c.not_after <= _now),
    lambda record: cast(UUID, record[0]),
)
_is_postponed = mails.c.awaits_budget & ((mails.c.next_at > _now) | mails.c.dead_at.is_not(None))
_NEWEST = statement(
    select(mails)
    .where(
        ~_is_postponed,
        bindparam("to", type_=mails.c.recipient.type).is_(None)
        | (func.lower(mails.c.recipient) == func.lower(bindparam("to", type_=mails.c.recipient.type))),
    )
    .order_by(mails.c.created_at.desc(), mails.c.id.desc())
    .limit(bindparam("most", type_=BigInteger)),
    into(OutboxMail),
)


async def insert_mail(
    db: DatabaseSession, *, delay: int = 0, awaits_budget: bool = False, is_test: bool = False, **values: Any
) -> None:
    await db.one(_INSERT, delay=delay, awaits_budget=awaits_budget, is_test=is_test, source=None, **values)


async def is_repeated(db: DatabaseSession, kind: str, ref_id: UUID) -> bool:
    """Returns whether an e-mail of this kind about this record was queued within the last hour."""
    return await db.one(_IS_REPEATED, kind=kind, ref_id=ref_id) is True


async def lease_mail(db: DatabaseSession, *, lease: int) -> MailLease | None:
    """Leases a due e-mail for `lease` seconds and counts the attempt."""
    return await db.one(_LEASE, lease=lease)


async def mark_sent(db: DatabaseSession, mail_id: UUID) -> None:
    await db.one(_MARK_SENT, mail_id=mail_id)


async def retry_later(db: DatabaseSession, mail_id: UUID, *, pause: int, error: str) -> None:
    await db.one(_RETRY, mail_id=mail_id, pause=pause, error=error)


async def postpone(db: DatabaseSession, mail_id: UUID, *, pause: int, error: str) -> bool:
    """Postpones the next attempt like `retry_later`, unless the e-mail has expired."""
    return await db.one(_POSTPONE, mail_id=mail_id, pause=pause, error=error) is not None


async def mark_counted(db: DatabaseSession, mail_id: UUID) -> None:
    """Marks an e-mail as counted against the budget and deletes its source, which is no longer needed."""
    await db.one(_MARK_COUNTED, mail_id=mail_id)


async def give_up(db: DatabaseSession, mail_id: UUID, error: str) -> None:
    await db.one(_GIVE_UP, mail_id=mail_id, error=error)


async def list_newest(db: DatabaseSession, *, to: str | None, most: int) -> list[OutboxMail]:
    """Returns the newest e-mails, without those that wait for the mail budget or expired while waiting."""
    return await db.all(_NEWEST, to=to, most=most)


async def is_late(db: DatabaseSession, mail_id: UUID) -> bool:
    return await db.one(_IS_LATE, id=mail_id) is not None
