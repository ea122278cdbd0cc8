"""Which statements read and change orders."""

from datetime import datetime
from typing import cast
from uuid import UUID

from sqlalchemy import bindparam, delete, func, select
from sqlalchemy.dialects.postgresql import insert

from shop.db.pool import Session
from shop.db.statements import into, statement
from shop.models.orders import Order, orders

_IS_OPEN = orders.c.completed_at.is_(None)

_INSERT = statement(
    insert(orders)
    .values(
        id=bindparam("id"),
        number=bindparam("number"),
        currency=bindparam("currency"),
        created_at=func.now(),
        updated_at=func.now(),
    )
    .on_conflict_do_nothing(index_elements=["number"])
    .returning(orders.c.created_at),
    lambda record: cast(datetime, record[0]),
)
_FIND_OPEN = statement(select(orders).where(orders.c.id == bindparam("id"), _IS_OPEN), into(Order))
_DELETE_OPEN = statement(
    delete(orders).where(orders.c.id == bindparam("id"), _IS_OPEN).returning(orders.c.id),
    lambda record: cast(UUID, record[0]),
)


async def insert_cart(db: Session, *, cart_id: UUID, number: str, currency: str) -> Order | None:
    """None when the number is taken. The row is built as declared: its defaults here are the table's defaults."""
    created_at = await db.one(_INSERT, id=cart_id, number=number, currency=currency)
    if created_at is None:
        return None
    return Order(id=cart_id, number=number, currency=currency, created_at=created_at, updated_at=created_at)


async def find_open_cart(db: Session, cart_id: UUID) -> Order | None:
    return await db.one(_FIND_OPEN, id=cart_id)


async def delete_open_cart(db: Session, cart_id: UUID) -> bool:
    return await db.one(_DELETE_OPEN, id=cart_id) is not None
