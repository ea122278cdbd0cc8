"""Statements for the dashboard: recent activity, and what its lists have in common."""

from datetime import datetime, timedelta
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, bindparam, func, select, tuple_

from shop.db.pool import DatabaseSession
from shop.db.statements import into, statement
from shop.models.access.operators import operators
from shop.models.cart.orders import Order, orders
from shop.models.journal import AuditEvent, OutboxMail, audit_events, outbox_mails

_now = func.now()
WEEK = timedelta(days=7)


class Tally(msgspec.Struct, frozen=True):
    """Failed e-mails of the last seven days, and e-mails that wait."""

    dead_mail_count: int
    waiting_mail_count: int
    """Order confirmations that wait for the mail budget."""


class MailWarning(msgspec.Struct, frozen=True):
    """An e-mail limit that reached 80 % in the last day: how often, and when last."""

    limit: str
    allowed: str
    times: int
    last_at: datetime

    @property
    def budget(self) -> str:
        """Returns `500/3600` in words."""
        count, _, seconds = self.allowed.partition("/")
        every = _PERIODS.get(int(seconds), f"every {int(seconds):,} seconds")
        return f"{int(count):,} {every}"


_PERIODS = {60: "a minute", 3600: "an hour", 86400: "a day"}


class AuditRow(AuditEvent, frozen=True, kw_only=True):
    """An audit event with the e-mail address of its operator."""

    operator_email: str | None


_is_dead = (outbox_mails.c.created_at > _now - WEEK, outbox_mails.c.dead_at.is_not(None))
# The first two conditions match the partial index of due e-mails.
_is_waiting = (
    outbox_mails.c.sent_at.is_(None),
    outbox_mails.c.dead_at.is_(None),
    outbox_mails.c.next_at > _now,
    outbox_mails.c.awaits_budget,
    outbox_mails.c.kind == "order_confirmation",
)
_TALLY = statement(
    select(
        select(func.count()).select_from(outbox_mails).where(*_is_dead).scalar_subquery().label("dead_mail_count"),
        select(func.count())
        .select_from(outbox_mails)
        .where(*_is_waiting)
        .scalar_subquery()
        .label("waiting_mail_count"),
    ),
    into(Tally),
)
_warning_limit, _warning_allowed = audit_events.c.detail["limit"].astext, audit_events.c.detail["allowed"].astext
_LIST_MAIL_WARNINGS = statement(
    select(
        _warning_limit.label("limit"),
        _warning_allowed.label("allowed"),
        func.count().label("times"),
        func.max(audit_events.c.at).label("last_at"),
    )
    .where(
        audit_events.c.at > _now - timedelta(days=1),
        audit_events.c.action == "limit",
        audit_events.c.outcome == "warning",
    )
    .group_by(_warning_limit, _warning_allowed)
    .order_by(_warning_limit, _warning_allowed),
    into(MailWarning),
)
_LIST_DEAD = statement(
    select(outbox_mails)
    .where(*_is_dead)
    .order_by(outbox_mails.c.created_at.desc())
    .limit(bindparam("most", type_=BigInteger)),
    into(OutboxMail),
)

_FIND_ORDER = statement(select(orders).where(orders.c.number == bindparam("number")), into(Order))
_TIMELINE = statement(
    select(audit_events, operators.c.email.label("operator_email"))
    .select_from(audit_events.outerjoin(operators, operators.c.id == audit_events.c.actor_id))
    .where(audit_events.c.subject_id == bindparam("subject_id"))
    .order_by(audit_events.c.at.desc(), audit_events.c.id.desc())
    .limit(bindparam("most", type_=BigInteger)),
    into(AuditRow),
)


def paginate(clause: Any, at: Any, key: Any, side: str | None) -> Any:
    """Limits rows to those before or after a cursor, newest first; those after it come in reverse order."""
    cursor = tuple_(bindparam("at_", type_=at.type), bindparam("id_", type_=key.type))
    if side == "before":
        clause = clause.where(tuple_(at, key) < cursor)
    if side == "after":
        clause = clause.where(tuple_(at, key) > cursor)
    columns = (at, key) if side == "after" else (at.desc(), key.desc())
    return clause.order_by(*columns).limit(bindparam("most", type_=BigInteger))


async def find_tally(db: DatabaseSession) -> Tally:
    return cast(Tally, await db.one(_TALLY))


async def list_mail_warnings(db: DatabaseSession) -> list[MailWarning]:
    return await db.all(_LIST_MAIL_WARNINGS)


async def list_dead_mails(db: DatabaseSession, *, most: int) -> list[OutboxMail]:
    return await db.all(_LIST_DEAD, most=most)


async def find_order(db: DatabaseSession, number: str) -> Order | None:
    return await db.one(_FIND_ORDER, number=number)


async def list_events(db: DatabaseSession, subject_id: UUID, *, most: int) -> list[AuditRow]:
    """Returns the audit events of a record, newest first."""
    return await db.all(_TIMELINE, subject_id=subject_id, most=most)


def like_prefix(text: str) -> str:
    """Returns a LIKE pattern that matches the text as a literal prefix."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
