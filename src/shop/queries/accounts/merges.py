"""Statements that move everything of one account to another."""

from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, Table, bindparam, case, delete, exists, func, literal_column, or_, select, update
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import JSONB, insert
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import any_of, into, statement
from shop.models.access.sessions import sessions
from shop.models.access.users import customer_group_members, users
from shop.models.accounts.merges import CustomerMerge, customer_merges, merged_addresses
from shop.models.cart.archived_orders import archived_orders
from shop.models.cart.orders import Order, orders
from shop.models.catalog.prices import price_list_users
from shop.models.checkout.coupons import promotion_uses
from shop.models.checkout.payments import payment_sources, payments
from shop.models.checkout.store_credit import store_credit_events, store_credits
from shop.models.customers.addresses import addresses
from shop.models.customers.wishlists import wishlists

_ID = PG_UUID(as_uuid=True)
_now = func.now()
_duplicate_id = bindparam("duplicate_id", type_=_ID)
_survivor_id = bindparam("survivor_id", type_=_ID)


class MergePreview(msgspec.Struct, frozen=True, kw_only=True):
    """How many records of an account would move to another one, and its store credit by currency."""

    orders: int
    carts: int
    addresses: int
    wishlists: int
    cards: int
    groups: int
    price_lists: int
    sessions: int
    credits: dict[str, int]
    """In minor units."""


def _read_id(record: Any) -> UUID:
    return cast(UUID, record[0])


def _count(table: Table, *conditions: Any) -> Any:
    return (
        select(func.count()).select_from(table).where(table.c.user_id == _duplicate_id, *conditions).scalar_subquery()
    )


_left = (
    select(
        store_credits.c.currency,
        sql_cast(func.sum(store_credits.c.amount - store_credits.c.amount_used), BigInteger).label("amount"),
    )
    .where(store_credits.c.user_id == _duplicate_id, store_credits.c.amount_used < store_credits.c.amount)
    .group_by(store_credits.c.currency)
    .subquery("left_by_currency")
)
_credits = select(
    func.coalesce(func.jsonb_object_agg(_left.c.currency, _left.c.amount), literal_column("'{}'::jsonb"), type_=JSONB())
).scalar_subquery()
_PREVIEW = statement(
    select(
        _count(orders, orders.c.completed_at.is_not(None)).label("orders"),
        _count(orders, orders.c.completed_at.is_(None)).label("carts"),
        _count(addresses, addresses.c.deleted_at.is_(None)).label("addresses"),
        _count(wishlists).label("wishlists"),
        _count(payment_sources, payment_sources.c.used_at.is_not(None), payment_sources.c.deleted_at.is_(None)).label(
            "cards"
        ),
        _count(customer_group_members).label("groups"),
        _count(price_list_users).label("price_lists"),
        _count(sessions).label("sessions"),
        _credits.label("credits"),
    ),
    into(MergePreview),
)


def _lock_orders(*conditions: Any) -> Any:
    """Selects any orders, which the index finds without reading all of the account, and locks them in order."""
    ids = select(orders.c.id).where(orders.c.user_id == _duplicate_id, *conditions)
    batch = orders.c.id.in_(ids.limit(bindparam("most", type_=BigInteger)))
    return statement(
        select(orders).where(batch, orders.c.user_id == _duplicate_id).order_by(orders.c.id).with_for_update(),
        into(Order),
    )


_LOCK_CARTS, _LOCK_ORDERS = _lock_orders(orders.c.completed_at.is_(None)), _lock_orders()
_IS_BEING_PAID = statement(
    select(payments.c.id)
    .join(orders, orders.c.id == payments.c.order_id)
    .where(
        orders.c.user_id == _duplicate_id,
        orders.c.completed_at.is_(None),
        payments.c.state == literal_column("'processing'"),
    )
    .limit(literal_column("1")),
    _read_id,
)
_LOCK_ROWS = {
    table.name: statement(
        select(table.c.id).where(table.c.user_id == _duplicate_id).order_by(table.c.id).with_for_update(), _read_id
    )
    for table in (addresses, wishlists, store_credits)
}
_has_default = exists(
    select(literal_column("1"))
    .select_from(wishlists.alias("others"))
    .where(
        literal_column("others.user_id", _ID) == bindparam("default_of", type_=_ID),
        literal_column("others.is_default"),
    )
)


def _move(table: Table, **more: Any) -> Any:
    return statement(
        update(table)
        .where(table.c.user_id == _duplicate_id)
        .values(user_id=_survivor_id, **more)
        .returning(table.c.id),
        _read_id,
    )


# The tokens of open carts end with the sessions.
_token_version = orders.c.token_version + case((orders.c.completed_at.is_(None), 1), else_=0)
_MOVE_WISHLISTS = _move(wishlists, is_default=wishlists.c.is_default & ~_has_default, updated_at=_now)
_MOVE_ORDERS = statement(
    update(orders)
    .where(orders.c.id == any_of("order_ids", _ID))
    .values(user_id=_survivor_id, token_version=_token_version, updated_at=_now)
    .returning(orders.c.id),
    _read_id,
)
_MOVES = [
    _move(addresses, updated_at=_now),
    _move(payment_sources, updated_at=_now),
    _move(promotion_uses),
    _move(archived_orders),
    _move(store_credits, updated_at=_now),
    _move(store_credit_events),
]
_balances = (
    select(
        store_credit_events.c.id,
        sql_cast(
            func.sum(store_credit_events.c.amount).over(
                partition_by=store_credit_events.c.currency,
                order_by=(store_credit_events.c.created_at, store_credit_events.c.id),
                rows=(None, 0),
            ),
            BigInteger,
        ).label("balance"),
    )
    .where(store_credit_events.c.user_id == _survivor_id)
    .subquery("balances")
)
_BALANCE_LEDGER = statement(
    update(store_credit_events)
    .where(store_credit_events.c.id == _balances.c.id, store_credit_events.c.user_total_amount != _balances.c.balance)
    .values(user_total_amount=_balances.c.balance)
    .returning(store_credit_events.c.id),
    _read_id,
)
_END_SESSIONS = statement(
    delete(sessions).where(sessions.c.user_id == _duplicate_id).returning(sessions.c.id), _read_id
)
_REMEMBER = statement(
    insert(merged_addresses)
    .values(id=bindparam("id"), user_id=bindparam("user_id"), email_key=bindparam("email_key"), created_at=_now)
    .on_conflict_do_nothing()
    .returning(merged_addresses.c.id),
    _read_id,
)
_MOVE_ADDRESSES = statement(
    update(merged_addresses)
    .where(merged_addresses.c.user_id == _duplicate_id)
    .values(user_id=_survivor_id)
    .returning(merged_addresses.c.id),
    _read_id,
)
_CLOSE = statement(
    update(users)
    .where(users.c.id == bindparam("closed_id", type_=_ID))
    .values(erased_at=_now, disabled_at=_now, updated_at=_now, merged_into_id=_survivor_id)
    .returning(users.c.id),
    _read_id,
)

_user_id = bindparam("user_id", type_=_ID)
_is_merge = customer_merges.c.id == bindparam("merge_id", type_=_ID)
_INSERT = statement(
    insert(customer_merges)
    .values(
        id=bindparam("id"),
        duplicate_id=bindparam("duplicate_id"),
        survivor_id=bindparam("survivor_id"),
        order_count=bindparam("order_count"),
        created_at=_now,
    )
    .returning(customer_merges.c.id),
    _read_id,
)
_LIST = statement(
    select(customer_merges)
    .where(or_(customer_merges.c.survivor_id == _user_id, customer_merges.c.duplicate_id == _user_id))
    .order_by(customer_merges.c.created_at),
    into(CustomerMerge),
)
_LOCK_NEXT = statement(
    select(customer_merges)
    .where(or_(_user_id.is_(None), customer_merges.c.duplicate_id == _user_id))
    .order_by(customer_merges.c.created_at)
    .limit(literal_column("1"))
    .with_for_update(skip_locked=True),
    into(CustomerMerge),
)
_SAVE = statement(
    update(customer_merges)
    .where(_is_merge)
    .values(moved_count=customer_merges.c.moved_count + bindparam("count", type_=BigInteger))
    .returning(customer_merges.c.id),
    _read_id,
)
_END = statement(delete(customer_merges).where(_is_merge).returning(customer_merges.c.id), _read_id)


async def preview_merge(db: DatabaseSession, duplicate_id: UUID) -> MergePreview:
    return cast(MergePreview, await db.one(_PREVIEW, duplicate_id=duplicate_id))


async def insert_merge(db: DatabaseSession, merge_id: UUID, duplicate_id: UUID, survivor_id: UUID, count: int) -> None:
    """Saves that the orders of an account move; `count` is the number of them."""
    ids = {"duplicate_id": duplicate_id, "survivor_id": survivor_id}
    await db.one(_INSERT, id=merge_id, **ids, order_count=count)


async def list_merges(db: DatabaseSession, user_id: UUID) -> list[CustomerMerge]:
    """Returns the unfinished merges of an account into another one, and of others into it."""
    return await db.all(_LIST, user_id=user_id)


async def lock_next(db: DatabaseSession, duplicate_id: UUID | None) -> CustomerMerge | None:
    """Locks the oldest unfinished merge, or that of one account; None if another process works on it."""
    return await db.one(_LOCK_NEXT, user_id=duplicate_id)


async def save_progress(db: DatabaseSession, merge: CustomerMerge, count: int) -> None:
    await db.one(_SAVE, merge_id=merge.id, count=count)


async def end_merge(db: DatabaseSession, merge: CustomerMerge) -> None:
    await db.one(_END, merge_id=merge.id)


async def lock_carts(db: DatabaseSession, duplicate_id: UUID, *, most: int) -> list[Order]:
    """Locks open carts and drafts of an account in the order of their ids."""
    return await db.all(_LOCK_CARTS, duplicate_id=duplicate_id, most=most)


async def lock_orders(db: DatabaseSession, duplicate_id: UUID, *, most: int) -> list[Order]:
    """Locks some orders of an account in the order of their ids."""
    return await db.all(_LOCK_ORDERS, duplicate_id=duplicate_id, most=most)


async def is_being_paid(db: DatabaseSession, duplicate_id: UUID) -> bool:
    """Whether a payment provider has yet to answer for a cart of the account."""
    return await db.one(_IS_BEING_PAID, duplicate_id=duplicate_id) is not None


async def lock_rows(db: DatabaseSession, name: str, duplicate_id: UUID) -> list[UUID]:
    """Locks the addresses, wishlists or store credits of an account."""
    return await db.all(_LOCK_ROWS[name], duplicate_id=duplicate_id)


async def move_orders(db: DatabaseSession, order_ids: Sequence[UUID], survivor_id: UUID) -> None:
    await db.all(_MOVE_ORDERS, order_ids=list(order_ids), survivor_id=survivor_id)


async def move_rows(db: DatabaseSession, duplicate_id: UUID, survivor_id: UUID) -> None:
    """Moves the other rows of an account, calculates the balances of the ledger of both, and ends the sessions."""
    ids = {"duplicate_id": duplicate_id, "survivor_id": survivor_id}
    for each in _MOVES:
        await db.all(each, **ids)
    await db.all(_MOVE_WISHLISTS, **ids, default_of=survivor_id)
    await db.all(_BALANCE_LEDGER, survivor_id=survivor_id)
    await db.all(_END_SESSIONS, duplicate_id=duplicate_id)


async def remember_address(
    db: DatabaseSession, address_id: UUID, duplicate_id: UUID, survivor_id: UUID, key: str
) -> None:
    """Saves the address of a closed account for the other one, with those of accounts merged into it before."""
    await db.all(_MOVE_ADDRESSES, duplicate_id=duplicate_id, survivor_id=survivor_id)
    await db.one(_REMEMBER, id=address_id, user_id=survivor_id, email_key=key)


async def close_account(db: DatabaseSession, duplicate_id: UUID, survivor_id: UUID) -> None:
    await db.one(_CLOSE, closed_id=duplicate_id, survivor_id=survivor_id)
