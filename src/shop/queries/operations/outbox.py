"""Statements for the outbox of e-mails to send."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import (
    BigInteger,
    Boolean,
    Interval,
    Text,
    bindparam,
    case,
    column,
    exists,
    func,
    literal_column,
    null,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import JSONB, insert
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.base.ids import new_id
from shop.db.pool import DatabaseSession
from shop.db.statements import into, opaque_param, seconds, statement
from shop.models.access.users import users
from shop.models.cart.orders import orders
from shop.models.journal import OutboxMail
from shop.models.journal import outbox_mails as mails
from shop.rules.mail_events import CONFIRMATION, MAIL_TTL, ORDER_SHIPPED, PAYMENT_ATTENTION, MailRequest

_now = func.now()
# A constant: for a parameter, PostgreSQL would plan again each time.
_HOUR = literal_column("interval '1 hour'", Interval)
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
        is_test=bindparam("is_test"),
        created_at=_now,
    )
    .returning(mails.c.id),
    lambda record: cast(UUID, record[0]),
)
_ID = PG_UUID(as_uuid=True)
_new = (
    func.jsonb_to_recordset(opaque_param("rows", JSONB))
    .table_valued(
        column("id", _ID),
        column("kind", Text()),
        column("ref_id", _ID),
        column("order_id", _ID),
        column("recipient", Text()),
        column("owner_id", _ID),
        column("is_free", Boolean()),
        name="given",
    )
    .render_derived(with_types=True)
)
# Subqueries instead of joins: the planner takes the rows for a hundred, and would read whole tables.
# They name the rows they depend on, because a subquery within a subquery would read all rows anew.
_recipient = func.coalesce(
    _new.c.recipient, select(orders.c.email).where(orders.c.id == _new.c.order_id).correlate(_new).scalar_subquery()
)
_goes_to_owner = exists().where(
    users.c.id == _new.c.owner_id, users.c.verified_at.is_not(None), users.c.email_key == func.lower(_recipient)
)
_is_free = or_(_new.c.is_free, _goes_to_owner)
_recent = mails.alias("recent")
_is_repeated = (
    exists()
    .where(
        _recent.c.created_at > _now - _HOUR,
        _recent.c.kind == _new.c.kind,
        _recent.c.ref_id == _new.c.ref_id,
    )
    .correlate(_new)
)
# A declined payment of a cart needs no e-mail: the shopper is there. Several attempts within an hour cause only one.
_is_owing = exists().where(
    orders.c.id == _new.c.order_id,
    orders.c.completed_at.is_not(None),
    orders.c.canceled_at.is_(None),
    orders.c.payment_state.in_([literal_column("'balance_due'"), literal_column("'failed'")]),
    ~_is_repeated,
)
# Who picks up the goods knows it.
_is_pickup = exists().where(orders.c.id == _new.c.order_id, orders.c.pickup_location_id.is_not(None))
_values = {
    "id": _new.c.id,
    "kind": _new.c.kind,
    "recipient": _recipient,
    "ref_id": _new.c.ref_id,
    "not_after": _now + timedelta(seconds=MAIL_TTL),
    "next_at": _now,
    "awaits_budget": ~_is_free,
    "source": case((~_is_free, opaque_param("source", Text())), else_=null()),
    "created_at": _now,
}
_INSERT_MANY = statement(
    insert(mails)
    .from_select(
        list(_values),
        select(*_values.values()).where(
            _recipient.is_not(None),
            or_(_new.c.kind != literal_column(f"'{PAYMENT_ATTENTION}'"), _is_owing),
            or_(_new.c.kind != literal_column(f"'{ORDER_SHIPPED}'"), ~_is_pickup),
        ),
    )
    .returning(mails.c.id),
    lambda record: cast(UUID, record[0]),
)
_IS_REPEATED = statement(
    select(
        exists().where(
            mails.c.created_at > _now - _HOUR,
            mails.c.kind == bindparam("kind", type_=Text()),
            mails.c.ref_id == bindparam("ref_id", type_=_ID),
        )
    ),
    lambda record: cast(bool, record[0]),
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


async def insert_mails(db: DatabaseSession, requests: Sequence[MailRequest], source: str | None) -> list[UUID]:
    """Queues the e-mails of events, each to its recipient or to the address of its order; without one, there is none.
    `source` is the source of the request, for the mail budget.
    """
    rows = [{"id": new_id(), **msgspec.structs.asdict(each)} for each in requests]
    return await db.all(_INSERT_MANY, rows=rows, source=source)


async def lease_mail(db: DatabaseSession, *, lease: int) -> OutboxMail | None:
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
