"""Reads the timelines of orders and customers."""

from uuid import UUID

from sqlalchemy import BigInteger, bindparam, literal_column, or_, select

from shop.db.pool import DatabaseSession
from shop.db.statements import into, statement
from shop.models.cart.orders import orders
from shop.models.cart.timeline import TimelineRow, timeline_entries

_most = bindparam("most", type_=BigInteger)
_newest_first = (timeline_entries.c.at.desc(), timeline_entries.c.ordinal.desc(), timeline_entries.c.id.desc())
_OF_ORDER = statement(
    select(timeline_entries)
    .where(timeline_entries.c.order_id == bindparam("order_id"))
    .order_by(*_newest_first)
    .limit(_most),
    into(TimelineRow),
)
_newest_orders = (
    select(orders.c.id)
    .where(orders.c.user_id == bindparam("user_id"), orders.c.completed_at.is_not(None))
    .order_by(orders.c.created_at.desc())
    .limit(_most)
)
_OF_CUSTOMER = statement(
    select(timeline_entries)
    .where(
        or_(
            timeline_entries.c.user_id == bindparam("user_id"),
            timeline_entries.c.order_id.in_(_newest_orders)
            & (timeline_entries.c.type == literal_column("'order.completed'")),
        )
    )
    .order_by(*_newest_first)
    .limit(_most),
    into(TimelineRow),
)


async def list_of_order(db: DatabaseSession, order_id: UUID, *, most: int) -> list[TimelineRow]:
    """Returns the entries of an order, newest first."""
    return await db.all(_OF_ORDER, order_id=order_id, most=most)


async def list_of_customer(db: DatabaseSession, user_id: UUID, *, most: int) -> list[TimelineRow]:
    """Returns the entries of a customer and of the completion of their orders, newest first."""
    return await db.all(_OF_CUSTOMER, user_id=user_id, most=most)
