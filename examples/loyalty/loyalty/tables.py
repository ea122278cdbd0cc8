"""The tables: an account of points for each customer, and a ledger of every change."""

from datetime import datetime
from typing import cast
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, Text, bindparam, func, select
from sqlalchemy.dialects.postgresql import insert

from shop.extension import ExtensionTables, Row, check, into, key, refers, statement, unique

TABLES = ExtensionTables("loyalty")


class PointsAccount(Row, frozen=True, kw_only=True):
    """The points of a customer."""

    id: UUID
    user_id: UUID
    balance: int = 0
    created_at: datetime
    updated_at: datetime


class PointsEntry(Row, frozen=True, kw_only=True):
    """A change of a balance. `key` makes it idempotent: the event or the call of the payment that caused it."""

    id: UUID
    account_id: UUID
    key: str
    order_number: str
    reason: str
    points: int
    reference: str | None = None
    """The first call of the payment that it belongs to."""
    created_at: datetime
    updated_at: datetime


class ListedAccount(msgspec.Struct, frozen=True):
    """An account on the dashboard's page."""

    user_id: UUID
    balance: int
    updated_at: datetime


# The balance of a customer can fall below zero: refunds take back points that were spent.
accounts = TABLES.table("accounts", PointsAccount, key("id"), unique("user_id"))
entries = TABLES.table(
    "entries",
    PointsEntry,
    key("id"),
    unique("key"),
    refers("account_id", accounts, on_delete="cascade"),
    check("points_are_some", "points <> 0"),
    TABLES.index("entries_order_number", "order_number"),
    TABLES.index("entries_account_id", "account_id", "id"),
)

_user_id = bindparam("user_id", type_=accounts.c.user_id.type)
_key = bindparam("key", type_=Text)
FIND_ACCOUNT = statement(select(accounts).where(accounts.c.user_id == _user_id), into(PointsAccount))
LOCK_ACCOUNT = statement(select(accounts).where(accounts.c.user_id == _user_id).with_for_update(), into(PointsAccount))
FIND_ACCOUNT_BY_ID = statement(
    select(accounts).where(accounts.c.id == bindparam("account_id", type_=accounts.c.id.type)), into(PointsAccount)
)
FIND_ENTRY_BY_ID = statement(
    select(entries).where(entries.c.id == bindparam("entry_id", type_=entries.c.id.type)), into(PointsEntry)
)
FIND_ENTRY = statement(select(entries).where(entries.c.key == _key), into(PointsEntry))
LIST_ENTRIES = statement(
    select(entries).where(entries.c.order_number == bindparam("order_number", type_=Text)).order_by(entries.c.id),
    into(PointsEntry),
)
INSERT_ENTRY = statement(
    insert(entries)
    .values(
        id=bindparam("entry_id", type_=entries.c.id.type),
        account_id=bindparam("account_id", type_=entries.c.account_id.type),
        key=_key,
        order_number=bindparam("order_number", type_=Text),
        reason=bindparam("reason", type_=Text),
        points=bindparam("points", type_=BigInteger),
        reference=bindparam("reference", type_=Text),
        created_at=func.now(),
        updated_at=func.now(),
    )
    .on_conflict_do_nothing()
    .returning(entries.c.id),
    lambda record: cast(UUID, record[0]),
)
LIST_ACCOUNTS = statement(
    select(accounts.c.user_id, accounts.c.balance, accounts.c.updated_at)
    .order_by(accounts.c.balance.desc(), accounts.c.id)
    .limit(bindparam("most", type_=BigInteger))
    .offset(bindparam("skip", type_=BigInteger)),
    into(ListedAccount),
)
COUNT_ACCOUNTS = statement(select(func.count()).select_from(accounts), lambda record: cast(int, record[0]))
