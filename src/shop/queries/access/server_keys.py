"""Statements for the age and use of server keys, and for the credentials that `shop keys void-before` voids."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, cast

import msgspec
from sqlalchemy import ARRAY, DateTime, Text, bindparam, func, literal_column, select, update
from sqlalchemy.dialects.postgresql import insert

from shop.db.pool import DatabaseSession
from shop.db.statements import into, statement
from shop.models.access.keys import ServerKey, server_keys
from shop.models.access.operators import operator_sessions
from shop.models.access.sessions import sessions
from shop.models.cart.orders import orders
from shop.models.setup.shop import shops
from shop.queries.access.not_before import is_not_void

_now = func.now()
_moment = bindparam("moment", type_=DateTime(timezone=True))

_LIST = statement(select(server_keys), into(ServerKey))
_INSERT = statement(
    insert(server_keys)
    .values(fingerprint=bindparam("fingerprint"), key_id=bindparam("key_id"), created_at=_now)
    .returning(server_keys.c.fingerprint),
    lambda record: cast(str, record[0]),
)
_VOID = statement(
    insert(server_keys)
    .from_select(
        ["fingerprint", "key_id", "order_tokens_void_at"],
        select(
            func.unnest(bindparam("fingerprints", type_=ARRAY(Text))),
            func.unnest(bindparam("key_ids", type_=ARRAY(Text))),
            _now,
        ),
    )
    .on_conflict_do_update(
        index_elements=["fingerprint"],
        set_={"order_tokens_void_at": func.coalesce(server_keys.c.order_tokens_void_at, _now)},
    )
    .returning(server_keys.c.fingerprint),
    lambda record: cast(str, record[0]),
)
_LIST_VOID = statement(
    select(server_keys.c.fingerprint).where(server_keys.c.order_tokens_void_at.is_not(None)),
    lambda record: cast(str, record[0]),
)
# The version makes running processes reload; `not_before` never moves back.
_SET_NOT_BEFORE = statement(
    update(shops)
    .values(not_before=func.greatest(shops.c.not_before, _moment), version=shops.c.version + literal_column("1"))
    .returning(shops.c.not_before),
    lambda record: cast(datetime, record[0]),
)
_READ_NOT_BEFORE = statement(select(shops.c.not_before), lambda record: cast(datetime | None, record[0]))
_CLOCK = statement(select(_now), lambda record: cast(datetime, record[0]))


class VoidCounts(msgspec.Struct, frozen=True):
    """Counts of sessions and carts that end when `not_before` is set to a time."""

    user_sessions: int
    application_sessions: int
    operator_sessions: int
    guest_carts: int


def _count(table: Any, *conditions: Any) -> Any:
    return select(func.count(literal_column("1"))).select_from(table).where(*conditions).scalar_subquery()


_is_live = (
    sessions.c.revoked_at.is_(None),
    sessions.c.idle_expires_at > _now,
    sessions.c.absolute_expires_at > _now,
    sessions.c.created_at < _moment,
    is_not_void(sessions.c.created_at),
)
_COUNT_VOID = statement(
    select(
        _count(sessions, *_is_live, sessions.c.user_id.is_not(None)).label("user_sessions"),
        _count(sessions, *_is_live, sessions.c.application_id.is_not(None)).label("application_sessions"),
        _count(
            operator_sessions,
            operator_sessions.c.revoked_at.is_(None),
            operator_sessions.c.created_at > _now - literal_column("interval '12 hours'"),
            operator_sessions.c.created_at < _moment,
            is_not_void(operator_sessions.c.created_at),
        ).label("operator_sessions"),
        _count(
            orders,
            orders.c.completed_at.is_(None),
            orders.c.user_id.is_(None),
            orders.c.created_at < bindparam("signed_before", type_=DateTime(timezone=True)),
        ).label("guest_carts"),
    ),
    into(VoidCounts),
)


async def list_keys(db: DatabaseSession) -> list[ServerKey]:
    return await db.all(_LIST)


async def insert_key(db: DatabaseSession, *, fingerprint: str, key_id: str) -> None:
    await db.one(_INSERT, fingerprint=fingerprint, key_id=key_id)


async def void_order_tokens(db: DatabaseSession, key_ids: Mapping[str, str]) -> None:
    """Stops the use of keys for order tokens; takes key ids by fingerprint."""
    await db.all(_VOID, fingerprints=list(key_ids), key_ids=list(key_ids.values()))


async def list_void(db: DatabaseSession) -> list[str]:
    """Returns the fingerprints of keys that are no longer used for order tokens."""
    return await db.all(_LIST_VOID)


async def set_not_before(db: DatabaseSession, moment: datetime) -> datetime:
    return cast(datetime, await db.one(_SET_NOT_BEFORE, moment=moment))


async def read_not_before(db: DatabaseSession) -> datetime | None:
    return await db.one(_READ_NOT_BEFORE)


async def read_clock(db: DatabaseSession) -> datetime:
    return cast(datetime, await db.one(_CLOCK))


async def count_void(db: DatabaseSession, *, moment: datetime, signed_before: datetime) -> VoidCounts:
    """Counts the credentials that become void; carts created since `signed_before` have tokens of a valid key."""
    return cast(VoidCounts, await db.one(_COUNT_VOID, moment=moment, signed_before=signed_before))
