"""Statements for the orders of a customer: those of the account, and those that a guest placed with its address."""

from datetime import datetime
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, Text, bindparam, func, literal_column, select, union_all
from sqlalchemy import cast as sql_cast

from shop.base.listing import CursorPosition
from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, into, statement
from shop.models.access.users import users
from shop.models.cart.orders import Order, customer_of, order_lookups, orders
from shop.models.checkout.payments import payments
from shop.queries.dashboard import paginate


class CustomerOrder(Order, frozen=True, kw_only=True):
    """An order of a customer; a guest's order belongs to no account, and only its e-mail address is the customer's."""

    is_guest: bool


class Spending(msgspec.Struct, frozen=True):
    """What a customer bought in one currency: completed orders that are not canceled, minus refunds."""

    currency: str
    order_count: int
    amount: int
    last_at: datetime


_user_id = bindparam("user_id", type_=users.c.id.type)
# An address proves nothing until its owner has confirmed it.
_verified_user = (users.c.id == _user_id, users.c.verified_at.is_not(None))
_key = select(literal_column(customer_of("users.email"), Text())).where(*_verified_user).scalar_subquery()
# By the indexed expression, which ignores tags and dots, and then by the whole address.
GUEST_ORDER_IDS = (
    select(orders.c.id)
    .select_from(order_lookups.join(orders, orders.c.id == order_lookups.c.order_id))
    .where(
        order_lookups.c.is_completed,
        literal_column(customer_of("order_lookups.email"), Text()) == _key,
        func.lower(order_lookups.c.email) == select(users.c.email_key).where(*_verified_user).scalar_subquery(),
        orders.c.user_id.is_(None),
    )
)
_ids = union_all(select(orders.c.id).where(orders.c.user_id == _user_id), GUEST_ORDER_IDS).subquery("ids")
_select = select(orders, orders.c.user_id.is_(None).label("is_guest")).select_from(
    orders.join(_ids, _ids.c.id == orders.c.id)
)
_LIST: dict[str | None, Statement[CustomerOrder]] = {
    side: statement(paginate(_select, orders.c.created_at, orders.c.id, side), into(CustomerOrder))
    for side in (None, "before", "after")
}
_refunded = (
    select(func.coalesce(func.sum(payments.c.refunded_amount), literal_column("0")))
    .where(payments.c.order_id == orders.c.id)
    .correlate(orders)
    .scalar_subquery()
)
_SPENDING = statement(
    select(
        orders.c.currency,
        func.count().label("order_count"),
        sql_cast(func.sum(orders.c.total - _refunded), BigInteger).label("amount"),
        func.max(orders.c.completed_at).label("last_at"),
    )
    .select_from(orders.join(_ids, _ids.c.id == orders.c.id))
    .where(orders.c.completed_at.is_not(None), orders.c.canceled_at.is_(None))
    .group_by(orders.c.currency)
    .order_by(orders.c.currency),
    into(Spending),
)


async def list_orders(
    db: DatabaseSession, user_id: UUID, cursor: CursorPosition | None, *, most: int
) -> list[CustomerOrder]:
    """Returns a customer's carts and orders, newest first, with those of guests that have the verified address."""
    side = cursor.side if cursor else None
    position = {"at_": cursor and cursor.at, "id_": cursor and cursor.id} if cursor else {}
    rows = await db.all(_LIST[side], user_id=user_id, **position, most=most)
    return rows[::-1] if side == "after" else rows


async def list_spending(db: DatabaseSession, user_id: UUID) -> list[Spending]:
    """Returns what the customer bought, by currency."""
    return await db.all(_SPENDING, user_id=user_id)
