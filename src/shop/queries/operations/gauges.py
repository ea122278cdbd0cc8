"""The statement for the database gauges of `/metrics`."""

from datetime import timedelta
from typing import Any

import msgspec
from sqlalchemy import Float, case, cast, func, literal_column, select

from shop.db.pool import DatabaseSession
from shop.db.statements import into, statement
from shop.models.backups.backups import backups
from shop.models.checkout.payments import payment_attempts, unsettled_attempts
from shop.models.journal import audit_events, housekeeping_runs, outbox_mails

SIGN_IN_MINUTES = 5
GAUGE_COUNT_LIMIT = 100_000
"""Upper limit of all counts."""
_now = func.now()


class Gauges(msgspec.Struct, frozen=True):
    """Queue lengths, ages in seconds, and recent failures."""

    mails_due: int
    mails_postponed: int
    oldest_due_mail: float
    payments_unsettled: int
    oldest_unsettled_payment: float
    failed_customers: int
    failed_operators: int
    cleaned_at: float | None
    backlog: dict[str, int] | None
    backed_up_at: float | None
    backup_failures: int


def _age(since: Any) -> Any:
    return cast(func.coalesce(func.max(func.extract("epoch", _now - since)), literal_column("0")), Float)


_waiting = (
    select(outbox_mails.c.next_at, outbox_mails.c.created_at)
    .where(outbox_mails.c.sent_at.is_(None), outbox_mails.c.dead_at.is_(None))
    .limit(literal_column(str(GAUGE_COUNT_LIMIT)))
    .subquery()
)
_is_due = _waiting.c.next_at <= _now
_mails = select(
    func.count().filter(_is_due).label("mails_due"),
    func.count().filter(~_is_due).label("mails_postponed"),
    _age(case((_is_due, _waiting.c.created_at))).label("oldest_due_mail"),
).subquery()
_open = (
    select(payment_attempts.c.created_at)
    .join(unsettled_attempts, unsettled_attempts.c.attempt_id == payment_attempts.c.id)
    .limit(literal_column(str(GAUGE_COUNT_LIMIT)))
    .subquery()
)
_payments = select(
    func.count().label("payments_unsettled"), _age(_open.c.created_at).label("oldest_unsettled_payment")
).subquery()
_events = (
    select(audit_events.c.actor_kind)
    .where(
        audit_events.c.at > _now - timedelta(minutes=SIGN_IN_MINUTES),
        audit_events.c.action == literal_column("'sign_in'"),
        audit_events.c.outcome == literal_column("'refused'"),
    )
    .limit(literal_column(str(GAUGE_COUNT_LIMIT)))
    .subquery()
)
_is_operator = _events.c.actor_kind == literal_column("'operator'")
_sign_ins = select(
    func.count().filter(~_is_operator).label("failed_customers"),
    func.count().filter(_is_operator).label("failed_operators"),
).subquery()
_last_backup = (
    select(func.max(backups.c.started_at)).where(backups.c.state == literal_column("'complete'")).scalar_subquery()
)
_backup_failures = (
    select(func.count())
    .select_from(backups)
    .where(
        backups.c.state == literal_column("'failed'"),
        backups.c.started_at > func.coalesce(_last_backup, literal_column("'-infinity'")),
    )
    .scalar_subquery()
)
_GAUGES = statement(
    select(
        _mails,
        _payments,
        _sign_ins,
        select(cast(func.extract("epoch", housekeeping_runs.c.ended_at), Float)).scalar_subquery().label("cleaned_at"),
        select(housekeeping_runs.c.backlog).scalar_subquery().label("backlog"),
        cast(func.extract("epoch", _last_backup), Float).label("backed_up_at"),
        _backup_failures.label("backup_failures"),
    ),
    into(Gauges),
)


async def read_gauges(db: DatabaseSession) -> Gauges | None:
    return await db.one(_GAUGES)
