"""Statements for store credits and their ledger."""

from typing import cast
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, ColumnElement, Text, bindparam, func, select, update
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import any_of, into, statement
from shop.models.cart.orders import orders
from shop.models.checkout.payments import STORE_CREDIT_METHOD, payments
from shop.models.checkout.store_credit import StoreCredit, StoreCreditEvent, store_credit_events, store_credits

_ID = PG_UUID(as_uuid=True)
_is_of_user = (
    store_credits.c.user_id == bindparam("user_id", type_=_ID),
    store_credits.c.currency == bindparam("currency", type_=Text()),
)
_left = store_credits.c.amount - store_credits.c.amount_used
_BALANCE = statement(
    select(sql_cast(func.coalesce(func.sum(_left), 0), BigInteger)).where(*_is_of_user),
    lambda record: cast(int, record[0]),
)
CREDIT_LEFT: ColumnElement[int] = (
    select(sql_cast(func.coalesce(func.sum(_left), 0), BigInteger))
    .where(store_credits.c.user_id == orders.c.user_id, store_credits.c.currency == orders.c.currency)
    .correlate(orders)
    .scalar_subquery()
)
"""The store credit balance of an order's customer in its currency."""
_LOCK_CREDITS = statement(
    select(store_credits)
    .where(*_is_of_user, store_credits.c.amount_used < store_credits.c.amount)
    .order_by(store_credits.c.id)
    .with_for_update(),
    into(StoreCredit),
)
_LOCK_CREDIT = statement(
    select(store_credits).where(store_credits.c.id == bindparam("id", type_=_ID)).with_for_update(), into(StoreCredit)
)


class PaymentCredit(StoreCredit, frozen=True, kw_only=True):
    """A store credit with the payment that it funds."""

    payment_id: UUID


_spent_of = (
    select(store_credit_events.c.store_credit_id)
    .where(store_credit_events.c.payment_id == payments.c.id)
    .order_by(store_credit_events.c.id)
    .limit(1)
    .scalar_subquery()
)
_oldest = store_credits.alias("oldest")
_next_spent = (
    select(_oldest.c.id)
    .where(
        _oldest.c.user_id == orders.c.user_id,
        _oldest.c.currency == orders.c.currency,
        _oldest.c.amount_used < _oldest.c.amount,
    )
    .order_by(_oldest.c.id)
    .limit(1)
    .correlate(orders)
    .scalar_subquery()
)
_SOURCES = statement(
    select(payments.c.id.label("payment_id"), store_credits)
    .join(orders, orders.c.id == payments.c.order_id)
    .join(store_credits, store_credits.c.id == func.coalesce(_spent_of, _next_spent))
    .where(payments.c.id == any_of("payment_ids", _ID)),
    into(PaymentCredit),
)


class SpentCredit(msgspec.Struct, frozen=True):
    """The amount of a store credit that a payment spent, less the restored amount."""

    store_credit_id: UUID
    amount: int


_SPENDING = statement(
    select(
        store_credit_events.c.store_credit_id,
        sql_cast(-func.sum(store_credit_events.c.amount), BigInteger).label("amount"),
    )
    .where(store_credit_events.c.payment_id == bindparam("payment_id", type_=_ID))
    .group_by(store_credit_events.c.store_credit_id)
    .having(func.sum(store_credit_events.c.amount) < 0)
    .order_by(store_credit_events.c.store_credit_id.desc()),
    lambda record: SpentCredit(*record),
)
_USE = statement(
    update(store_credits)
    .where(store_credits.c.id == bindparam("credit_id", type_=_ID))
    .values(
        amount_used=store_credits.c.amount_used + bindparam("more", type_=BigInteger()),
        updated_at=func.now(),
    )
    .returning(store_credits.c.id),
    lambda record: cast(UUID, record[0]),
)
_invalidate_payments = (
    update(payments)
    .where(
        payments.c.order_id == bindparam("of_order", type_=_ID),
        payments.c.payment_method_id == STORE_CREDIT_METHOD,
        payments.c.state == "checkout",
    )
    .values(state="invalid", updated_at=func.now())
    .returning(payments.c.id)
    .cte("dropped")
)
_DROP = statement(
    update(orders)
    .where(orders.c.id == bindparam("of_order", type_=_ID))
    .values(store_credit_total=bindparam("new_total", type_=BigInteger()), updated_at=func.now())
    .returning(orders.c.id)
    .add_cte(_invalidate_payments),
    lambda record: cast(UUID, record[0]),
)


class CreditEntry(StoreCreditEvent, frozen=True, kw_only=True):
    """A ledger entry with the number of its order."""

    order_number: str | None


_ENTRIES = statement(
    select(store_credit_events, orders.c.number.label("order_number"))
    .outerjoin(orders, orders.c.id == store_credit_events.c.order_id)
    .where(store_credit_events.c.user_id == bindparam("user_id", type_=_ID))
    .order_by(store_credit_events.c.id.desc())
    .limit(bindparam("most", type_=BigInteger())),
    into(CreditEntry),
)


async def list_entries(db: DatabaseSession, user_id: UUID, *, most: int) -> list[CreditEntry]:
    """Returns the ledger entries of a customer in all currencies, newest first."""
    return await db.all(_ENTRIES, user_id=user_id, most=most)


async def find_credit_balance(db: DatabaseSession, user_id: UUID, currency: str) -> int:
    return await db.one(_BALANCE, user_id=user_id, currency=currency) or 0


async def lock_credits(db: DatabaseSession, user_id: UUID, currency: str) -> list[StoreCredit]:
    """Locks the customer's store credits with a balance, the oldest first."""
    return await db.all(_LOCK_CREDITS, user_id=user_id, currency=currency)


async def lock_credit(db: DatabaseSession, credit_id: UUID) -> StoreCredit | None:
    return await db.one(_LOCK_CREDIT, id=credit_id)


async def list_spent_credits(db: DatabaseSession, payment_id: UUID) -> list[SpentCredit]:
    """Returns the amount that a payment spent from each store credit, the newest first."""
    return await db.all(_SPENDING, payment_id=payment_id)


async def list_sources_of(db: DatabaseSession, payment_ids: list[UUID]) -> dict[UUID, PaymentCredit]:
    """Returns, by payment, the store credit that it used first or will use first."""
    return {credit.payment_id: credit for credit in await db.all(_SOURCES, payment_ids=payment_ids)}


async def use_credit(db: DatabaseSession, credit_id: UUID, more: int) -> None:
    """Increases the used amount, or decreases it if `more` is negative."""
    await db.one(_USE, credit_id=credit_id, more=more)


async def drop_payments(db: DatabaseSession, order_id: UUID, then: int = 0) -> None:
    """Invalidates the open store credit payments of an order and sets its `store_credit_total`."""
    await db.one(_DROP, of_order=order_id, new_total=then)
