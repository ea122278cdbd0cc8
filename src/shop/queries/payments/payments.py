"""Statements for payments, payment attempts, payment methods and refunds."""

from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, ColumnElement, Text, and_, bindparam, case, delete, exists, func, or_, select, update
from sqlalchemy import any_ as sql_any
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import UUID as PG_UUID
from sqlalchemy.dialects.postgresql import insert

from shop.db.pool import DatabaseSession
from shop.db.statements import any_of, into, seconds, statement
from shop.models.cart.orders import orders
from shop.models.checkout.payments import (
    STORE_CREDIT_METHOD,
    Payment,
    PaymentAttempt,
    PaymentMethod,
    payment_attempts,
    payment_methods,
    payment_notices,
    payment_sources,
    payments,
    refunds,
    unsettled_attempts,
)
from shop.models.checkout.store_credit import store_credit_events
from shop.queries.cart.line_items import IS_SAME_VERSION, OrderConflict

_ID = PG_UUID(as_uuid=True)
_refund_total = (
    select(sql_cast(func.coalesce(func.sum(payments.c.refunded_amount), 0), BigInteger))
    .where(payments.c.order_id == orders.c.id)
    .correlate(orders)
    .scalar_subquery()
)
REFUNDED_AMOUNT: ColumnElement[int] = case(
    (orders.c.completed_at.is_not(None) & (orders.c.payment_total < orders.c.total), _refund_total), else_=0
)
"""The refunded amount of an order; summed only if it is completed and not fully paid."""
_is_offered = (
    payment_methods.c.deleted_at.is_(None),
    payment_methods.c.active,
    payment_methods.c.display_on == any_of("displays", Text()),
)
_METHODS = statement(
    select(payment_methods).where(*_is_offered).order_by(payment_methods.c.position, payment_methods.c.id),
    into(PaymentMethod),
)
_METHOD = statement(
    select(payment_methods).where(*_is_offered, payment_methods.c.id == bindparam("id", type_=_ID)),
    into(PaymentMethod),
)
_METHODS_OF = statement(
    select(payment_methods).where(payment_methods.c.id == any_of("ids", _ID)),
    into(PaymentMethod),
)
_PAYMENTS = statement(
    select(payments)
    .where(payments.c.order_id == any_of("order_ids", _ID))
    .order_by(payments.c.created_at, payments.c.id),
    into(Payment),
)
_new_payment: dict[str, Any] = {
    **{
        name: bindparam(name, type_=payments.c[name].type)
        for name in ("id", "order_id", "payment_method_id", "source_id", "number", "amount")
    },
    "created_at": func.now(),
    "updated_at": func.now(),
}
_INSERT_PAYMENT = statement(insert(payments).values(_new_payment).returning(payments), into(Payment))
_saved_order = (
    update(orders)
    .where(orders.c.id == bindparam("order_id", type_=_ID), IS_SAME_VERSION)
    .values(state=bindparam("new_state", type_=Text()), updated_at=func.now())
    .returning(orders.c.id)
    .cte("saved")
)
_CHOOSE_PAYMENT = statement(
    insert(payments)
    .from_select(
        list(_new_payment),
        select(*_new_payment.values()).where(select(_saved_order.c.id).scalar_subquery().is_not(None)),
    )
    .returning(payments),
    into(Payment),
)
_IS_PAYING = statement(
    select(payments.c.id)
    .where(
        payments.c.order_id == bindparam("order_id", type_=_ID),
        or_(payments.c.state == "processing", payments.c.state == "pending", payments.c.state == "completed"),
    )
    .limit(1),
    lambda record: cast(UUID, record[0]),
)
_INVALIDATE = statement(
    update(payments)
    .where(
        payments.c.order_id == bindparam("of_order", type_=_ID),
        payments.c.state == "checkout",
        payments.c.payment_method_id != STORE_CREDIT_METHOD,
    )
    .values(state="invalid", updated_at=func.now())
    .returning(payments.c.id),
    lambda record: cast(UUID, record[0]),
)
# Payments replaced before any attempt are not needed; without deletion, a caller could store any number of them.
_delete_untried = (
    delete(payments)
    .where(
        payments.c.order_id == bindparam("of_order", type_=_ID),
        or_(
            payments.c.state == "invalid",
            and_(payments.c.state == "checkout", payments.c.payment_method_id != STORE_CREDIT_METHOD),
        ),
        ~exists().where(payment_attempts.c.payment_id == payments.c.id),
        ~exists().where(store_credit_events.c.payment_id == payments.c.id),
    )
    .returning(payments.c.source_id)
    .cte("untried")
)
_REMOVE_UNTRIED = statement(
    delete(payment_sources)
    .where(payment_sources.c.id.in_(select(_delete_untried.c.source_id)), payment_sources.c.used_at.is_(None))
    .returning(payment_sources.c.id),
    lambda record: cast(UUID, record[0]),
)
_change = (
    update(payments)
    .where(
        payments.c.id == bindparam("payment_id", type_=_ID),
        payments.c.state == any_of("befores", Text()),
    )
    .values(
        state=bindparam("new_state", type_=Text()),
        amount=func.coalesce(bindparam("new_amount", type_=BigInteger()), payments.c.amount),
        captured_amount=func.coalesce(bindparam("new_captured", type_=BigInteger()), payments.c.captured_amount),
        refunded_amount=func.coalesce(bindparam("new_refunded", type_=BigInteger()), payments.c.refunded_amount),
        response_code=func.coalesce(bindparam("new_reference", type_=Text()), payments.c.response_code),
        updated_at=func.now(),
    )
    .returning(payments)
)
_CHANGE = statement(_change, into(Payment))
CHANGED_PAYMENT = _change.cte("changed_payment")
"""Changes a payment; its parameters, with those of `NEW_ATTEMPT`, are those of `describe_attempt`."""
_outcome = bindparam("outcome", type_=Text())
_attempt_values = {
    "id": bindparam("attempt_id", type_=_ID),
    "order_id": CHANGED_PAYMENT.c.order_id,
    "payment_id": CHANGED_PAYMENT.c.id,
    "act": bindparam("act", type_=Text()),
    "amount": CHANGED_PAYMENT.c.amount,
    "outcome": _outcome,
    "reference": case((_outcome == "approved", CHANGED_PAYMENT.c.response_code)),
    "actor_kind": bindparam("actor_kind", type_=Text()),
    "actor_id": bindparam("actor_id", type_=_ID),
    "created_at": func.now(),
    "ended_at": case((_outcome == "approved", func.now())),
}
NEW_ATTEMPT = (
    insert(payment_attempts).from_select(list(_attempt_values), select(*_attempt_values.values())).cte("new_attempt")
)
_BEGIN_ATTEMPT = statement(select(CHANGED_PAYMENT).add_cte(NEW_ATTEMPT), into(Payment))
_stale = (
    select(payment_attempts.c.id)
    .join(unsettled_attempts, unsettled_attempts.c.attempt_id == payment_attempts.c.id)
    .where(
        payment_attempts.c.created_at < func.now() - seconds("age"),
        func.coalesce(payment_attempts.c.looked_at < func.now() - seconds("pause"), True),
    )
    .order_by(payment_attempts.c.created_at)
    .limit(bindparam("most", type_=BigInteger()))
    .with_for_update(of=payment_attempts, skip_locked=True)
    .scalar_subquery()
)
_CLAIM_STALE = statement(
    update(payment_attempts)
    .where(payment_attempts.c.id == sql_any(_stale))
    .values(looked_at=func.now())
    .returning(payment_attempts),
    into(PaymentAttempt),
)
_PAYMENT = statement(select(payments).where(payments.c.id == bindparam("id", type_=_ID)), into(Payment))
_END_REFUND = statement(
    update(refunds)
    .where(refunds.c.reference == bindparam("of_attempt", type_=Text()), refunds.c.state == "pending")
    .values(state=bindparam("new_state", type_=Text()), updated_at=func.now())
    .returning(refunds.c.id),
    lambda record: cast(UUID, record[0]),
)
_ATTEMPT = statement(
    select(payment_attempts).where(payment_attempts.c.id == bindparam("id", type_=_ID)), into(PaymentAttempt)
)
_IS_OLDER = statement(
    select(payment_attempts.c.id).where(
        payment_attempts.c.id == bindparam("id", type_=_ID),
        payment_attempts.c.created_at < func.now() - seconds("age"),
    ),
    lambda record: cast(UUID, record[0]),
)
_ATTEMPTS = statement(
    select(payment_attempts)
    .where(payment_attempts.c.order_id == bindparam("order_id", type_=_ID))
    .order_by(payment_attempts.c.id),
    into(PaymentAttempt),
)
_END = statement(
    update(payment_attempts)
    .where(payment_attempts.c.id == bindparam("attempt_id", type_=_ID), payment_attempts.c.outcome == "unknown")
    .values(
        outcome=bindparam("new_outcome", type_=Text()),
        reference=bindparam("new_reference", type_=Text()),
        message=bindparam("new_message", type_=Text()),
        ended_at=func.now(),
    )
    .returning(payment_attempts.c.id),
    lambda record: cast(UUID, record[0]),
)
_SAVE_REFERENCE = statement(
    update(payment_attempts)
    .where(payment_attempts.c.id == bindparam("attempt_id", type_=_ID), payment_attempts.c.outcome == "unknown")
    .values(reference=bindparam("new_reference", type_=Text()))
    .returning(payment_attempts.c.id),
    lambda record: cast(UUID, record[0]),
)
_INSERT_NOTICE = statement(
    insert(payment_notices)
    .values(
        id=bindparam("id", type_=_ID),
        payment_method_id=bindparam("payment_method_id", type_=_ID),
        reference=bindparam("reference", type_=Text()),
        payment_id=bindparam("payment_id", type_=_ID),
        created_at=func.now(),
    )
    .on_conflict_do_nothing()
    .returning(payment_notices.c.id),
    lambda record: cast(UUID, record[0]),
)
STOREFRONT_DISPLAYS = ("both", "front_end")


async def list_methods(db: DatabaseSession, displays: tuple[str, ...] = STOREFRONT_DISPLAYS) -> list[PaymentMethod]:
    return await db.all(_METHODS, displays=list(displays))


async def find_method(
    db: DatabaseSession, method_id: UUID, displays: tuple[str, ...] = STOREFRONT_DISPLAYS
) -> PaymentMethod | None:
    return await db.one(_METHOD, id=method_id, displays=list(displays))


async def list_methods_of(db: DatabaseSession, ids: Sequence[UUID]) -> dict[UUID, PaymentMethod]:
    return {method.id: method for method in await db.all(_METHODS_OF, ids=list(ids))} if ids else {}


async def insert_payment(db: DatabaseSession, **values: Any) -> Payment:
    payment = await db.one(_INSERT_PAYMENT, **values)
    if payment is None:
        raise AssertionError("an insert returns its row")
    return payment


async def choose_payment(
    db: DatabaseSession, *, order_state: str, row_version: str | None = None, **values: Any
) -> Payment:
    """Inserts a payment of an open order and saves the state of the order; raises OrderConflict and writes nothing if
    it has another version than the given one.
    """
    payment = await db.one(_CHOOSE_PAYMENT, new_state=order_state, row_version=row_version, **values)
    if payment is None:
        raise OrderConflict()
    return payment


async def list_payments(db: DatabaseSession, *order_ids: UUID) -> list[Payment]:
    return await db.all(_PAYMENTS, order_ids=list(order_ids))


async def is_paying(db: DatabaseSession, order_id: UUID) -> bool:
    """Returns whether a payment of an order is in progress or completed."""
    return await db.one(_IS_PAYING, order_id=order_id) is not None


async def invalidate_open(db: DatabaseSession, order_id: UUID) -> None:
    await db.all(_INVALIDATE, of_order=order_id)


async def remove_untried(db: DatabaseSession, order_id: UUID) -> None:
    """Deletes the replaced payments of an open order, with their unsaved cards."""
    await db.all(_REMOVE_UNTRIED, of_order=order_id)


class PaymentChange(msgspec.Struct, frozen=True):
    """A change of a payment; fields that are `None` stay unchanged."""

    from_states: frozenset[str]
    state: str
    amount: int | None = None
    captured: int | None = None
    refunded: int | None = None
    reference: str | None = None


async def change_payment(db: DatabaseSession, payment_id: UUID, change: PaymentChange) -> Payment | None:
    """Changes a payment; returns `None` if its state has changed and does not allow it."""
    return await db.one(_CHANGE, payment_id=payment_id, **_parameters(change))


def _parameters(change: PaymentChange) -> dict[str, Any]:
    return {
        "befores": sorted(change.from_states),
        "new_state": change.state,
        "new_amount": change.amount,
        "new_captured": change.captured,
        "new_refunded": change.refunded,
        "new_reference": change.reference,
    }


async def begin_attempt(
    db: DatabaseSession, payment_id: UUID, change: PaymentChange, attempt_id: UUID, **attempt: Any
) -> Payment | None:
    """Changes a payment and records an attempt for its amount: `act`, `outcome` and the actor. Returns `None` if the
    state of the payment has changed and does not allow it.
    """
    return await db.one(_BEGIN_ATTEMPT, **describe_attempt(payment_id, change, attempt_id), **attempt)


def describe_attempt(payment_id: UUID | None, change: PaymentChange, attempt_id: UUID) -> dict[str, Any]:
    return {"payment_id": payment_id, "attempt_id": attempt_id, **_parameters(change)}


async def claim_unsettled_attempts(db: DatabaseSession, age: int, pause: int, most: int = 20) -> list[PaymentAttempt]:
    """Claims unsettled attempts older than `age` seconds; each is claimed by one process, and not again within `pause`
    seconds.
    """
    return await db.all(_CLAIM_STALE, age=age, pause=pause, most=most)


async def find_payment(db: DatabaseSession, payment_id: UUID) -> Payment | None:
    return await db.one(_PAYMENT, id=payment_id)


async def find_attempt(db: DatabaseSession, attempt_id: UUID) -> PaymentAttempt | None:
    return await db.one(_ATTEMPT, id=attempt_id)


async def insert_webhook_record(
    db: DatabaseSession, notice_id: UUID, method_id: UUID, reference: str, payment_id: UUID
) -> bool:
    """Records a webhook notice; returns whether it is new."""
    values = {"payment_method_id": method_id, "reference": reference, "payment_id": payment_id}
    return await db.one(_INSERT_NOTICE, id=notice_id, **values) is not None


async def end_refund(db: DatabaseSession, attempt_id: str, state: str) -> UUID | None:
    """Returns the id of the refund; None if it has ended before."""
    return await db.one(_END_REFUND, of_attempt=attempt_id, new_state=state)


async def is_older(db: DatabaseSession, attempt_id: UUID, age: int) -> bool:
    return await db.one(_IS_OLDER, id=attempt_id, age=age) is not None


async def save_reference(db: DatabaseSession, attempt_id: UUID, reference: str) -> None:
    """Saves the provider's reference of an unsettled attempt."""
    await db.one(_SAVE_REFERENCE, attempt_id=attempt_id, new_reference=reference)


async def list_attempts(db: DatabaseSession, order_id: UUID) -> list[PaymentAttempt]:
    return await db.all(_ATTEMPTS, order_id=order_id)


async def end_attempt(
    db: DatabaseSession, attempt_id: UUID, outcome: str, reference: str | None, message: str | None
) -> bool:
    """Records the outcome of an attempt; returns `False` if it had one already."""
    values = {"new_outcome": outcome, "new_reference": reference, "new_message": message}
    return await db.one(_END, attempt_id=attempt_id, **values) is not None
