"""Statements for the rows that remain of archived orders, and for choosing the orders to archive."""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import (
    BigInteger,
    Date,
    DateTime,
    Text,
    bindparam,
    column,
    delete,
    exists,
    func,
    literal_column,
    or_,
    select,
    table,
    text,
    tuple_,
    union,
    update,
)
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.base.ids import as_uuid
from shop.db.pool import DatabaseSession
from shop.db.statements import any_of, dynamic_statement, into, seconds, statement
from shop.models.cart.archived_orders import ArchivedOrder, ArchiveState, archive_states, archived_orders
from shop.models.cart.orders import Order, customer_of, orders, stock_holds
from shop.models.checkout.payments import payment_attempts, payment_notices, payment_sources, payments, refunds
from shop.models.checkout.shipments import shipments
from shop.models.customers.addresses import addresses
from shop.models.drafts.drafts import drafts
from shop.models.operations.report_days import frozen_days
from shop.models.order_edits.approvals import refund_requests
from shop.queries.archive.contents import ORDER_TABLES

LEASE_SECONDS = 300
_ID = PG_UUID(as_uuid=True)
_now = func.now()
_before = bindparam("before", type_=DateTime(timezone=True))
_order_ids = any_of("order_ids", _ID)


class ArchivedPart(msgspec.Struct, frozen=True):
    """Where the rows of an order are in an object, and their key."""

    position: int
    size: int
    encryption_key: bytes


def _read_id(record: Any) -> UUID:
    return cast(UUID, record[0])


def _word(*words: str) -> list[Any]:
    return [literal_column(f"'{word}'") for word in words]


def _has(parts: Any, *where: Any) -> Any:
    return exists().where(parts.c.order_id == orders.c.id, *where).correlate(orders)


def _is_recent(parts: Any) -> Any:
    return _has(parts, parts.c.updated_at >= _before)


_other_payments = payments.alias("other_payments")
_lends_card = _has(
    payment_sources,
    exists().where(
        _other_payments.c.source_id == payment_sources.c.id, _other_payments.c.order_id != payment_sources.c.order_id
    ),
)
_is_finished = (
    orders.c.updated_at < _before,
    or_(orders.c.canceled_at.is_not(None), orders.c.shipment_state == literal_column("'shipped'")),
    orders.c.payment_state.in_(_word("paid", "void")),
    ~_has(shipments, shipments.c.state.in_(_word("pending", "ready"))),
    ~_has(payments, payments.c.state.in_(_word("processing", "pending"))),
    ~_has(payment_attempts, payment_attempts.c.outcome == literal_column("'unknown'")),
    ~_has(refunds, refunds.c.state == literal_column("'pending'")),
    ~_has(refund_requests, refund_requests.c.state == literal_column("'pending'")),
    *(~_is_recent(each) for each in (shipments, payments, refunds, refund_requests)),
    *(~_has(each) for each in (stock_holds, drafts)),
    ~_lends_card,
)
_LEASE = statement(
    update(archive_states)
    .where(func.coalesce(archive_states.c.leased_until < _now, literal_column("true")))
    .values(leased_until=_now + seconds("lease"))
    .returning(archive_states),
    into(ArchiveState),
)
_SAVE_STATE = statement(
    update(archive_states)
    .values(
        completed_at=bindparam("new_completed_at", type_=DateTime(timezone=True)),
        order_id=bindparam("new_order_id", type_=_ID),
        leased_until=None,
    )
    .returning(archive_states.c.id),
    lambda record: None,
)
_NEXT = statement(
    select(orders)
    .where(
        orders.c.completed_at < _before,
        tuple_(orders.c.completed_at, orders.c.id)
        > tuple_(sql_cast(bindparam("after"), DateTime(timezone=True)), sql_cast(bindparam("after_id"), _ID)),
    )
    .order_by(orders.c.completed_at, orders.c.id)
    .limit(bindparam("most", type_=BigInteger)),
    into(Order),
)
_finished = select(orders.c.id).where(orders.c.id == _order_ids, orders.c.completed_at < _before, *_is_finished)
_FINISHED = statement(_finished, _read_id)
_LOCK_FINISHED = statement(_finished.order_by(orders.c.id).with_for_update(skip_locked=True, of=orders), _read_id)
_OWN_NAMES = [str(each.name) for each in ORDER_TABLES if each not in (addresses, payment_notices)]
# Deleted with an order, and built again with it, or without any row of a finished one.
_INDEXES = ("order_lookups", "order_listings", "unsettled_attempts", "stock_holds", "drafts", "draft_discounts")
_REFERRING_NAMES = [*_OWN_NAMES, "payment_notices", *_INDEXES]
_REFERENCES = dynamic_statement(
    text(
        """
        select own.relname::text, a.attname::text, target.relname::text
        from pg_constraint c join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
        join pg_class own on own.oid = c.conrelid join pg_class target on target.oid = c.confrelid
        where c.contype = 'f' and target.relname = any (:targets) and own.relname <> all (:referring)
        and c.connamespace = current_schema()::regnamespace
        """
    ).bindparams(bindparam("targets", type_=ARRAY(Text)), bindparam("referring", type_=ARRAY(Text))),
    tuple,
)
_of_order = [
    select(orders.c.completed_at.label("at")).where(orders.c.id == _order_ids),
    *(
        select(time).where(order_id == _order_ids, time.is_not(None))
        for order_id, time in (
            (payments.c.order_id, payments.c.captured_at),
            (payments.c.order_id, payments.c.voided_at),
            (refunds.c.order_id, refunds.c.updated_at),
        )
    ),
]
_TIMES = statement(union(*_of_order), lambda record: cast(datetime, record[0]))
_refunded = (
    select(func.coalesce(func.sum(payments.c.refunded_amount), literal_column("0")))
    .where(payments.c.order_id == orders.c.id)
    .correlate(orders)
    .scalar_subquery()
)
_COPIES = (
    *("id", "number", "user_id", "email", "currency", "item_count", "item_total", "total"),
    *("payment_state", "shipment_state", "created_at", "updated_at", "completed_at", "canceled_at"),
)
_source = select(
    *(orders.c[name] for name in _COPIES),
    sql_cast(_refunded, BigInteger).label("refunded"),
    bindparam("object_name", type_=Text()).label("object_name"),
    bindparam("position", type_=BigInteger).label("position"),
    bindparam("size", type_=BigInteger).label("size"),
    bindparam("encryption_key", type_=archived_orders.c.encryption_key.type).label("encryption_key"),
    _now.label("archived_at"),
).where(orders.c.id == bindparam("order_id", type_=_ID))
_INSERT = statement(
    insert(archived_orders).from_select([each.name for each in _source.selected_columns], _source),
    lambda record: None,
)
_DELETE_ORDERS = statement(delete(orders).where(orders.c.id == _order_ids).returning(orders.c.id), _read_id)
_days = func.unnest(bindparam("days", type_=ARRAY(Date))).table_valued("day", name="days").render_derived()
_FREEZE = statement(
    insert(frozen_days).from_select(["day"], select(_days.c.day)).on_conflict_do_nothing(), lambda record: None
)
_number = bindparam("number", type_=Text())
_FIND = statement(
    select(archived_orders)
    .where(or_(archived_orders.c.number == _number, archived_orders.c.id == bindparam("id", type_=_ID)))
    .order_by(archived_orders.c.completed_at.desc())
    .limit(literal_column("1")),
    into(ArchivedOrder),
)
_LOCK = statement(
    select(archived_orders).where(archived_orders.c.id == bindparam("id", type_=_ID)).with_for_update(),
    into(ArchivedOrder),
)
_DELETE = statement(
    delete(archived_orders).where(archived_orders.c.id == bindparam("id", type_=_ID)).returning(archived_orders.c.id),
    lambda record: None,
)
_TOUCH = statement(
    update(orders)
    .where(orders.c.id == bindparam("order_id", type_=_ID))
    .values(updated_at=_now, user_id=bindparam("new_user_id", type_=_ID))
    .returning(orders.c.id),
    lambda record: None,
)
_SEARCH = statement(
    select(archived_orders)
    .where(
        or_(
            archived_orders.c.number == _number,
            literal_column(customer_of("archived_orders.email"), Text()) == bindparam("customer", type_=Text()),
        )
    )
    .order_by(archived_orders.c.completed_at.desc(), archived_orders.c.id)
    .limit(bindparam("most", type_=BigInteger)),
    into(ArchivedOrder),
)


async def lease_run(db: DatabaseSession) -> ArchiveState | None:
    """Lets this process archive orders for a while; None if another one does."""
    return await db.one(_LEASE, lease=LEASE_SECONDS)


async def end_run(db: DatabaseSession, completed_at: datetime | None, order_id: UUID | None) -> None:
    """Ends the lease. The next run continues after an order, or begins with the oldest one."""
    await db.one(_SAVE_STATE, new_completed_at=completed_at, new_order_id=order_id)


async def list_next(db: DatabaseSession, state: ArchiveState, before: datetime, *, most: int) -> list[Order]:
    """Returns the oldest completed orders that were not examined yet."""
    after, after_id = state.completed_at or datetime.min.replace(tzinfo=UTC), state.order_id or UUID(int=0)
    return await db.all(_NEXT, after=after, after_id=after_id, before=before, most=most)


async def list_finished(db: DatabaseSession, order_ids: Sequence[UUID], before: datetime) -> list[UUID]:
    """Returns which of these orders nothing will happen to, and nothing has happened to for a while."""
    finished_ids = set(await db.all(_FINISHED, order_ids=list(order_ids), before=before))
    return [each for each in order_ids if each in finished_ids - await _list_needed(db, order_ids)]


async def lock_finished(db: DatabaseSession, order_ids: Sequence[UUID], before: datetime) -> list[UUID]:
    """Locks those orders that are still finished, and that nobody else has locked."""
    locked_ids = set(await db.all(_LOCK_FINISHED, order_ids=list(order_ids), before=before))
    return [each for each in order_ids if each in locked_ids - await _list_needed(db, order_ids)]


async def _list_needed(db: DatabaseSession, order_ids: Sequence[UUID]) -> set[UUID]:
    """Returns the orders that rows of other tables refer to, such as those of extensions."""
    needed_ids: set[UUID] = set()
    for name, column_name, target_name in await db.all(_REFERENCES, targets=_OWN_NAMES, referring=_REFERRING_NAMES):
        order_id = column("id" if target_name == "orders" else "order_id", _ID)
        referred_ids = select(column(column_name, _ID)).select_from(table(name, column(column_name)))
        clause = (
            select(order_id)
            .select_from(table(target_name, column("id"), order_id))
            .where(order_id == _order_ids, column("id", _ID).in_(referred_ids))
        )
        needed_ids |= set(await db.all(dynamic_statement(clause, _read_id), order_ids=list(order_ids)))
    return needed_ids


async def list_times(db: DatabaseSession, order_ids: Sequence[UUID]) -> list[datetime]:
    """Returns when orders were completed, paid and refunded."""
    return await db.all(_TIMES, order_ids=list(order_ids))


async def freeze_days(db: DatabaseSession, days: Sequence[date]) -> None:
    await db.all(_FREEZE, days=list(days))


async def insert_archived(db: DatabaseSession, order_id: UUID, part: ArchivedPart, object_name: str) -> None:
    """Copies what remains of an order."""
    values = {"position": part.position, "size": part.size, "encryption_key": part.encryption_key}
    await db.one(_INSERT, order_id=order_id, object_name=object_name, **values)


async def delete_orders(db: DatabaseSession, order_ids: Sequence[UUID]) -> list[UUID]:
    """Deletes orders with all rows that are archived with them."""
    return await db.all(_DELETE_ORDERS, order_ids=list(order_ids))


async def find_archived(db: DatabaseSession, key: str) -> ArchivedOrder | None:
    """Finds an archived order by number or id."""
    return await db.one(_FIND, number=key, id=as_uuid(key))


async def lock_archived(db: DatabaseSession, order_id: UUID) -> ArchivedOrder | None:
    return await db.one(_LOCK, id=order_id)


async def delete_archived(db: DatabaseSession, order_id: UUID) -> None:
    """Deletes what remains of an archived order, with its key: nobody can read its part of the object again."""
    await db.one(_DELETE, id=order_id)


async def touch_restored(db: DatabaseSession, order: ArchivedOrder) -> None:
    """Sets the time of the last change, so that the order is not archived again at once, and the present owner."""
    await db.one(_TOUCH, order_id=order.id, new_user_id=order.user_id)


async def search_archived(db: DatabaseSession, number: str, customer: str | None, *, most: int) -> list[ArchivedOrder]:
    """Returns the newest archived orders with a number, or of a customer by the key of the address."""
    return await db.all(_SEARCH, number=number, customer=customer, most=most)
