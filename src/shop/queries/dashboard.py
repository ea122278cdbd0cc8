"""Statements for the dashboard: recent activity, and what its lists have in common."""

from datetime import datetime, timedelta
from typing import Any, TypeVar, cast
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, bindparam, func, literal_column, select, tuple_

from shop.base.listing import CursorPosition
from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, dynamic_statement, into, statement
from shop.models.access.operators import operators
from shop.models.cart.orders import Order, orders
from shop.models.journal import AuditEvent, OutboxMail, audit_events, outbox_mails

_now = func.now()
R = TypeVar("R")
WEEK = timedelta(days=7)
COUNT_LIMIT = 10_000
"""The count of a list ends here, so that it costs little however long the list is."""


class SortOrder(msgspec.Struct, frozen=True):
    """A sort order of a list: a column without nulls, and its direction."""

    column: Any
    is_ascending: bool = False
    ignores_case: bool = False
    """For text that is not sorted by an index."""

    @property
    def field(self) -> str:
        """The name of the column in a row of the list."""
        return str(self.column.key)

    @property
    def kind(self) -> type:
        """The type of the column's values."""
        return cast(type, self.column.type.python_type)


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


def paginate(clause: Any, order: SortOrder, key: Any, side: str | None) -> Any:
    """Sorts rows and limits them to those that follow a cursor; those of the previous page come in reverse order."""
    at: Any = order.column
    cursor_at: Any = bindparam("at_", type_=at.type)
    if order.ignores_case:
        at, cursor_at = func.lower(at), func.lower(cursor_at)
    is_ascending = order.is_ascending == (side != "after")
    if side:
        row, cursor = tuple_(at, key), tuple_(cursor_at, bindparam("id_", type_=key.type))
        clause = clause.where(row > cursor if is_ascending else row < cursor)
    columns = (at, key) if is_ascending else (at.desc(), key.desc())
    return clause.order_by(*columns).limit(bindparam("most", type_=BigInteger))


async def load_page(
    db: DatabaseSession, page_statement: Statement[R], cursor: CursorPosition | None, **values: Any
) -> list[R]:
    """Runs a statement of `paginate`."""
    rows = await db.all(page_statement, **values, at_=cursor and cursor.at, id_=cursor and cursor.id)
    return rows[::-1] if cursor and cursor.side == "after" else rows


def count_rows(clause: Any) -> Statement[int]:
    """Returns a statement that counts the rows of a selection, at most one more than `COUNT_LIMIT`."""
    limit: Any = literal_column(str(COUNT_LIMIT + 1))
    rows = clause.with_only_columns(literal_column("1").label("one"), maintain_column_froms=True).limit(limit)
    return dynamic_statement(
        select(func.count()).select_from(rows.subquery("counted")), lambda record: cast(int, record[0])
    )


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
