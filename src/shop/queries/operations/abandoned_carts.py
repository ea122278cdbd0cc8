"""Statements that find carts that were left alone."""

from datetime import timedelta
from typing import cast
from uuid import UUID

from sqlalchemy import BigInteger, and_, bindparam, exists, func, select
from sqlalchemy.dialects.postgresql import insert

from shop.db.pool import DatabaseSession
from shop.db.statements import statement
from shop.models.cart.orders import abandoned_carts, orders
from shop.queries.lookups import within_hours

IDLE = timedelta(days=1)
LOOK_BACK = timedelta(days=4)
"""Older carts are not looked at again; a shop that was stopped for longer misses those of that time."""
_now = func.now()
_is_idle = and_(
    within_hours(orders.c.updated_hour, "gteq", _now - LOOK_BACK),
    within_hours(orders.c.updated_hour, "lt", _now - IDLE),
    orders.c.updated_at < _now - IDLE,
)
_MARK = statement(
    insert(abandoned_carts)
    .from_select(
        ["order_id", "created_at"],
        select(orders.c.id, _now)
        .where(
            _is_idle,
            orders.c.completed_at.is_(None),
            orders.c.author_id.is_(None),
            orders.c.email.is_not(None),
            orders.c.item_count > 0,
            ~exists().where(abandoned_carts.c.order_id == orders.c.id),
        )
        .limit(bindparam("most", type_=BigInteger)),
    )
    .on_conflict_do_nothing()
    .returning(abandoned_carts.c.order_id),
    lambda record: cast(UUID, record[0]),
)


async def mark_abandoned(db: DatabaseSession, most: int) -> list[UUID]:
    """Marks idle carts with an e-mail address that are not marked yet; returns their ids."""
    return await db.all(_MARK, most=most)
