"""Which statements throw away what has had its time."""

from datetime import timedelta
from typing import Any, cast

import msgspec
from sqlalchemy import (
    BigInteger,
    Interval,
    Table,
    and_,
    bindparam,
    delete,
    exists,
    func,
    literal_column,
    select,
    tuple_,
)
from sqlalchemy.dialects.postgresql import insert

from shop.db.pool import Session
from shop.db.statements import Statement, seconds, statement
from shop.models.access.operators import operator_links, operator_sessions
from shop.models.access.sessions import access_tokens, login_requests, sessions
from shop.models.access.users import users
from shop.models.cart.orders import loose_addresses, order_lookups, orders
from shop.models.checkout.payments import payment_attempts, payment_sources, payments
from shop.models.checkout.store_credit import store_credits
from shop.models.customers.addresses import addresses
from shop.models.journal import audit_events, housekeeping_runs, idempotency_keys, outbox_mails, rate_counts
from shop.queries.lookups import within_hours

_BROOM = 7_426_732
_SECOND = literal_column("interval '1 second'", Interval)
_now = func.now()


COUNTED = 100_000
"""A backlog is counted up to here."""


class Purge(msgspec.Struct, frozen=True):
    """The statements that delete a batch of a kind, and count what is left of it."""

    delete: Statement[Any]
    count: Statement[int]


def _purge(table: Table, condition: Any) -> Purge:
    """Deletes a batch of what the condition finds; rows that others hold are left for the next time."""
    key = table.primary_key.columns.values()
    found = select(*key).where(condition).limit(bindparam("most", type_=BigInteger)).with_for_update(skip_locked=True)
    column = key[0] if len(key) == 1 else tuple_(*key)
    deleted = statement(delete(table).where(column.in_(found)).returning(key[0]), lambda record: record[0])
    return Purge(deleted, _counted(select(key[0]).where(condition)))


def _counted(found: Any) -> Statement[int]:
    some = found.limit(literal_column(str(COUNTED))).subquery()
    return statement(select(func.count()).select_from(some), lambda record: cast(int, record[0]))


_loose = (
    delete(loose_addresses)
    .where(
        loose_addresses.c.address_id.in_(
            select(loose_addresses.c.address_id)
            .limit(bindparam("most", type_=BigInteger))
            .with_for_update(skip_locked=True)
        )
    )
    .returning(loose_addresses.c.address_id)
    .cte("loose")
)
_deleted_addresses = (
    delete(addresses)
    .where(
        addresses.c.id.in_(select(_loose.c.address_id)),
        addresses.c.user_id.is_(None),
        ~exists().where(order_lookups.c.bill_address_id == addresses.c.id),
        ~exists().where(order_lookups.c.ship_address_id == addresses.c.id),
    )
    .returning(addresses.c.id)
    .cte("deleted_addresses")
)
# The first two by the index: a window without end begins at 1970, and no window begins after its end.
_window_ended = and_(
    rate_counts.c.window_start > func.to_timestamp(literal_column("0")),
    rate_counts.c.window_start < _now - timedelta(days=1),
    rate_counts.c.window_start + rate_counts.c.seconds * _SECOND < _now - timedelta(days=1),
)

PURGES: dict[str, Purge] = {
    "login requests": _purge(login_requests, login_requests.c.expires_at < _now - timedelta(days=1)),
    "access tokens": _purge(access_tokens, access_tokens.c.expires_at < _now - timedelta(days=1)),
    # With all its tokens: rotated ones are kept to here, so that a copy is known for one to the end.
    "sessions": _purge(sessions, sessions.c.absolute_expires_at < _now),
    # Long ended; kept a year, as the audit is, to say when an operator was last here.
    "operators' sessions": _purge(operator_sessions, operator_sessions.c.created_at < _now - timedelta(days=365)),
    "operators' links": _purge(operator_links, operator_links.c.expires_at < _now - timedelta(days=1)),
    "unverified users": _purge(
        users,
        and_(
            users.c.verified_at.is_(None),
            users.c.created_at < _now - timedelta(days=7),
            users.c.disabled_at.is_(None),
            ~exists().where(orders.c.user_id == users.c.id),
            # Somebody was promised it.
            ~exists().where(store_credits.c.user_id == users.c.id),
        ),
    ),
    "idle guest carts": _purge(
        orders,
        and_(
            orders.c.completed_at.is_(None),
            orders.c.user_id.is_(None),
            within_hours(orders.c.updated_hour, "lt", _now - seconds("cart_idle")),
            orders.c.updated_at < _now - seconds("cart_idle"),
            # What may have been charged is settled first.
            ~exists().where(payment_attempts.c.order_id == orders.c.id, payment_attempts.c.outcome == "unknown"),
        ),
    ),
    # Of carts from before cards were deleted with their carts.
    "cards of deleted carts": _purge(
        payment_sources,
        and_(
            payment_sources.c.used_at.is_(None),
            payment_sources.c.order_id.is_(None),
            payment_sources.c.created_at < _now - timedelta(days=1),
            ~exists().where(payments.c.source_id == payment_sources.c.id),
        ),
    ),
    "loose addresses": Purge(
        statement(select(_loose.c.address_id).add_cte(_deleted_addresses), lambda record: record[0]),
        _counted(select(loose_addresses.c.address_id)),
    ),
    "idempotency keys": _purge(idempotency_keys, idempotency_keys.c.expires_at < _now),
    "counts": _purge(rate_counts, and_(rate_counts.c.seconds > 0, _window_ended)),
    "mails": _purge(outbox_mails, outbox_mails.c.created_at < _now - timedelta(days=30)),
    "audit events": _purge(audit_events, audit_events.c.at < _now - timedelta(days=365)),
}
_run = insert(housekeeping_runs).values(
    id=literal_column("1"), ended_at=_now, backlog=bindparam("backlog", type_=housekeeping_runs.c.backlog.type)
)
_NOTE_RUN = statement(
    _run.on_conflict_do_update(
        index_elements=["id"], set_={"ended_at": _run.excluded.ended_at, "backlog": _run.excluded.backlog}
    ).returning(housekeeping_runs.c.id),
    lambda record: cast(int, record[0]),
)
_TAKE_BROOM = statement(select(func.pg_try_advisory_xact_lock(_BROOM)), lambda record: cast(bool, record[0]))


async def take_broom(db: Session) -> bool:
    """Whether this transaction may keep house: one at a time over all machines."""
    return await db.one(_TAKE_BROOM) is True


async def note_run(db: Session, backlog: dict[str, int]) -> None:
    await db.one(_NOTE_RUN, backlog=backlog)
