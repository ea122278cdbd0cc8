"""Statements for the dashboard's store credit pages."""

from typing import cast
from uuid import UUID

from sqlalchemy import BigInteger, bindparam, func, select
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import into, statement
from shop.models.access.operators import operators
from shop.models.cart.orders import orders
from shop.models.checkout.store_credit import StoreCredit, StoreCreditEvent, store_credit_events, store_credits
from shop.queries.dashboard import count_rows

_ID = PG_UUID(as_uuid=True)
_user_id = bindparam("user_id", type_=_ID)


class CreditLine(StoreCreditEvent, frozen=True, kw_only=True):
    """A ledger entry with its order number and operator."""

    order_number: str | None
    operator_email: str | None


_left = func.sum(store_credits.c.amount - store_credits.c.amount_used)
_BALANCES = statement(
    select(store_credits.c.currency, sql_cast(_left, BigInteger).label("amount"))
    .where(store_credits.c.user_id == _user_id)
    .group_by(store_credits.c.currency)
    .order_by(store_credits.c.currency),
    lambda record: cast(tuple[str, int], tuple(record)),
)
_GRANTS = statement(
    select(store_credits)
    .where(store_credits.c.user_id == _user_id, store_credits.c.amount_used < store_credits.c.amount)
    .order_by(store_credits.c.id.desc()),
    into(StoreCredit),
)
_ledger = (
    select(
        store_credit_events,
        orders.c.number.label("order_number"),
        operators.c.email.label("operator_email"),
    )
    .select_from(
        store_credit_events.outerjoin(orders, orders.c.id == store_credit_events.c.order_id).outerjoin(
            operators, operators.c.id == store_credit_events.c.actor_id
        )
    )
    .where(store_credit_events.c.user_id == _user_id)
    .order_by(store_credit_events.c.id.desc())
    .limit(bindparam("most", type_=BigInteger()))
)
_LEDGER = statement(_ledger, into(CreditLine))
_OLDER = statement(_ledger.where(store_credit_events.c.id < bindparam("before", type_=_ID)), into(CreditLine))
_COUNT_LEDGER = count_rows(select(store_credit_events).where(store_credit_events.c.user_id == _user_id))


async def list_balances(db: DatabaseSession, user_id: UUID) -> list[tuple[str, int]]:
    """Returns the balance by currency, which is 0 if all of it is spent."""
    return await db.all(_BALANCES, user_id=user_id)


async def list_grants(db: DatabaseSession, user_id: UUID) -> list[StoreCredit]:
    """Returns the store credits with a balance, newest first."""
    return await db.all(_GRANTS, user_id=user_id)


async def list_ledger(db: DatabaseSession, user_id: UUID, before: UUID | None = None, *, most: int) -> list[CreditLine]:
    """Returns ledger entries, newest first; their ids are ordered by time."""
    return await db.all(_OLDER if before else _LEDGER, user_id=user_id, before=before, most=most)


async def count_ledger(db: DatabaseSession, user_id: UUID) -> int:
    """Returns the number of ledger entries, at most one more than `COUNT_LIMIT`."""
    return await db.one(_COUNT_LEDGER, user_id=user_id) or 0
