"""Statements that delete expired rows."""

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
    or_,
    select,
    tuple_,
)
from sqlalchemy.dialects.postgresql import insert

from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, seconds, statement
from shop.models.access.operators import operator_links, operator_sessions
from shop.models.access.sessions import access_tokens, login_requests, sessions
from shop.models.access.users import users
from shop.models.cart.archived_orders import archived_orders
from shop.models.cart.orders import loose_addresses, order_lookups, orders
from shop.models.catalog_bulk.batches import OPEN_STATES, product_batch_edits, product_batches
from shop.models.checkout.payments import payment_attempts, payment_sources, payments
from shop.models.checkout.store_credit import store_credits
from shop.models.customers.addresses import addresses
from shop.models.extensions.webhooks import extension_webhooks
from shop.models.imports.csv_imports import csv_imports
from shop.models.journal import audit_events, housekeeping_runs, idempotency_keys, outbox_mails, rate_counts
from shop.models.webhooks.deliveries import webhook_deliveries
from shop.models.webhooks.endpoints import webhook_endpoints, webhook_secrets
from shop.queries.lookups import within_hours

_LOCK_KEY = 7_426_732
_SECOND = literal_column("interval '1 second'", Interval)
_now = func.now()


BACKLOG_COUNT_LIMIT = 100_000
"""Upper limit of backlog counts."""


class Purge(msgspec.Struct, frozen=True):
    """Statements that delete a batch of one kind of row and count the rest."""

    delete: Statement[Any]
    count: Statement[int]


def _purge(table: Table, condition: Any) -> Purge:
    """Builds the deletion of a batch of matching rows; skips locked rows."""
    key = table.primary_key.columns.values()
    batch = select(*key).where(condition).limit(bindparam("most", type_=BigInteger)).with_for_update(skip_locked=True)
    column = key[0] if len(key) == 1 else tuple_(*key)
    delete_batch = statement(delete(table).where(column.in_(batch)).returning(key[0]), lambda record: record[0])
    return Purge(delete_batch, _count_statement(select(key[0]).where(condition)))


def _count_statement(clause: Any) -> Statement[int]:
    some = clause.limit(literal_column(str(BACKLOG_COUNT_LIMIT))).subquery()
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
# The first two use the index: windows without end start in 1970, and no window starts after its end.
_window_ended = and_(
    rate_counts.c.window_start > func.to_timestamp(literal_column("0")),
    rate_counts.c.window_start < _now - timedelta(days=1),
    rate_counts.c.window_start + rate_counts.c.seconds * _SECOND < _now - timedelta(days=1),
)

PURGES: dict[str, Purge] = {
    "login requests": _purge(login_requests, login_requests.c.expires_at < _now - timedelta(days=1)),
    "access tokens": _purge(access_tokens, access_tokens.c.expires_at < _now - timedelta(days=1)),
    # Also deletes its tokens; rotated ones are retained until now to detect reuse.
    "sessions": _purge(sessions, sessions.c.absolute_expires_at < _now),
    # Retained for a year, like audit events, to show the last activity of operators.
    "operators' sessions": _purge(operator_sessions, operator_sessions.c.created_at < _now - timedelta(days=365)),
    "operators' links": _purge(operator_links, operator_links.c.expires_at < _now - timedelta(days=1)),
    "unverified users": _purge(
        users,
        and_(
            users.c.verified_at.is_(None),
            users.c.created_at < _now - timedelta(days=7),
            users.c.disabled_at.is_(None),
            ~exists().where(orders.c.user_id == users.c.id),
            ~exists().where(archived_orders.c.user_id == users.c.id),
            # Users with store credit are kept.
            ~exists().where(store_credits.c.user_id == users.c.id),
        ),
    ),
    "idle guest carts": _purge(
        orders,
        and_(
            orders.c.completed_at.is_(None),
            orders.c.user_id.is_(None),
            # An operator deletes drafts.
            orders.c.author_id.is_(None),
            within_hours(orders.c.updated_hour, "lt", _now - seconds("cart_idle")),
            orders.c.updated_at < _now - seconds("cart_idle"),
            # Attempts that may have charged money are settled first.
            ~exists().where(payment_attempts.c.order_id == orders.c.id, payment_attempts.c.outcome == "unknown"),
        ),
    ),
    # Left by earlier versions, which deleted carts without their cards.
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
        _count_statement(select(loose_addresses.c.address_id)),
    ),
    "idempotency keys": _purge(idempotency_keys, idempotency_keys.c.expires_at < _now),
    "counts": _purge(rate_counts, and_(rate_counts.c.seconds > 0, _window_ended)),
    "mails": _purge(outbox_mails, outbox_mails.c.created_at < _now - timedelta(days=30)),
    # Also deletes their attempts.
    "webhook deliveries": _purge(webhook_deliveries, webhook_deliveries.c.created_at < _now - timedelta(days=30)),
    "webhooks of extensions": _purge(extension_webhooks, extension_webhooks.c.created_at < _now - timedelta(days=30)),
    "webhook secrets": _purge(webhook_secrets, webhook_secrets.c.expires_at < _now),
    "webhook endpoints": _purge(
        webhook_endpoints,
        and_(
            webhook_endpoints.c.deleted_at < _now,
            ~exists().where(webhook_deliveries.c.endpoint_id == webhook_endpoints.c.id),
        ),
    ),
    # Undoing a batch takes its values for a day.
    "values of batches": _purge(product_batch_edits, product_batch_edits.c.created_at < _now - timedelta(days=3)),
    "batches": _purge(
        product_batches,
        and_(
            product_batches.c.created_at < _now - timedelta(days=90),
            product_batches.c.state.not_in([literal_column(f"'{state}'") for state in OPEN_STATES]),
        ),
    ),
    "imports": _purge(
        csv_imports,
        or_(
            and_(
                csv_imports.c.created_at < _now - timedelta(days=14),
                csv_imports.c.state.not_in([literal_column("'checking'"), literal_column("'running'")]),
            ),
            and_(
                csv_imports.c.created_at < _now - timedelta(days=1),
                csv_imports.c.state == literal_column("'uploading'"),
            ),
        ),
    ),
    "audit events": _purge(audit_events, audit_events.c.at < _now - timedelta(days=365)),
}
_run = insert(housekeeping_runs).values(
    id=literal_column("1"), ended_at=_now, backlog=bindparam("backlog", type_=housekeeping_runs.c.backlog.type)
)
_RECORD_RUN = statement(
    _run.on_conflict_do_update(
        index_elements=["id"], set_={"ended_at": _run.excluded.ended_at, "backlog": _run.excluded.backlog}
    ).returning(housekeeping_runs.c.id),
    lambda record: cast(int, record[0]),
)
_TRY_LOCK = statement(select(func.pg_try_advisory_xact_lock(_LOCK_KEY)), lambda record: cast(bool, record[0]))


async def try_housekeeping_lock(db: DatabaseSession) -> bool:
    """Tries the cluster-wide housekeeping lock."""
    return await db.one(_TRY_LOCK) is True


async def record_run(db: DatabaseSession, backlog: dict[str, int]) -> None:
    await db.one(_RECORD_RUN, backlog=backlog)
