"""Pages of a customer's completed orders, archived ones among them."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, Boolean, and_, bindparam, func, literal_column, or_, select, union_all
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.base.listing import Keyset, Page, Sort
from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, any_of, dynamic_statement, into, statement
from shop.models.cart.archived_orders import ArchivedOrder, archived_orders
from shop.models.cart.orders import Order, orders

_ID = PG_UUID(as_uuid=True)
_user_id = bindparam("user_id", type_=_ID)


class ListedKey(msgspec.Struct, frozen=True):
    """An order of a page, and the value that it is sorted by."""

    id: UUID
    value: Any
    is_archived: bool


_COUNT = statement(
    select(func.count()).select_from(archived_orders).where(archived_orders.c.user_id == _user_id),
    lambda record: cast(int, record[0]),
)
_ARCHIVED = statement(
    select(archived_orders).where(archived_orders.c.id == any_of("order_ids", _ID)).order_by(archived_orders.c.id),
    into(ArchivedOrder),
)
_ORDERS = statement(select(orders).where(orders.c.id == any_of("order_ids", _ID)), into(Order))
_NEXT = statement(
    select(archived_orders)
    .where(archived_orders.c.id > bindparam("after", type_=_ID))
    .order_by(archived_orders.c.id)
    .limit(bindparam("most", type_=BigInteger)),
    into(ArchivedOrder),
)


@lru_cache(maxsize=64)
def _list_statement(sort: Sort, *, is_after: bool) -> Statement[ListedKey]:
    keys = union_all(_select_keys(orders, sort, is_after), _select_keys(archived_orders, sort, is_after)).subquery()
    clause = (
        select(keys)
        .order_by(keys.c.value.desc() if sort.is_descending else keys.c.value, keys.c.id)
        .offset(bindparam("skip", type_=BigInteger))
        .limit(bindparam("most", type_=BigInteger))
    )
    return dynamic_statement(clause, into(ListedKey))


def _select_keys(table: Any, sort: Sort, is_after: bool) -> Any:
    value, last_id = table.c[sort.name], bindparam("after_id", type_=_ID)
    last_value = bindparam("after", type_=value.type)
    is_archived = literal_column("true" if table is archived_orders else "false", Boolean())
    clause = select(table.c.id, value.label("value"), is_archived.label("is_archived")).where(
        table.c.user_id == _user_id, table.c.completed_at.is_not(None)
    )
    if not is_after:
        return clause
    is_later = value < last_value if sort.is_descending else value > last_value
    return clause.where(or_(is_later, and_(value == last_value, table.c.id > last_id)))


async def count_archived(db: DatabaseSession, user_id: UUID) -> int:
    return await db.one(_COUNT, user_id=user_id) or 0


async def list_keys(db: DatabaseSession, user_id: UUID, page: Page | Keyset, sort: Sort) -> list[ListedKey]:
    """Returns one page; with a cursor, one order more than the page size to detect a next page."""
    if isinstance(page, Page):
        places: dict[str, Any] = {"skip": page.offset, "most": page.size}
    else:
        places = {"skip": 0, "most": page.size + 1}
    after = page.after if isinstance(page, Keyset) else None
    if after:
        places |= {"after": after[0], "after_id": after[1]}
    return await db.all(_list_statement(sort, is_after=after is not None), user_id=user_id, **places)


async def list_archived(db: DatabaseSession, order_ids: Sequence[UUID]) -> list[ArchivedOrder]:
    """Returns what remains of these orders, in the order of their ids."""
    return await db.all(_ARCHIVED, order_ids=list(order_ids))


async def list_next(db: DatabaseSession, after: UUID, *, most: int) -> list[ArchivedOrder]:
    """Returns what remains of the orders after one, in the order of their ids."""
    return await db.all(_NEXT, after=after, most=most)


async def list_orders(db: DatabaseSession, order_ids: Sequence[UUID]) -> list[Order]:
    """Returns these orders, in their order."""
    by_id = {order.id: order for order in await db.all(_ORDERS, order_ids=list(order_ids))}
    return [by_id[order_id] for order_id in order_ids if order_id in by_id]
