"""Statements that read and change orders."""

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, cast
from uuid import UUID

from sqlalchemy import BigInteger, Text, and_, bindparam, delete, exists, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert

from shop.base.listing import Keyset, Page, Sort
from shop.db.pool import ConstraintViolation, DatabaseSession
from shop.db.statements import Statement, dynamic_statement, into, parameter_rows, statement
from shop.models.cart.orders import Order, orders, stock_holds
from shop.models.checkout.payments import payments
from shop.models.checkout.shipments import shipments
from shop.queries.cart.line_items import IS_SAME_VERSION, OrderConflict

_IS_OPEN = orders.c.completed_at.is_(None)


def _made_at(record: Any) -> datetime:
    return cast(datetime, record[0])


_callers = parameter_rows(id=orders.c.id.type, number=Text(), currency=Text())
_INSERT_GUESTS_CARTS = statement(
    insert(orders)
    .from_select([*_callers.c.keys(), "created_at", "updated_at"], select(*_callers.c, func.now(), func.now()))
    .returning(orders.c.created_at),
    _made_at,
)
_INSERT_UNLESS_TAKEN = statement(
    insert(orders)
    .values(
        id=bindparam("id"),
        number=bindparam("number"),
        user_id=bindparam("user_id"),
        currency=bindparam("currency"),
        created_at=func.now(),
        updated_at=func.now(),
    )
    .on_conflict_do_nothing(index_elements=["number"])
    .returning(orders.c.created_at),
    _made_at,
)
_FIND_OPEN = statement(select(orders).where(orders.c.id == bindparam("id"), _IS_OPEN), into(Order))
_LOCK_OPEN = statement(select(orders).where(orders.c.id == bindparam("id"), _IS_OPEN).with_for_update(), into(Order))
_LOCK_OTHER = statement(
    select(orders)
    .where(
        orders.c.user_id == bindparam("user_id"), orders.c.id != bindparam("id"), _IS_OPEN, orders.c.author_id.is_(None)
    )
    .order_by(orders.c.created_at.desc())
    .limit(1)
    .with_for_update(),
    into(Order),
)
# A cart with a payment in progress or completed, or with reserved stock, must not be deleted.
_is_free = (
    ~exists()
    .where(
        payments.c.order_id == orders.c.id,
        or_(payments.c.state == "processing", payments.c.state == "pending", payments.c.state == "completed"),
    )
    .correlate(orders),
    ~exists().where(stock_holds.c.order_id == orders.c.id).correlate(orders),
)
_DELETE_OPEN = statement(
    delete(orders).where(orders.c.id == bindparam("id"), _IS_OPEN, *_is_free).returning(orders.c.id),
    lambda record: cast(UUID, record[0]),
)

_LOCK_OPEN_OF = statement(
    select(orders).where(orders.c.user_id == bindparam("user_id"), _IS_OPEN).order_by(orders.c.id).with_for_update(),
    into(Order),
)


_is_completed_by_user = (orders.c.user_id == bindparam("user_id"), orders.c.completed_at.is_not(None))
_COUNT_COMPLETED = statement(
    select(func.count()).select_from(orders).where(*_is_completed_by_user), lambda record: cast(int, record[0])
)
SORTS = ("completed_at", "created_at", "updated_at", "number", "total", "item_total", "item_count", "id")


def _list_statement(sort: Sort, *, is_after: bool = False) -> Statement[Order]:
    sorted_column = orders.c[sort.name]
    last_value, last_id = bindparam("after", type_=sorted_column.type), bindparam("after_id", type_=orders.c.id.type)
    later = sorted_column < last_value if sort.is_descending else sorted_column > last_value
    after = [or_(later, and_(sorted_column == last_value, orders.c.id > last_id))] if is_after else []
    return statement(
        select(orders)
        .where(*_is_completed_by_user, *after)
        .order_by(sorted_column.desc() if sort.is_descending else sorted_column, orders.c.id)
        .offset(bindparam("skip", type_=BigInteger))
        .limit(bindparam("most", type_=BigInteger)),
        into(Order),
    )


_LIST_COMPLETED = {Sort(name, down): _list_statement(Sort(name, down)) for name in SORTS for down in (False, True)}
_LIST_AFTER = {sort: _list_statement(sort, is_after=True) for sort in _LIST_COMPLETED}
_FIND_COMPLETED = statement(
    select(orders).where(*_is_completed_by_user, orders.c.number == bindparam("number")), into(Order)
)


_FIND_COMPLETED_ORDER = statement(
    select(orders).where(orders.c.id == bindparam("id"), orders.c.completed_at.is_not(None)), into(Order)
)
_FIND = statement(select(orders).where(orders.c.id == bindparam("id")), into(Order))
_FIND_BY_NUMBER = statement(select(orders).where(orders.c.number == bindparam("number")), into(Order))
_LOCK = statement(select(orders).where(orders.c.id == bindparam("id")).with_for_update(), into(Order))
_operator_id = bindparam("who", type_=orders.c.approver_id.type)
_APPROVE = statement(
    update(orders)
    .where(orders.c.id == bindparam("order_id"))
    .values(approved_at=func.now(), approver_id=_operator_id, considered_risky=False, updated_at=func.now())
    .returning(orders.c.id),
    lambda record: cast(UUID, record[0]),
)
_CANCEL = statement(
    update(orders)
    .where(orders.c.id == bindparam("order_id"))
    .values(canceled_at=func.now(), canceler_id=_operator_id, state="canceled", updated_at=func.now())
    .returning(orders.c.id),
    lambda record: cast(UUID, record[0]),
)
_MARK_SHIPPED = statement(
    update(shipments)
    .where(shipments.c.id == bindparam("shipment_id"))
    .values(shipped_at=func.now(), updated_at=func.now())
    .returning(shipments.c.id),
    lambda record: cast(UUID, record[0]),
)
_MARK_DELIVERED = statement(
    update(shipments)
    .where(shipments.c.id == bindparam("shipment_id"))
    .values(delivered_at=func.now(), updated_at=func.now())
    .returning(shipments.c.id),
    lambda record: cast(UUID, record[0]),
)


@lru_cache(maxsize=64)
def _save_details(names: tuple[str, ...]) -> Statement[UUID]:
    values = {name: bindparam(f"new_{name}", type_=orders.c[name].type) for name in names}
    return dynamic_statement(
        update(orders)
        .where(orders.c.id == bindparam("order_id", type_=orders.c.id.type), IS_SAME_VERSION)
        .values(**values, updated_at=func.now())
        .returning(orders.c.id),
        lambda record: cast(UUID, record[0]),
    )


async def save_details(
    db: DatabaseSession, order_id: UUID, changes: Mapping[str, object], *, row_version: str | None = None
) -> None:
    """Changes columns of an order; raises OrderConflict if it has another version than the given one."""
    values = {f"new_{name}": value for name, value in changes.items()}
    statement = _save_details(tuple(sorted(changes)))
    if changes and await db.one(statement, order_id=order_id, row_version=row_version, **values) is None:
        raise OrderConflict()


async def find_completed_order(db: DatabaseSession, order_id: UUID | None) -> Order | None:
    return await db.one(_FIND_COMPLETED_ORDER, id=order_id)


async def approve_order(db: DatabaseSession, order_id: UUID, approver_id: UUID | None) -> None:
    await db.one(_APPROVE, order_id=order_id, who=approver_id)


async def cancel_order(db: DatabaseSession, order_id: UUID, canceler_id: UUID | None) -> None:
    await db.one(_CANCEL, order_id=order_id, who=canceler_id)


async def mark_shipped(db: DatabaseSession, shipment_id: UUID) -> None:
    await db.one(_MARK_SHIPPED, shipment_id=shipment_id)


async def mark_delivered(db: DatabaseSession, shipment_id: UUID) -> None:
    await db.one(_MARK_DELIVERED, shipment_id=shipment_id)


async def find_order(db: DatabaseSession, order_id: UUID) -> Order | None:
    return await db.one(_FIND, id=order_id)


async def find_by_number(db: DatabaseSession, number: str) -> Order | None:
    return await db.one(_FIND_BY_NUMBER, number=number)


async def lock_order(db: DatabaseSession, order_id: UUID) -> Order | None:
    return await db.one(_LOCK, id=order_id)


async def insert_cart(
    db: DatabaseSession, *, cart_id: UUID, number: str, currency: str, user_id: UUID | None = None
) -> Order | None:
    """Returns `None` if the number is taken. The row is built here: its defaults are those of the table."""
    values: dict[str, Any] = {"id": cart_id, "number": number, "currency": currency, "user_id": user_id}
    is_alone = user_id is not None or db.is_in_transaction
    created_at = None if is_alone else await _insert_with_others(db, cart_id, number, currency)
    if created_at is None:
        created_at = await db.one(_INSERT_UNLESS_TAKEN, **values)
    return None if created_at is None else Order(created_at=created_at, updated_at=created_at, **values)


async def _insert_with_others(db: DatabaseSession, cart_id: UUID, number: str, currency: str) -> datetime | None:
    """Inserts a guest's cart in one statement with those of concurrent calls; None if a number of them is taken."""
    try:
        # ON CONFLICT costs every insert; it is needed only in a transaction, which a rare failed insert would abort.
        return (await db.combined(_INSERT_GUESTS_CARTS, id=cart_id, number=number, currency=currency))[0]
    except ConstraintViolation as error:
        if error.constraint != "uq_orders_number":
            raise
        return None


async def lock_open_cart(db: DatabaseSession, cart_id: UUID) -> Order | None:
    return await db.one(_LOCK_OPEN, id=cart_id)


async def lock_other_cart(db: DatabaseSession, user_id: UUID, cart_id: UUID) -> Order | None:
    """Locks the user's newest open cart other than this one."""
    return await db.one(_LOCK_OTHER, user_id=user_id, id=cart_id)


async def find_open_cart(db: DatabaseSession, cart_id: UUID) -> Order | None:
    return await db.one(_FIND_OPEN, id=cart_id)


async def delete_open_cart(db: DatabaseSession, cart_id: UUID) -> bool:
    return await db.one(_DELETE_OPEN, id=cart_id) is not None


async def lock_open_carts(db: DatabaseSession, user_id: UUID) -> list[Order]:
    return await db.all(_LOCK_OPEN_OF, user_id=user_id)


async def count_completed(db: DatabaseSession, user_id: UUID) -> int:
    return await db.one(_COUNT_COMPLETED, user_id=user_id) or 0


async def list_completed(db: DatabaseSession, user_id: UUID, page: Page | Keyset, sort: Sort) -> list[Order]:
    """Returns one page; with a cursor, one order more than the page size to detect a next page."""
    if isinstance(page, Keyset) and page.after:
        after, after_id = page.after
        values = {"after": after, "after_id": after_id, "most": page.size + 1, "skip": 0}
        return await db.all(_LIST_AFTER[sort], user_id=user_id, **values)
    if isinstance(page, Keyset):
        return await db.all(_LIST_COMPLETED[sort], user_id=user_id, skip=0, most=page.size + 1)
    return await db.all(_LIST_COMPLETED[sort], user_id=user_id, skip=page.offset, most=page.size)


async def find_completed(db: DatabaseSession, user_id: UUID, number: str) -> Order | None:
    return await db.one(_FIND_COMPLETED, user_id=user_id, number=number)
