"""Statements that operators use to find customers, end their sessions and disable their accounts."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, Boolean, Text, bindparam, exists, func, literal_column, select, update
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import ARRAY, REGCONFIG
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.base.listing import CursorPosition
from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, any_of, dynamic_statement, into, opaque_param, statement
from shop.models.access.sessions import sessions
from shop.models.access.users import User, customer_group_members, customer_lookups, users
from shop.queries.customers.users import ORDER_COUNT
from shop.queries.dashboard import SortOrder, count_rows, load_page, paginate

TAGGED_LIMIT = 5000
SORTS: Mapping[str, SortOrder] = {
    "newest": SortOrder(users.c.created_at),
    "oldest": SortOrder(users.c.created_at, is_ascending=True),
    "changed": SortOrder(users.c.updated_at),
}
_now = func.now()
_ID = PG_UUID(as_uuid=True)


class CustomerQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which customers to list; None disables a filter."""

    words: str | None = None
    """A PostgreSQL `tsquery`."""
    tag: str | None = None
    group_id: UUID | None = None
    is_blocked: bool | None = None
    sort: str = "newest"


class ListedCustomer(User, frozen=True, kw_only=True):
    """A customer in the list, with the number of completed orders."""

    order_count: int


_CONDITIONS: Mapping[str, Any] = {
    "words": exists().where(
        customer_lookups.c.user_id == users.c.id,
        customer_lookups.c.search.op("@@", return_type=Boolean())(
            func.to_tsquery(literal_column("'simple'", REGCONFIG()), bindparam("words", type_=Text()))
        ),
    ),
    "tag": users.c.tags.op("@>", return_type=Boolean())(bindparam("tag", type_=ARRAY(Text()))),
    "group_id": exists().where(
        customer_group_members.c.user_id == users.c.id,
        customer_group_members.c.customer_group_id == bindparam("group_id", type_=_ID),
    ),
    "blocked": users.c.disabled_at.is_not(None),
    "not blocked": users.c.disabled_at.is_(None),
}


@lru_cache(maxsize=256)
def _list_statement(names: tuple[str, ...], sort: str, side: str | None) -> Statement[ListedCustomer]:
    """Builds one statement for each combination of filters, so that each can use its index."""
    clause = select(users, sql_cast(ORDER_COUNT, BigInteger).label("order_count"))
    clause = clause.where(*(_CONDITIONS[name] for name in names))
    return dynamic_statement(paginate(clause, SORTS[sort], users.c.id, side), into(ListedCustomer))


@lru_cache(maxsize=64)
def _count_statement(names: tuple[str, ...]) -> Statement[int]:
    return count_rows(select(users).where(*(_CONDITIONS[name] for name in names)))


_END_ALL = statement(
    update(sessions)
    .where(sessions.c.user_id == bindparam("owner_id"), sessions.c.revoked_at.is_(None))
    .values(revoked_at=_now, revoke_reason=bindparam("reason"))
    .returning(sessions.c.id),
    lambda record: cast(UUID, record[0]),
)


def _switch(value: Any, condition: Any) -> Statement[UUID]:
    return statement(
        update(users)
        .where(users.c.id == bindparam("user_id"), condition)
        .values(disabled_at=value, updated_at=_now)
        .returning(users.c.id),
        lambda record: cast(UUID, record[0]),
    )


_DISABLE = _switch(_now, users.c.disabled_at.is_(None))
_ENABLE = _switch(None, users.c.disabled_at.is_not(None))


_BY_KEYS = statement(
    select(users.c.email_key, users.c.id).where(users.c.email_key == any_of("keys", Text())),
    lambda record: cast(tuple[str, UUID], tuple(record)),
)


async def find_by_keys(db: DatabaseSession, keys: list[str]) -> dict[str, UUID]:
    """Returns customer ids by e-mail key; unknown keys are missing."""
    return dict(await db.all(_BY_KEYS, keys=keys)) if keys else {}


IS_BLOCKED = exists().where(
    users.c.disabled_at.is_not(None),
    (users.c.id == opaque_param("user_id", _ID)) | (users.c.email_key == opaque_param("email_key", Text())),
)
"""Whether the account, or the one with this address, is disabled; takes `user_id` and `email_key`."""
_tagged_users = (
    select(users.c.tags)
    .where(users.c.tags != literal_column("'{}'"))
    .order_by(users.c.created_at.desc())
    .limit(literal_column(str(TAGGED_LIMIT)))
    .subquery()
)
_TAGS = statement(
    select(func.unnest(_tagged_users.c.tags).label("tag"))
    .distinct()
    .order_by(literal_column("tag"))
    .limit(bindparam("most")),
    lambda record: cast(str, record[0]),
)


async def list_customers(
    db: DatabaseSession, query: CustomerQuery, cursor: CursorPosition | None, *, most: int
) -> list[ListedCustomer]:
    """Returns the customers of a page, in the sort order of the query."""
    names, values = _filters(query)
    page_statement = _list_statement(names, query.sort, cursor.side if cursor else None)
    return await load_page(db, page_statement, cursor, **values, most=most)


async def count_customers(db: DatabaseSession, query: CustomerQuery) -> int:
    """Returns the number of matching customers, at most one more than COUNT_LIMIT."""
    names, values = _filters(query)
    return await db.one(_count_statement(names), **values) or 0


def _filters(query: CustomerQuery) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Returns the names of the active conditions, and their values."""
    values: dict[str, Any] = {"words": query.words, "tag": query.tag and [query.tag], "group_id": query.group_id}
    names = [name for name, value in values.items() if value is not None]
    if query.is_blocked is not None:
        names.append("blocked" if query.is_blocked else "not blocked")
    return tuple(names), values


async def list_tags(db: DatabaseSession, *, most: int) -> list[str]:
    """Returns the tags of the newest customers that have any, for the filter."""
    return await db.all(_TAGS, most=most)


async def end_sessions(db: DatabaseSession, user_id: UUID, reason: str) -> int:
    return len(await db.all(_END_ALL, owner_id=user_id, reason=reason))


async def set_disabled(db: DatabaseSession, user_id: UUID, *, is_disabled: bool) -> bool:
    """Returns `False` if nothing changed."""
    return await db.one(_DISABLE if is_disabled else _ENABLE, user_id=user_id) is not None
