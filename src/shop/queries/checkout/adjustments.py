"""Statements that read and delete adjustments."""

from typing import cast
from uuid import UUID

from sqlalchemy import bindparam, delete, select
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import into, statement
from shop.models.checkout.coupons import Adjustment, adjustments

_of_order = adjustments.c.order_id == bindparam("order_id", type_=PG_UUID(as_uuid=True))
_is_manual = (_of_order, adjustments.c.source_type.is_(None))
_MANUAL = statement(select(adjustments).where(*_is_manual).order_by(adjustments.c.id.desc()), into(Adjustment))
_DROP = statement(
    delete(adjustments).where(*_is_manual).returning(adjustments.c.id), lambda record: cast(UUID, record[0])
)

_DROP_CALCULATED = statement(
    delete(adjustments).where(_of_order, adjustments.c.source_type.is_not(None)).returning(adjustments.c.id),
    lambda record: cast(UUID, record[0]),
)


async def list_manual(db: DatabaseSession, order_id: UUID) -> list[Adjustment]:
    """Returns the manual adjustments of an order, newest first."""
    return await db.all(_MANUAL, order_id=order_id)


async def drop_manual(db: DatabaseSession, order_id: UUID) -> None:
    await db.all(_DROP, order_id=order_id)


async def drop_calculated(db: DatabaseSession, order_id: UUID) -> None:
    """Deletes the taxes and promotions among the adjustments of an order."""
    await db.all(_DROP_CALCULATED, order_id=order_id)
