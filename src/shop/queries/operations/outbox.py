"""Statements for the outbox of e-mails to send."""

from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

from sqlalchemy import ARRAY, BigInteger, Text, bindparam, func, literal_column, select, update
from sqlalchemy.dialects.postgresql import insert

from shop.base.ids import new_id
from shop.db.pool import DatabaseSession
from shop.db.statements import into, seconds, statement
from shop.models.cart.orders import orders
from shop.models.journal import OutboxMail
from shop.models.journal import outbox_mails as mails

_now = func.now()
_IS_WAITING = mails.c.sent_at.is_(None) & mails.c.dead_at.is_(None)

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
        created_at=_now,
    )
    .returning(mails.c.id),
    lambda record: cast(UUID, record[0]),
)
_new = (
    func.unnest(bindparam("ids", type_=ARRAY(mails.c.id.type)), bindparam("recipients", type_=ARRAY(Text())))
    .table_valued("id", "recipient")
    .render_derived()
)
_INSERT_MANY = statement(
    insert(mails)
    .from_select(
        ["id", "recipient", "kind", "ref_id", "not_after", "next_at", "created_at"],
        select(
            _new.c.id,
            _new.c.recipient,
            bindparam("kind", type_=Text()),
            bindparam("ref_id", type_=mails.c.ref_id.type),
            _now + seconds("ttl"),
            _now,
            _now,
        ),
    )
    .returning(mails.c.id),
    lambda record: cast(UUID, record[0]),
)
_due = (
    select(mails.c.id)
    .where(_IS_WAITING, mails.c.next_at <= _now, mails.c.locked_until.is_(None) | (mails.c.locked_until < _now))
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
    .returning(mails),
    into(OutboxMail),
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
    .where(orders.c.id == _mark_mail.c.ref_id, _mark_mail.c.kind == "order_confirmation")
    .values(confirmation_delivered=True)
    .returning(orders.c.id)
    .cte("confirmed")
)
_MARK_SENT = statement(select(_mark_mail.c.id).add_cte(_mark_order), lambda record: cast(UUID, record[0]))
_RETRY = statement(
    update(mails)
    .where(mails.c.id == bindparam("mail_id"))
    .values(next_at=_now + seconds("pause"), locked_until=None, last_error=bindparam("error"))
    .returning(mails.c.id),
    lambda record: cast(UUID, record[0]),
)
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
    db: DatabaseSession, *, delay: int = 0, awaits_budget: bool = False, source: str | None = None, **values: Any
) -> None:
    await db.one(_INSERT, delay=delay, awaits_budget=awaits_budget, source=source, **values)


async def insert_mails(db: DatabaseSession, recipients: Sequence[str], *, kind: str, ref_id: UUID, ttl: int) -> None:
    """Inserts one e-mail for each recipient."""
    ids = [new_id() for _ in recipients]
    await db.all(_INSERT_MANY, ids=ids, recipients=list(recipients), kind=kind, ref_id=ref_id, ttl=ttl)


async def lease_mail(db: DatabaseSession, *, lease: int) -> OutboxMail | None:
    """Leases a due e-mail for `lease` seconds and counts the attempt."""
    return await db.one(_LEASE, lease=lease)


async def mark_sent(db: DatabaseSession, mail_id: UUID) -> None:
    await db.one(_MARK_SENT, mail_id=mail_id)


async def retry_later(db: DatabaseSession, mail_id: UUID, *, pause: int, error: str) -> None:
    await db.one(_RETRY, mail_id=mail_id, pause=pause, error=error)


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
