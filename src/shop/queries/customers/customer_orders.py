"""Statements for the orders of a customer: those of the account, and those that a guest placed with its address."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, Text, and_, bindparam, func, literal_column, or_, select, union_all
from sqlalchemy import cast as sql_cast

from shop.base.listing import CursorPosition
from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, into, statement
from shop.models.access.users import users
from shop.models.cart.archived_orders import ArchivedOrder, archived_orders
from shop.models.cart.orders import Order, customer_of, order_lookups, orders
from shop.models.checkout.payments import payments
from shop.queries.dashboard import SortOrder, count_rows, load_page, paginate

SORTS: Mapping[str, SortOrder] = {
    "newest": SortOrder(orders.c.created_at),
    "oldest": SortOrder(orders.c.created_at, is_ascending=True),
}


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
_LIST: dict[tuple[str, str | None], Statement[CustomerOrder]] = {
    (sort, side): statement(paginate(_select, order, orders.c.id, side), into(CustomerOrder))
    for sort, order in SORTS.items()
    for side in (None, "before", "after")
}
_COUNT = count_rows(_select)
_refunded = (
    select(func.coalesce(func.sum(payments.c.refunded_amount), literal_column("0")))
    .where(payments.c.order_id == orders.c.id)
    .correlate(orders)
    .scalar_subquery()
)
_is_of_address = (
    literal_column(customer_of("archived_orders.email"), Text()) == _key,
    func.lower(archived_orders.c.email) == select(users.c.email_key).where(*_verified_user).scalar_subquery(),
)
_archived = select(archived_orders).where(
    or_(archived_orders.c.user_id == _user_id, and_(archived_orders.c.user_id.is_(None), *_is_of_address))
)
_purchases = union_all(
    select(orders.c.currency, (orders.c.total - _refunded).label("amount"), orders.c.completed_at)
    .select_from(orders.join(_ids, _ids.c.id == orders.c.id))
    .where(orders.c.completed_at.is_not(None), orders.c.canceled_at.is_(None)),
    _archived.with_only_columns(
        archived_orders.c.currency,
        (archived_orders.c.total - archived_orders.c.refunded).label("amount"),
        archived_orders.c.completed_at,
    ).where(archived_orders.c.canceled_at.is_(None)),
).subquery("purchases")
_SPENDING = statement(
    select(
        _purchases.c.currency,
        func.count().label("order_count"),
        sql_cast(func.sum(_purchases.c.amount), BigInteger).label("amount"),
        func.max(_purchases.c.completed_at).label("last_at"),
    )
    .group_by(_purchases.c.currency)
    .order_by(_purchases.c.currency),
    into(Spending),
)
_ARCHIVED = statement(
    _archived.order_by(archived_orders.c.completed_at.desc(), archived_orders.c.id).limit(
        bindparam("most", type_=BigInteger)
    ),
    into(ArchivedOrder),
)


async def list_orders(
    db: DatabaseSession, user_id: UUID, cursor: CursorPosition | None, *, most: int, sort: str = "newest"
) -> list[CustomerOrder]:
    """Returns a customer's carts and orders, with those of guests that have the verified address."""
    return await load_page(db, _LIST[sort, cursor.side if cursor else None], cursor, user_id=user_id, most=most)


async def count_orders(db: DatabaseSession, user_id: UUID) -> int:
    """Returns the number of a customer's carts and orders, at most one more than `COUNT_LIMIT`."""
    return await db.one(_COUNT, user_id=user_id) or 0


async def list_spending(db: DatabaseSession, user_id: UUID) -> list[Spending]:
    """Returns what the customer bought, by currency."""
    return await db.all(_SPENDING, user_id=user_id)


async def list_archived(db: DatabaseSession, user_id: UUID, *, most: int) -> list[ArchivedOrder]:
    """Returns the newest archived orders of a customer, with those of guests that have the verified address."""
    return await db.all(_ARCHIVED, user_id=user_id, most=most)
