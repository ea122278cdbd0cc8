"""Queues the e-mails of events: a statement of its own, or a part of the one that inserts the events."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import Boolean, Interval, Text, case, column, exists, func, literal_column, null, or_, select
from sqlalchemy.dialects.postgresql import JSONB, insert
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.base.ids import new_id
from shop.db.pool import DatabaseSession
from shop.db.statements import opaque_param, statement
from shop.models.access.users import users
from shop.models.cart.orders import orders
from shop.models.journal import outbox_mails as mails
from shop.rules.mail_events import MAIL_TTL, ORDER_SHIPPED, PAYMENT_ATTENTION, MailRequest

_now = func.now()
# A constant: for a parameter, PostgreSQL would plan again each time.
HOUR = literal_column("interval '1 hour'", Interval)
_ID = PG_UUID(as_uuid=True)
_new = (
    func.jsonb_to_recordset(opaque_param("mail_rows", JSONB))
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
        _recent.c.created_at > _now - HOUR,
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
    "source": case((~_is_free, opaque_param("mail_source", Text())), else_=null()),
    "created_at": _now,
}
INSERT_MAILS = (
    insert(mails)
    .from_select(
        list(_values),
        select(*_values.values()).where(
            _recipient.is_not(None),
            or_(_new.c.kind != literal_column(f"'{PAYMENT_ATTENTION}'"), _is_owing),
            or_(_new.c.kind != literal_column(f"'{ORDER_SHIPPED}'"), ~_is_pickup),
        ),
    )
    .returning(mails.c.id)
)
"""Queues the e-mails of events; its parameters are those of `describe_mails`."""
_INSERT_MANY = statement(INSERT_MAILS, lambda record: cast(UUID, record[0]))


async def insert_mails(db: DatabaseSession, requests: Sequence[MailRequest], source: str | None) -> list[UUID]:
    """Queues the e-mails of events, each to its recipient or to the address of its order; without one, there is none.
    `source` is the source of the request, for the mail budget.
    """
    return await db.all(_INSERT_MANY, **describe_mails(requests, source))


def describe_mails(requests: Sequence[MailRequest], source: str | None) -> dict[str, Any]:
    rows = [{"id": new_id(), **msgspec.structs.asdict(each)} for each in requests]
    return {"mail_rows": rows, "mail_source": source}
